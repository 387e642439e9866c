package condorsim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

// HistoryPolicy is the name under which [Happened] stands beside policies.
const HistoryPolicy = "history"

// NoRecordedStart is the reason in [Outcome.Held] for jobs whose files record no start; see
// [Happened].
const NoRecordedStart = "no start is recorded"

// Happened returns what really happened to the jobs, as if a policy had decided it: each job starts
// when its file says and runs as long as in a simulation. A trace has the wait for that (field 3 of
// SWF), ads have JobCurrentStartDate or JobStartDate. Jobs without a recorded start are held, and so
// left out of all measures; it is an error if none has one. Jobs that were cancelled before they
// started never have one.
//
// The result has only those measures that starts alone determine. Utilisation and loss of capacity
// are missing unless all jobs have a start and the pool as given had room for them; see
// [Result.Impossible].
func Happened(w *Workload) (*Result, error) {
	r := &Result{Workload: w, Outcomes: make([]Outcome, len(w.Jobs)), happened: true}
	known := 0
	r.Work = make([]float64, len(w.Schema.Resources))
	requests := w.Requests()
	for i, j := range w.Jobs {
		o := &r.Outcomes[i]
		if !j.HasWaited {
			o.Held = NoRecordedStart
			continue
		}
		known++
		*o = Outcome{
			Started: true, Ended: true, Start: j.Submit + j.Waited, End: j.Submit + j.Waited + j.runs(),
			Estimate: cmp.Or(j.Estimate, backfill.Time(1)),
		}
		for k, amount := range requests[i] {
			r.Work[k] += float64(amount) * float64(j.Nodes) * float64(j.runs())
		}
	}
	if known == 0 {
		return nil, errors.New("nothing is known of what really happened: no job has a recorded start (field 3 of SWF, " +
			"JobCurrentStartDate or JobStartDate of ads)")
	}
	return r, nil
}

// Impossible says why recorded starts cannot have happened on the pool as it is given: more cpus were
// in use than it has. It returns "" if they can.
func (r *Result) Impossible() string {
	type step struct{ at, cpus int64 }
	var steps []step
	for i, o := range r.Outcomes {
		if o.Ended && o.End > o.Start {
			cpus := r.Workload.Jobs[i].Cpus
			steps = append(steps, step{int64(o.Start), cpus}, step{int64(o.End), -cpus})
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.cpus, b.cpus)) })
	var used, most, at int64
	for _, s := range steps {
		if used += s.cpus; used > most {
			most, at = used, s.at
		}
	}
	if has := r.Workload.Capacity()[0]; most > has {
		return fmt.Sprintf("what really happened cannot have happened on this pool: %s cpus were in use at %d, and it "+
			"has %s", metrics.Whole(most), at, metrics.Whole(has))
	}
	return ""
}

// recorded returns the measures of what really happened.
func (r *Result) recorded() metrics.Measures {
	list := metrics.Measures(r.Metrics().List())
	list = append(list, r.otherResources(list)...)
	if r.Held() > 0 || r.Impossible() != "" {
		list = slices.DeleteFunc(list, ofPool)
	}
	return list
}

// OnlyRecorded has the jobs without a recorded start count as held, so that the measures are those of
// the same jobs as of [Happened]. If there are such jobs, it leaves out how the pool was used.
func (r *Result) OnlyRecorded() {
	for i, j := range r.Workload.Jobs {
		if !j.HasWaited {
			r.Outcomes[i], r.partial = Outcome{Held: NoRecordedStart}, true
		}
	}
}

// ofPool reports whether a measure says how the pool as a whole was used, which cannot be said where
// jobs are missing.
func ofPool(m metrics.Measure) bool {
	return strings.HasPrefix(m.Name, "utilisation") || m.Name == "loss_of_capacity"
}

// Comparison compares a run with what really happened to the same jobs.
type Comparison struct {
	Jobs int `json:"jobs"` // that are compared
	// NoStart counts the jobs that are left out as no start of theirs is recorded, NotRun those that
	// have one and did not run to their ends in the simulation.
	NoStart int `json:"without_start"`
	NotRun  int `json:"not_run"`
	// Impossible says why it cannot have happened on this pool; "" if it can.
	Impossible string `json:"impossible,omitempty"`
	// Happened and Simulated are the same measures in the same order.
	Happened  metrics.Measures `json:"happened"`
	Simulated metrics.Measures `json:"simulated"`
}

// CompareWithHistory compares a run with what really happened, over the jobs that have a recorded
// start and that ran. It is an error if there are none.
func (r *Result) CompareWithHistory() (*Comparison, error) {
	real, err := Happened(r.Workload)
	if err != nil {
		return nil, err
	}
	c := &Comparison{NoStart: real.Held(), Impossible: real.Impossible()}
	own := &Result{Workload: r.Workload, Outcomes: slices.Clone(r.Outcomes), Bound: r.Bound}
	real.Bound = r.Bound
	for i := range own.Outcomes {
		mine, other := &own.Outcomes[i], &real.Outcomes[i]
		switch {
		case mine.Ended && other.Ended:
			c.Jobs++
			continue
		case other.Ended:
			c.NotRun++
		}
		*mine, *other = Outcome{}, Outcome{}
	}
	if c.Jobs == 0 {
		return nil, errors.New("no job with a recorded start ran to its end, so there is nothing to compare")
	}
	c.Happened, c.Simulated = real.Metrics().List(), own.Metrics().List()
	if c.NoStart+c.NotRun > 0 || c.Impossible != "" {
		c.Happened, c.Simulated = slices.DeleteFunc(c.Happened, ofPool), slices.DeleteFunc(c.Simulated, ofPool)
	}
	return c, nil
}
