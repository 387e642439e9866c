package condorsim

import (
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
)

// setOutages gives the workload, which has its jobs, the outages of a pool. For those that begin at a date it
// finds how long after the first submission that is.
func (w *Workload) setOutages(pool *pools.Description) error {
	w.Outages = slices.Clone(pool.Outages)
	if len(w.Jobs) == 0 || len(w.Outages) == 0 {
		return nil
	}
	clock, first := w.Clock(), w.Jobs[0].Submit
	for i := range w.Outages {
		o := &w.Outages[i]
		if o.Date == "" {
			continue
		}
		at, err := clock.Read(o.Date)
		if err == nil && at < int64(first) {
			err = fmt.Errorf("is before the first job is submitted, %s", clock.Text(int64(first)))
		}
		if err != nil {
			return fmt.Errorf("the pool's %s at %s: %w", kindOf(o), o.Date, err)
		}
		o.At = backfill.Time(at) - first
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
