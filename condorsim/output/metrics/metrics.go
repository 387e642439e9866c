package metrics

import (
	"iter"
	"math"
	"sync"
)

// Machine is what the jobs ran on.
type Machine struct {
	Processors int64
	Memory     int64 // MiB; 0: memory is no resource
}

// Job is one finished job. Times are whole seconds.
type Job struct {
	Submit, Start, Run int64
	Saved              int64 // of work in earlier runs, which counts as done, and so not as wait
	Estimate           int64 // at least 1
	Procs              int64 // in total
	Memory             int64 // MiB in total
	User               string
}

func (j *Job) end() int64        { return j.Start + j.Run }
func (j *Job) work() int64       { return j.Saved + j.Run }
func (j *Job) wait() float64     { return float64(j.Start - j.Saved - j.Submit) }
func (j *Job) response() float64 { return float64(j.end() - j.Submit) }
func (j *Job) slowdown() float64 { return j.response() / float64(max(j.work(), 1)) }

// uwait returns the wait over the estimate, the unitless wait of Tang et al., Analyzing and
// adjusting user runtime estimates to improve job scheduling on the Blue Gene/P, IPDPS 2010.
func (j *Job) uwait() float64 { return j.wait() / float64(max(j.Estimate, 1)) }

// DefaultBound is the usual bound of bounded slowdowns, in seconds.
const DefaultBound = 10

// boundedSlowdown returns the response over the run time, where a run time counts as at least the
// bound, and a slowdown as at least 1 (Feitelson et al., Theory and practice in parallel job
// scheduling, JSSPP 1997).
func (j *Job) boundedSlowdown(bound int64) float64 {
	return max(1, j.response()/float64(max(j.work(), bound)))
}

// Metrics has one number per metric; without jobs all are 0. Times are in seconds, shares in
// processor seconds. Metrics with a label are shown to people, the others only to programs.
type Metrics struct {
	MeanWait   float64 `json:"mean_wait" unit:"s" label:"mean wait"`
	MedianWait float64 `json:"median_wait" unit:"s" label:"median wait"`
	P90Wait    float64 `json:"p90_wait" unit:"s"`
	P95Wait    float64 `json:"p95_wait" unit:"s" label:"95th percentile of waits"`
	P99Wait    float64 `json:"p99_wait" unit:"s" label:"99th percentile of waits"`
	// P999Wait is the 99.9th percentile: of fewer than 1,000 jobs it is the longest wait.
	P999Wait    float64 `json:"p999_wait" unit:"s" label:"99.9th percentile of waits"`
	LongestWait float64 `json:"longest_wait" unit:"s" label:"longest wait"`
	// MeanWaitBelowP99 is the mean of all but the greatest ⌈n/100⌉ waits.
	MeanWaitBelowP99 float64 `json:"mean_wait_below_p99" unit:"s"`
	// Top5Wait and Top1Wait are the means of the greatest 5 % and 1 % of the waits.
	Top5Wait float64 `json:"top5_wait" unit:"s"`
	Top1Wait float64 `json:"top1_wait" unit:"s"`
	// Widest10Wait is the mean wait of the 10 % of jobs with most processors; of equally wide
	// ones the first in order count. With ties, all as wide as the last of them count as well.
	Widest10Wait         float64 `json:"widest10_wait" unit:"s" label:"mean wait of the widest 10 %"`
	Widest10WithTiesWait float64 `json:"widest10_with_ties_wait" unit:"s"`
	// Narrowest50Wait is the mean wait of the half of the jobs with fewest processors; of equally wide
	// ones the first in order count.
	Narrowest50Wait float64 `json:"narrowest50_wait" unit:"s" label:"mean wait of the narrowest 50 %"`
	// AreaWeightedWait is the mean wait where a job counts as its area, the processor seconds that it
	// used: what a processor second waited. See weighted.go.
	AreaWeightedWait float64 `json:"area_weighted_wait" unit:"s" label:"area-weighted mean wait"`
	// MeanUwait is the mean of wait over estimate; below P99, without the greatest ⌈n/100⌉.
	MeanUwait         float64 `json:"mean_uwait" unit:"ratio"`
	MeanUwaitBelowP99 float64 `json:"mean_uwait_below_p99" unit:"ratio"`

	MeanResponse   float64 `json:"mean_response" unit:"s" label:"mean response"`
	MedianResponse float64 `json:"median_response" unit:"s"`
	P90Response    float64 `json:"p90_response" unit:"s"`
	P95Response    float64 `json:"p95_response" unit:"s"`
	P99Response    float64 `json:"p99_response" unit:"s"`

	AreaWeightedResponse float64 `json:"area_weighted_response" unit:"s" label:"area-weighted mean response"`

	// In a slowdown, a run time counts as at least 1 s. In a bounded one it counts as at least
	// the bound, and the slowdown itself as at least 1.
	MeanSlowdown         float64 `json:"mean_slowdown" unit:"ratio" label:"mean slowdown"`
	MeanSlowdownBelowP99 float64 `json:"mean_slowdown_below_p99" unit:"ratio"`
	MeanBoundedSlowdown  float64 `json:"mean_bounded_slowdown" unit:"ratio" label:"mean bounded slowdown"`

	MeanBoundedSlowdownBelowP99 float64 `json:"mean_bounded_slowdown_below_p99" unit:"ratio"`

	P95BoundedSlowdown float64 `json:"p95_bounded_slowdown" unit:"ratio" label:"95th percentile of bounded slowdowns"`

	// Of the widths whose waits are above.
	Widest10BoundedSlowdown    float64 `json:"widest10_bounded_slowdown" unit:"ratio"`
	Narrowest50BoundedSlowdown float64 `json:"narrowest50_bounded_slowdown" unit:"ratio"`
	// ProcessorBoundedSlowdown is the mean bounded slowdown where a job counts as its processors.
	ProcessorBoundedSlowdown float64 `json:"processor_bounded_slowdown" unit:"ratio" label:"bounded slowdown by processor"`

	// Utilisation is the processor seconds used over those available, 0 to 1. That of memory is
	// in MiB seconds; 0 if memory is no resource.
	Utilisation       float64 `json:"utilisation" unit:"share" label:"utilisation, cpus"`
	UtilisationMemory float64 `json:"utilisation_memory" unit:"share" label:"utilisation, memory"`
	// LossOfCapacity is the processor seconds idle while jobs waited, over those available.
	LossOfCapacity float64 `json:"loss_of_capacity" unit:"share" label:"idle while jobs waited"`
	// Makespan is the last completion less the first submit time.
	Makespan float64 `json:"makespan" unit:"whole s" label:"makespan"`
	// Backfilled counts the jobs that started before one that is earlier in order.
	Backfilled float64 `json:"backfilled" unit:"count" label:"jobs that overtook another"`
	// The mean shortfall from the fair share: equal shares, and shares by processors.
	FairshareUnweighted float64 `json:"fairshare_unweighted" unit:"cpu s"`
	FairshareWeighted   float64 `json:"fairshare_weighted" unit:"cpu s"`

	// Users counts the known users; the next two are of their mean bounded slowdowns: Jain's
	// index, from 1/users to 1, and the greatest. See users.go.
	Users                    float64 `json:"users" unit:"count"`
	UserFairness             float64 `json:"user_fairness" unit:"ratio" label:"fairness among users"`
	WorstUserBoundedSlowdown float64 `json:"worst_user_bounded_slowdown" unit:"ratio"`
}

