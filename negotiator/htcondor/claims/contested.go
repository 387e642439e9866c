package claims

import (
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// A schedd may have its jobs started by several negotiators: of the pools that it flocks to, or of the
// parts of one pool. All of them choose the same job, the first in its queue, and only the first match
// counts. A match that has waited for its slot is so often in vain. So the queue is asked once more
// before it is handed over, for as long as the schedd's jobs start elsewhere.

// sharedFor is for how long a schedd counts as shared after one of its jobs has started elsewhere.
const sharedFor = 5 * time.Minute

// share notes the schedds of jobs that have started elsewhere.
func (c *State) share(elsewhere []backfill.JobID) {
	began := c.belief.Snapshot().Began
	for schedd, at := range c.shared {
		if began.Sub(at) > sharedFor || c.belief.Schedd(schedd) == nil {
			delete(c.shared, schedd)
		}
	}
	for _, id := range elsewhere {
		if j := c.belief.Job(id); j != nil {
			c.shared[j.Key.Schedd] = began
		}
	}
}

// Contested tells whether matches wait to be handed over whose jobs may have started elsewhere
// meanwhile.
func Contested(c *State) bool {
	if len(c.shared) == 0 || c.s.Observe {
		return false
	}
	for _, f := range c.flights {
		if _, shared := c.shared[f.job.Key.Schedd]; shared && !f.handed() {
			return true
		}
	}
	return false
}

// sparedAfter returns how long after it was handed over a claim may be on its way, of a flight that is
// over. If the job runs elsewhere it is shorter: schedds ignore a match for a job that runs, so nobody
// has asked for the claim, unless it is lent.
func (f *flight) sparedAfter(elsewhere bool) time.Duration {
	if elsewhere && !f.lent {
		return unasked
	}
	return unspared
}
