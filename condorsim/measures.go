package condorsim

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/condorsim/profileevents"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Measures returns all numbers of the run by name: what run --json prints as "metrics".
func (r *Result) Measures() map[string]float64 {
	return maps.Collect(func(yield func(string, float64) bool) {
		for _, m := range r.Measured() {
			if !yield(m.Name, m.Value) {
				return
			}
		}
	})
}

// Series returns the data that charts are drawn from.
func (r *Result) Series() metrics.Series {
	return metrics.ComputeSeries(metrics.Machine{Processors: r.Workload.Capacity()[0], Memory: r.Workload.Memory()},
		r.Ran())
}

// Weeks returns the sums from which the intervals of means are computed.
func (r *Result) Weeks() metrics.Weeks { return metrics.ComputeWeeks(r.Ran()) }

// Measured returns the numbers of [Result.Measures] with labels and units, in the order in which
// they are printed. It leaves out what does not apply, such as guarantees where none were given,
// and means and shares where no job ran to its end.
func (r *Result) Measured() metrics.Measures {
	list := r.allMeasured()
	if r.partial {
		list = slices.DeleteFunc(list, ofAll)
	}
	if r.HasRun() {
		return list
	}
	return slices.DeleteFunc(list, func(m metrics.Measure) bool { return m.Value == 0 && m.Unit != metrics.Count })
}

func (r *Result) allMeasured() metrics.Measures {
	if r.happened {
		return r.recorded()
	}
	list := metrics.Measures(r.Metrics().List())
	list = append(list, r.otherResources(list)...)
	list = append(list, r.starts()...)
	list = append(list, r.guarantees()...)
	list = append(
		list,
		metrics.Measure{
			Name: "reserved_idle", Label: "idle while reserved", Unit: metrics.CPUSeconds,
			Value: r.ReservedIdle,
		},
		metrics.Measure{Name: "cycles", Unit: metrics.Count, Value: float64(r.Cycles)},
	)
	if r.Requeues > 0 || r.Workload.changes() {
		list = append(
			list,
			metrics.Measure{
				Name: "requeues", Label: "runs that lost a slot", Unit: metrics.Count,
				Value: float64(r.Requeues),
			},
			metrics.Measure{
				Name: "lost_core_seconds", Label: "lost with them", Unit: metrics.CPUSeconds,
				Value: r.LostCoreSeconds,
			},
		)
	}
	list = append(list, r.displacements()...)
	list = append(list, r.scavengers()...)
	if r.PerQueue || r.Workload.Preemption != nil {
		list = append(list, r.queues()...)
	}
	if r.StrictFST != nil {
		list = append(list, metrics.Measure{
			Name: "strict_unfairness", Label: "strict unfairness",
			Unit: metrics.Seconds, Value: r.Unfairness(r.StrictFST),
		})
	}
	if r.RelaxedFST != nil {
		list = append(list, metrics.Measure{
			Name: "relaxed_unfairness", Label: "relaxed unfairness",
			Unit: metrics.Seconds, Value: r.Unfairness(r.RelaxedFST),
		})
	}
	list = append(list, r.liars()...)
	list = append(list, r.predictions()...)
	list = append(list, r.Eta.measures(r.Outcomes)...)
	return append(list, r.Extra...)
}

