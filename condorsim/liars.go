package condorsim

import (
	"cmp"

	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

// liars measures what users gain who state less than their jobs run: how long they wait over how long
// the honest do, and how many jobs of the honest start later than they were first promised; nil if
// nobody lies. It leaves out what is of no job.
func (r *Result) liars() metrics.Measures {
	lies := map[string]bool{}
	for _, j := range r.Workload.Jobs {
		if j.Lies {
			lies[j.User] = true
		}
	}
	if len(lies) == 0 {
		return nil
	}
	var jobs [2][]metrics.Job // of honest users, and of liars
	for _, j := range r.Ran() {
		which := 0
		if lies[j.User] {
			which = 1
		}
		jobs[which] = append(jobs[which], j)
	}
	broken := 0
	for i, o := range r.Outcomes {
		if o.Started && o.Promised && o.Start-o.Delay > o.Guarantee && !lies[r.Workload.Jobs[i].User] {
			broken++
		}
	}
	machine := metrics.Machine{Processors: r.Workload.Capacity()[0], Memory: r.Workload.Memory()}
	measured := func(which int) metrics.Metrics {
		return metrics.ComputeBounded(machine, jobs[which], int64(cmp.Or(r.Bound, metrics.DefaultBound)))
	}
	list := metrics.Measures{{
		Name: "liars_jobs", Label: "jobs of liars", Unit: metrics.Count, Value: float64(len(jobs[1])),
	}}
	add := func(has bool, m metrics.Measure) {
		if has {
			list = append(list, m)
		}
	}
	ratio := func(name, label string, a, b float64) {
		if len(jobs[1]) > 0 && b > 0 {
			list = append(list, metrics.Measure{Name: name, Label: label, Unit: metrics.Ratio, Value: a / b})
		}
	}
	honest, liars := measured(0), measured(1)
	add(len(jobs[1]) > 0, metrics.Measure{
		Name: "liars_mean_wait", Label: "mean wait of liars", Unit: metrics.Seconds, Value: liars.MeanWait,
	})
	add(len(jobs[0]) > 0, metrics.Measure{
		Name: "honest_mean_wait", Label: "mean wait of the honest", Unit: metrics.Seconds, Value: honest.MeanWait,
	})
	ratio("liars_wait_ratio", "wait of liars over that of the honest", liars.MeanWait, honest.MeanWait)
	ratio("liars_slowdown_ratio", "bounded slowdown of liars over that of the honest", liars.MeanBoundedSlowdown,
		honest.MeanBoundedSlowdown)
	add(len(jobs[0]) > 0, metrics.Measure{
		Name: "honest_late", Label: "jobs of the honest after their promise", Unit: metrics.Count, Value: float64(broken),
	})
	return list
}