// All ranges over the names and values in the order of the fields.
func (m Metrics) All() iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for _, measure := range m.List() {
			if !yield(measure.Name, measure.Value) {
				return
			}
		}
	}
}

// Compute measures a schedule, with the usual bound of slowdowns. The jobs must be in order of jobs
// (submit time, then place in the workload), and each must have started at or after its submit
// time; they are not changed.
func Compute(machine Machine, jobs []Job) Metrics {
	return ComputeBounded(machine, jobs, DefaultBound)
}

// ComputeBounded is Compute with another bound for the bounded slowdowns, at least 1.
func ComputeBounded(machine Machine, jobs []Job, bound int64) Metrics {
	if len(jobs) == 0 {
		return Metrics{}
	}
	// Each measure is computed on one goroutine, so that no result depends on how many there are.
	var m Metrics
	var all sync.WaitGroup
	all.Go(func() {
		m.usage(machine, jobs)
		list := events(jobs)
		m.FairshareUnweighted, m.FairshareWeighted = fairshare(jobs, list)
		m.LossOfCapacity = ratio(lost(machine, jobs, list), float64(machine.Processors)*m.Makespan)
	})
	all.Go(func() {
		m.waits(jobs)
		m.responses(jobs)
	})
	all.Go(func() {
		m.slowdowns(jobs, bound)
		m.widths(jobs, bound)
		m.weighted(jobs, bound)
		m.Backfilled = backfilled(jobs)
		m.users(ByUser(jobs, bound))
	})
	all.Wait()
	return m
}

// waits sets the metrics of the waits: means, also of the greatest and of all but these, and
// percentiles.
func (m *Metrics) waits(jobs []Job) {
	waits := values(jobs, (*Job).wait)
	m.MeanWait = mean(waits)
	waits = sorted(waits)
	n := len(waits)
	m.Top5Wait = mean(waits[n-percent(n, 5):])
	m.Top1Wait = mean(waits[n-percent(n, 1):])
	m.MedianWait, m.P90Wait = Percentile(waits, 50), Percentile(waits, 90)
	m.P95Wait, m.P99Wait = Percentile(waits, 95), Percentile(waits, 99)
	m.P999Wait, m.LongestWait = permille(waits, 999), waits[n-1]
	m.MeanWaitBelowP99 = meanBelowP99(waits)

	uwaits := values(jobs, (*Job).uwait)
	m.MeanUwait = mean(uwaits)
	m.MeanUwaitBelowP99 = meanBelowP99(sorted(uwaits))
}

