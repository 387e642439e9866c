package sweep

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// hasHistory reports whether a scheduler of the file is what really happened.
func (f *File) hasHistory() bool {
	return slices.ContainsFunc(f.schedulers(), func(s scheduler) bool { return s.policy == condorsim.HistoryPolicy })
}

// history checks a scheduler that is what really happened: nothing else can be said of it.
func (c *checker) history(f *File, one scheduler) {
	switch {
	case one.order != "":
		c.say(one.orderPath, "what really happened has no order: leave it out")
	case one.estimates.Order != "" || one.estimates.Backfill != "" || one.estimates.Running != "" || one.estimates.All != "":
		c.say(one.path, "what really happened has no estimators: leave them out")
	case !slices.Equal(f.loads(), []float64{1}):
		c.say("loads", "what really happened (policy: history), happened under the load that there was: leave out loads")
	case slices.ContainsFunc(f.Traces, func(t Trace) bool { return t.Merge != nil || t.Generate != nil }):
		c.say(one.policyPath, "what really happened, happened to no trace that is merged or made up: leave it out, or these traces")
	case f.CountEvents || len(f.FST) > 0:
		c.say(one.policyPath, "profile events and fair start times are those of a policy, and what really happened has none")
	}
}

// happened makes the cell of what really happened. It warns of jobs that are left out, and where it
// cannot have happened on the pool.
func (p *Sweep) happened(c *cell, w *condorsim.Workload) (results.Cell, error) {
	r, err := condorsim.Happened(w)
	if err != nil {
		return results.Cell{}, &BadInput{err}
	}
	if p.settings.Warn != nil {
		if n := r.Held(); n > 0 {
			p.settings.Warn("what really happened is not known of all jobs: those without a recorded start are left out of "+
				"all rows", "trace", c.key.Trace, "left out", n, "of", len(w.Jobs)-w.Scavenging(), "with a start before their submission",
				condorsim.WrongStarts(w))
		}
		if text := r.Impossible(); text != "" {
			p.settings.Warn(text, "trace", c.key.Trace)
		}
	}
	return p.finished(c, w, r), nil
}

// finished makes the cell of a result.
func (p *Sweep) finished(c *cell, w *condorsim.Workload, r *condorsim.Result) results.Cell {
	r.PerQueue = p.perQueue
	done := results.Cell{
		Key: c.key, Jobs: len(w.Jobs) - w.Scavenging(), Held: r.Held(), Why: r.HeldBecause(),
		Machine:  results.Machine{Slots: len(w.Slots), Cpus: w.Capacity()[0], Memory: w.Memory()},
		Cleaning: w.Cleaning, Metrics: r.Measures(), Series: r.Series(), Weeks: r.Weeks(),
	}
	if p.perUser {
		done.Users = results.UsersOf(r.Users())
	}
	return done
}
