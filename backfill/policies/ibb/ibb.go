// Package ibb is the improved Backfill Balanced policy. Like EASY it keeps a reservation for the
// pivot, the first job in the queue that does not fit now. It goes once through the rest of the
// queue and backfills each job that does not make the use of the resources less balanced than it
// was when the backfilling began.
//
// Let x be the vector of the utilisations of the K resources if the job ran, and S the same without
// any backfilled job. The condition is max(x)/mean(x) ≤ max(S)/mean(S).
//
// Source: Liu et al., IBB: Improved K-Resource Aware Backfill Balanced Scheduling for HTCondor,
// equation 2 as printed.
package ibb

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/balance"
)

// Spec describes the policy.
func Spec() backfill.PolicySpec {
	return balance.Spec("ibb",
		"EASY's reservation; backfills the jobs that keep the use of the resources as balanced as it is",
		"Liu et al., IBB, equation 2", fill)
}

// fill backfills jobs behind the pivot, in the queue's order, that fit now and keep the balance.
func fill(c *backfill.Cycle, pivot *backfill.Job, scale balance.Scale) {
	before := scale.Of(c.State().Use())
	for j, at := range c.Fast().Fitting(pivot) {
		if !scale.Worsens(c.State().Use(), c.State().Holds(j, at), 1, before) {
			c.Start(j, at)
		}
	}
}
