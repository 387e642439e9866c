package metrics

import (
	"iter"
	"math"
	"reflect"
	"slices"
)

// Machine is what the jobs ran on.
type Machine struct {
	Processors int64
	Memory     int64 // MiB; 0: memory is no resource
}

// Job is one finished job. Times are whole seconds.
type Job struct {
	Submit, Start, Run int64
	Estimate           int64 // at least 1
	Procs              int64 // in total
	Memory             int64 // MiB in total
}

func (j Job) end() int64        { return j.Start + j.Run }
func (j Job) wait() float64     { return float64(j.Start - j.Submit) }
func (j Job) response() float64 { return float64(j.end() - j.Submit) }

// Metrics has one number per metric; without jobs all are 0. Times are in
// seconds, shares in processor seconds.
type Metrics struct {
	MeanWait             float64 `json:"mean_wait"`
	MeanResponse         float64 `json:"mean_response"`
	MeanSlowdown         float64 `json:"mean_slowdown"`           // a run time counts as at least 1 s
	MeanBoundedSlowdown  float64 `json:"mean_bounded_slowdown"`   // as at least 10 s; a slowdown as at least 1
	Top5Wait             float64 `json:"top5_wait"`               // mean of the greatest 5 % of the waits
	Top1Wait             float64 `json:"top1_wait"`               // mean of the greatest 1 %
	Widest10Wait         float64 `json:"widest10_wait"`           // mean wait of the 10 % with most processors, then first in order
	Widest10WithTiesWait float64 `json:"widest10_with_ties_wait"` // the same and all as wide as the last of them
	Utilisation          float64 `json:"utilisation"`             // processor seconds used over those there were, 0 to 1
	Makespan             float64 `json:"makespan"`                // last completion less first submit
	Backfilled           float64 `json:"backfilled"`              // jobs that start before one earlier in order
	FairshareUnweighted  float64 `json:"fairshare_unweighted"`    // mean shortfall, equal shares
	FairshareWeighted    float64 `json:"fairshare_weighted"`      // mean shortfall, shares by processors
	MedianWait           float64 `json:"median_wait"`             //
	P99Wait              float64 `json:"p99_wait"`                // 99th percentile
	MeanWaitBelowP99     float64 `json:"mean_wait_below_p99"`     // all but the greatest ⌈n/100⌉
	MeanUwait            float64 `json:"mean_uwait"`              // wait over estimate
	UtilisationMemory    float64 `json:"utilisation_memory"`      // MiB seconds; 0 if memory is no resource
}

// All ranges over the names and values in the order of the fields.
func (m Metrics) All() iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for field, value := range reflect.ValueOf(m).Fields() {
			if !yield(field.Tag.Get("json"), value.Float()) {
				return
			}
		}
	}
}

// Compute measures a schedule. The jobs must be in order of jobs and each must
// have started at or after its submit time; they are not changed.
func Compute(machine Machine, jobs []Job) Metrics {
	if len(jobs) == 0 {
		return Metrics{}
	}
	var m Metrics
	m.means(jobs)
	m.waits(jobs)
	m.widest(jobs)
	m.usage(machine, jobs)
	m.Backfilled = backfilled(jobs)
	m.FairshareUnweighted, m.FairshareWeighted = fairshare(jobs)
	return m
}

func (m *Metrics) means(jobs []Job) {
	m.MeanWait = mean(jobs, Job.wait)
	m.MeanResponse = mean(jobs, Job.response)
	m.MeanSlowdown = mean(jobs, func(j Job) float64 { return j.response() / float64(max(j.Run, 1)) })
	m.MeanBoundedSlowdown = mean(jobs, func(j Job) float64 { return max(1, j.response()/float64(max(j.Run, 10))) })
	m.MeanUwait = mean(jobs, func(j Job) float64 { return j.wait() / float64(max(j.Estimate, 1)) })
}

// waits fills in what depends on the waits sorted by size.
func (m *Metrics) waits(jobs []Job) {
	waits := make([]float64, len(jobs))
	for i, j := range jobs {
		waits[i] = j.wait()
	}
	slices.Sort(waits)
	n := len(waits)
	self := func(wait float64) float64 { return wait }
	m.Top5Wait = mean(waits[n-percent(n, 5):], self)
	m.Top1Wait = mean(waits[n-percent(n, 1):], self)
	m.MedianWait = waits[percent(n, 50)-1]
	m.P99Wait = waits[percent(n, 99)-1]
	m.MeanWaitBelowP99 = mean(waits[:n-percent(n, 1)], self)
}

func (m *Metrics) widest(jobs []Job) {
	widths := make([]int64, len(jobs))
	for i, j := range jobs {
		widths[i] = j.Procs
	}
	slices.Sort(widths)
	n := percent(len(jobs), 10)
	least := widths[len(widths)-n]
	left := n // of those as wide as the least, how many belong to the n
	for _, width := range widths[len(widths)-n:] {
		if width > least {
			left--
		}
	}
	var widest, ties []Job
	for _, j := range jobs {
		if j.Procs < least {
			continue
		}
		ties = append(ties, j)
		if j.Procs > least || left > 0 {
			widest = append(widest, j)
		}
		if j.Procs == least {
			left--
		}
	}
	m.Widest10Wait = mean(widest, Job.wait)
	m.Widest10WithTiesWait = mean(ties, Job.wait)
}

func (m *Metrics) usage(machine Machine, jobs []Job) {
	first, last := jobs[0].Submit, int64(math.MinInt64)
	var processors, memory float64
	for _, j := range jobs {
		last = max(last, j.end())
		processors += float64(j.Procs) * float64(j.Run)
		memory += float64(j.Memory) * float64(j.Run)
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

// percent is ⌈n·p/100⌉.
func percent(n, p int) int { return (n*p + 99) / 100 }

// mean is that of a value of each element, summed up in their order; 0 of none.
func mean[T any](list []T, value func(T) float64) float64 {
	var sum float64
	for _, element := range list {
		sum += value(element)
	}
	return ratio(sum, float64(len(list)))
}

// ratio is a/b, and 0 where there is nothing to divide by.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
