// Package bb is Backfill Balanced. Like EASY it keeps a reservation for the pivot, the first job in
// the queue that does not fit now. Of the jobs that may be backfilled, it starts the one that
// leaves the use of the resources highest and most evenly spread over them.
//
// Let x be the vector of the utilisations of the K resources if the job ran. The score of the job
// is max(x)/mean(x) · (1 − mean(x)). The job with the lowest score starts, again and again until no
// job may be backfilled.
//
// Source: Leinberger, Karypis, Kumar: Job scheduling in the presence of multiple resource
// requirements, SC 1999; as restated in Liu et al., IBB.
package bb

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/balance"
)

// Spec describes the policy.
func Spec() backfill.PolicySpec {
	return balance.Spec("bb",
		"EASY's reservation; backfills the job that balances the resources best, again and again",
		"Leinberger, Karypis, Kumar, SC 1999", fill)
}

// fill starts the job behind the pivot with the lowest score, again and again until none fits.
func fill(c *backfill.Cycle, pivot *backfill.Job, scale balance.Scale) {
	for {
		best, at := lowest(c, pivot, scale)
		if best == nil {
			return
		}
		c.Start(best, at)
	}
}

// lowest returns the job behind the pivot with the lowest score among those that fit now, and its
// placement; of equal scores, the first in the queue's order. It returns nil if no job fits.
func lowest(c *backfill.Cycle, pivot *backfill.Job, scale balance.Scale) (
	best *backfill.Job, where backfill.Placement,
) {
	var score balance.Utilisation
	for j, at := range c.Fast().Fitting(pivot) {
		if x := scale.With(c.State().Use(), c.State().Holds(j, at), 1); best == nil || x.CompareScore(score) < 0 {
			best, where, score = j, at, x
		}
	}
	return best, where
}