func (m *Metrics) responses(jobs []Job) {
	all := values(jobs, (*Job).response)
	m.MeanResponse = mean(all)
	all = sorted(all)
	m.MedianResponse, m.P90Response = Percentile(all, 50), Percentile(all, 90)
	m.P95Response, m.P99Response = Percentile(all, 95), Percentile(all, 99)
}

func (m *Metrics) slowdowns(jobs []Job, bound int64) {
	all := values(jobs, (*Job).slowdown)
	m.MeanSlowdown = mean(all)
	m.MeanSlowdownBelowP99 = meanBelowP99(sorted(all))

	bounded := values(jobs, func(j *Job) float64 { return j.boundedSlowdown(bound) })
	m.MeanBoundedSlowdown = mean(bounded)
	bounded = sorted(bounded)
	m.P95BoundedSlowdown = Percentile(bounded, 95)
	m.MeanBoundedSlowdownBelowP99 = meanBelowP99(bounded)
}

func (m *Metrics) usage(machine Machine, jobs []Job) {
	first, last := jobs[0].Submit, int64(math.MinInt64)
	var processors, memory float64
	for _, j := range jobs {
		last = max(last, j.end())
		processors += float64(j.Procs) * float64(j.work())
		memory += float64(j.Memory) * float64(j.work())
	}
	m.Makespan = float64(last - first)
	m.Utilisation = ratio(processors, float64(machine.Processors)*m.Makespan)
	m.UtilisationMemory = ratio(memory, float64(machine.Memory)*m.Makespan)
}

func backfilled(jobs []Job) float64 {
	count, latest := 0, int64(math.MinInt64)
	for _, j := range jobs {
		if j.Start < latest {
			count++
		}
		latest = max(latest, j.Start)
	}
	return float64(count)
}

// Percentile returns a percentile of values in ascending order by nearest rank: the ⌈p·n/100⌉-th
// smallest; 0 without values.
func Percentile(ascending []float64, p int) float64 {
	if len(ascending) == 0 {
		return 0
	}
	return ascending[percent(len(ascending), p)-1]
}

// permille is [Percentile] in thousandths: the ⌈p·n/1000⌉-th smallest of values, of which there are
// some.
func permille(ascending []float64, p int) float64 { return ascending[(len(ascending)*p+999)/1000-1] }

// meanBelowP99 returns the mean of all but the greatest ⌈n/100⌉ of n values in ascending order.
func meanBelowP99(ascending []float64) float64 {
	n := len(ascending)
	return mean(ascending[:n-percent(n, 1)])
}

// values returns a value of each job.
func values(jobs []Job, value func(*Job) float64) []float64 {
	list := make([]float64, len(jobs))
	for i := range jobs {
		list[i] = value(&jobs[i])
	}
	return list
}

// sorted returns the values in ascending order; it may overwrite the list. It is a radix sort. Digits
// that are the same in all values need no pass, and in whole numbers most are.
func sorted(from []float64) []float64 {
	const digit = 11 // bits
	to := make([]float64, len(from))
	var differ uint64
	for _, v := range from {
		differ |= ascending(v) ^ ascending(from[0])
	}
	var ends [1 << digit]int
	for shift := 0; differ>>shift > 0; shift += digit {
		if differ>>shift%(1<<digit) == 0 {
			continue
		}
		clear(ends[:])
		at := func(v float64) *int { return &ends[ascending(v)>>shift%(1<<digit)] }
		for _, v := range from {
			*at(v)++
		}
		sum := 0
		for i, n := range ends {
			ends[i], sum = sum, sum+n
		}
		for _, v := range from {
			i := at(v)
			to[*i] = v
			*i++
		}
		from, to = to, from
	}
	return from
}

// ascending returns the bits of a value, changed so that they ascend with it: those of negative
// values are inverted.
func ascending(v float64) uint64 {
	bits := math.Float64bits(v)
	return bits ^ (uint64(int64(bits)>>63) | 1<<63)
}

// percent returns ⌈n·p/100⌉.
func percent(n, p int) int { return (n*p + 99) / 100 }

// mean returns the mean of a list, summed up in its order; 0 without elements.
func mean(list []float64) float64 {
	var sum float64
	for _, v := range list {
		sum += v
	}
	return ratio(sum, float64(len(list)))
}

// ratio returns a/b, or 0 if b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