// otherResources returns the utilisations that package metrics does not compute: of resources other
// than cpus and memory, and of whole partitions; not of the count of jobs, which mostly has no bound,
// nor of kinds of GPUs, which other jobs may use, too. They need the makespan, which is in known.
func (r *Result) otherResources(known metrics.Measures) (list metrics.Measures) {
	if len(r.Work) == 0 {
		return nil
	}
	makespan := known[slices.IndexFunc(known, func(m metrics.Measure) bool { return m.Name == "makespan" })].Value
	capacity := r.Workload.Capacity()
	for k, name := range r.Workload.Schema.Resources {
		m := metrics.Measure{Name: "utilisation_" + name, Label: "utilisation, " + name, Unit: metrics.Share}
		switch {
		case k == 0 && len(r.Workload.Bundles) > 0: // the utilisation of cpus counts those that jobs requested
			m.Name, m.Label = "utilisation_partitions", "utilisation, whole partitions"
		case k == 0 || name == "memory" || negotiator.IsCount(name) || negotiator.IsKind(name) || capacity[k] == 0:
			continue
		}
		if makespan > 0 {
			m.Value = r.Work[k] / (float64(capacity[k]) * makespan)
		}
		list = append(list, m)
	}
	return list
}

// starts counts the jobs by how they started (see [backfill.How]), and divides them as Tang et al.
// do (IPDPS 2010) into three shares that add up to 1: jobs that started from the top of the queue,
// that passed a waiting job, and that passed a waiting job on slots reserved for it (backfilled).
func (r *Result) starts() metrics.Measures {
	var n [3]int
	all, backfilled := 0, 0
	for i, o := range r.Outcomes {
		if !o.Started || int(o.How) >= len(n) || r.Workload.Jobs[i].Scavenger {
			continue
		}
		all++
		n[o.How]++
		if o.Backfilled {
			backfilled++
		}
	}
	count := func(name string, how backfill.How) metrics.Measure {
		return metrics.Measure{Name: name, Unit: metrics.Count, Value: float64(n[how])}
	}
	share := func(name string, count int) metrics.Measure {
		return metrics.Measure{Name: name, Unit: metrics.Share, Value: float64(count) / float64(max(all, 1))}
	}
	return metrics.Measures{
		count("started_backfill", backfill.ByBackfill),
		count("started_head", backfill.AtHead),
		count("started_queue", backfill.ByQueue),
		share("share_from_top", n[backfill.AtHead]+n[backfill.ByQueue]),
		share("share_not_from_top", n[backfill.ByBackfill]-backfilled),
		share("share_backfilled", backfilled),
	}
}

// EventCounter counts how many profile events (starts and ends of running and planned jobs) a
// scheduler as in the textbook would scan in one run; see package profileevents.
type EventCounter struct{ counter *profileevents.Counter }

// CheckEvents returns an error if the events of a policy, by its name, cannot be counted.
func CheckEvents(policy string) error { return profileevents.Check(policy) }

// CountEvents returns a counter for a run of the workload. It replaces the policy in the
// configuration by one that decides the same and counts. Only the linked-in policies conservative,
// pc and dc can be counted, and only on one slot without partitions; otherwise it returns an error.
func CountEvents(w *Workload, c *negotiator.Config) (*EventCounter, error) {
	if n := len(w.Bundles); n > 0 {
		return nil, fmt.Errorf("the pool has %d partitions; profile events are those of a single machine's profile", n)
	}
	if n := len(w.Slots); n != 1 {
		return nil, fmt.Errorf("the pool has %d slots; profile events are those of a single machine's profile", n)
	}
	policy, linked := c.Policy.(*backfill.Linked)
	if !linked {
		return nil, errors.New("the policy runs in a process of its own; only those that are linked in can be counted")
	}
	if c.Planning != (backfill.Planning{}) {
		return nil, errors.New("the textbooks plan all jobs, in the order in which they arrive; leave out the plan's " +
			"depth and reordering")
	}
	counter, err := profileevents.Count(policy)
	if err != nil {
		return nil, err
	}
	c.Policy = counter
	return &EventCounter{counter}, nil
}

// Add adds the number of profile events to the measures of a finished run.
func (e *EventCounter) Add(r *Result) error {
	n, err := e.counter.Count()
	if err != nil {
		return err
	}
	r.Extra = append(r.Extra, metrics.Measure{
		Name: "profile_events", Label: "profile events scanned by the textbook",
		Unit: metrics.Count, Value: float64(n),
	})
	return nil
}
