package condorsim

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

// displacements measures what it costs that jobs make way for others, and what the others have of it: nil
// if none ever does in the pool.
func (r *Result) displacements() metrics.Measures {
	if r.Workload.Preemption == nil {
		return nil
	}
	jobs := 0
	madeWay := func(job int) bool { return r.Outcomes[job].Displacements > 0 && !r.Workload.Jobs[job].Scavenger }
	for i := range r.Outcomes {
		if madeWay(i) {
			jobs++
		}
	}
	list := metrics.Measures{
		{Name: "displacements", Label: "runs that made way for others", Unit: metrics.Count, Value: float64(r.Displacements)},
		{Name: "displaced_jobs", Label: "jobs that made way", Unit: metrics.Count, Value: float64(jobs)},
		{
			Name: "displaced_core_seconds", Label: "work lost with them", Unit: metrics.CPUSeconds,
			Value: r.DisplacedCoreSeconds,
		},
	}
	if len(r.Work) > 0 && r.Work[0]+r.LostCoreSeconds > 0 {
		list = append(list, metrics.Measure{
			Name: "displaced_share", Label: "lost with them, of all work", Unit: metrics.Share,
			Value: r.DisplacedCoreSeconds / (r.Work[0] + r.LostCoreSeconds),
		})
	}
	wait := func(name, label string, chosen func(job int) bool) {
		if m, some := r.measuredOf(chosen); some {
			list = append(list, metrics.Measure{Name: name, Label: label, Unit: metrics.Seconds, Value: m.MeanWait})
		}
	}
	wait("displaced_mean_wait", "mean wait of jobs that made way", madeWay)
	wait("displacing_mean_wait", "mean wait of jobs that others made way for", func(job int) bool { return r.Outcomes[job].TookOver })
	return list
}

// measuredOf returns the metrics of some of the jobs that ran to their ends, and whether there are any.
func (r *Result) measuredOf(chosen func(job int) bool) (m metrics.Metrics, some bool) {
	jobs := r.ranOf(chosen)
	if len(jobs) == 0 {
		return m, false
	}
	machine := metrics.Machine{Processors: r.Workload.Capacity()[0], Memory: r.Workload.Memory()}
	return metrics.ComputeBounded(machine, jobs, int64(cmp.Or(r.Bound, metrics.DefaultBound))), true
}

// queues measures what jobs of each queue got, as it is mostly by queues who makes way for whom. It is nil
// unless there are from two to twelve.
func (r *Result) queues() (list metrics.Measures) {
	const most = 12
	label := func(job int) string {
		if r.Workload.Jobs[job].Scavenger { // it is measured apart
			return ""
		}
		return r.Workload.Jobs[job].Labels["qos"]
	}
	names := map[string]string{}
	for i := range r.Workload.Jobs {
		if queue := label(i); queue != "" {
			if names[queue] = inName(queue); len(names) > most {
				return nil
			}
		}
	}
	if len(names) < 2 {
		return nil
	}
	for _, queue := range slices.Sorted(maps.Keys(names)) {
		name, text := "queue_"+names[queue]+"_", ", queue "+queue
		m, some := r.measuredOf(func(job int) bool { return label(job) == queue })
		if !some || slices.ContainsFunc(list, func(m metrics.Measure) bool { return m.Name == name+"mean_wait" }) {
			continue
		}
		list = append(
			list,
			metrics.Measure{Name: name + "mean_wait", Label: "mean wait" + text, Unit: metrics.Seconds, Value: m.MeanWait},
			metrics.Measure{
				Name: name + "mean_bounded_slowdown", Label: "mean bounded slowdown" + text, Unit: metrics.Ratio,
				Value: m.MeanBoundedSlowdown,
			},
		)
	}
	return list
}

// inName returns a text as it can stand in the name of a measure.
func inName(text string) string {
	return strings.Map(func(c rune) rune {
		if c < unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c)) {
			return unicode.ToLower(c)
		}
		return '_'
	}, text)
}
