package condorsim

import (
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
)

// schedule gives the workload, which has its jobs, the outages of a pool: those that begin at a date at the time
// from the first submission on. It says which begin when all jobs are likely to have ended.
func (w *Workload) schedule(pool *pools.Description) error {
	w.Outages = slices.Clone(pool.Outages)
	if len(w.Jobs) == 0 || len(w.Outages) == 0 {
		return nil
	}
	clock, first, done := w.Clock(), w.Jobs[0].Submit, w.likelyDone()
	for i := range w.Outages {
		o := &w.Outages[i]
		if o.Random() {
			continue
		}
		if o.Date != "" {
			at, err := clock.Read(o.Date)
			if err == nil && at < int64(first) {
				err = fmt.Errorf("is before the first job is submitted, %s", clock.Text(int64(first)))
			}
			if err != nil {
				return fmt.Errorf("the pool's %s at %s: %w", kindOf(o), o.Date, err)
			}
			o.At = backfill.Time(at) - first
		}
		if begins := first + o.At; begins > done {
			w.Unheeded = append(w.Unheeded, fmt.Sprintf("the %s of %d slots at %s begins after the last job: that is submitted "+
				"at %s, and all are likely to have ended by %s", kindOf(o), len(o.Slots), clock.Text(int64(begins)),
				clock.Text(int64(w.Jobs[len(w.Jobs)-1].Submit)), clock.Text(int64(done))))
		}
	}
	return nil
}

// kindOf says what an outage is.
func kindOf(o *pools.Outage) string {
	switch {
	case o.Drain:
		return "drain"
	case o.Told:
		return "end"
	default:
		return "failure"
	}
}

// likelyDone returns when all jobs are likely to have ended: any order that leaves no slot idle that a job could use
// takes at most about twice as long as the work, or the longest job, from the last submission on.
func (w *Workload) likelyDone() backfill.Time {
	work, longest, cpus := 0.0, backfill.Time(0), 0.0
	for _, s := range w.Slots {
		cpus += float64(s.Capacity[0])
	}
	for _, j := range w.Jobs {
		work += float64(j.Cpus) * float64(j.Run)
		longest = max(longest, j.Run)
	}
	const twice = 2
	return w.Jobs[len(w.Jobs)-1].Submit + twice*(longest+backfill.Time(min(work/max(cpus, 1), backfill.MaxTime)))
}
