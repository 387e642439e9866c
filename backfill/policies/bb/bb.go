// Package bb is Backfill Balanced: like EASY it protects a reservation for the
// job at the head, but among the jobs that may be backfilled it starts the one
// that leaves the use of the resources most balanced and highest.
//
// With x the utilisation of each of K resources if the job ran, its score is
// max(x)/mean(x) · (1 − mean(x)); the lowest starts, until none is eligible.
//
// Source: Leinberger, Karypis, Kumar: Job scheduling in the presence of
// multiple resource requirements, SC 1999; as restated in Liu et al., IBB.
package bb

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/balance"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// Spec describes the policy.
func Spec() backfill.Spec {
	return backfill.Spec{
		Name:    "bb",
		Doc:     "EASY's reservation; backfills the job that balances the resources best, again and again",
		Promise: "the first blocked job is not delayed: if estimates are right it starts by the time reserved for it",
		Source:  "Leinberger, Karypis, Kumar, SC 1999",
		Options: []backfill.Option{balance.Option()},
		New: func(v backfill.Values) (backfill.Policy, error) {
			resources := v.List(balance.Option().Name)
			return backfill.PolicyFunc(func(c *backfill.Cycle) { decide(c, resources) }), nil
		},
	}
}

func decide(c *backfill.Cycle, resources []string) {
	pivot := scan.Heads(c)
	if pivot == nil {
		return
	}
	scale := balance.NewScale(c, resources)
	for {
		best, at := lowest(c, pivot, scale)
		if best == nil {
			return
		}
		c.Start(best, at)
	}
}

// lowest finds the eligible job with the lowest score; equal scores go to the
// first in the queue's order.
func lowest(c *backfill.Cycle, pivot *backfill.Job, scale balance.Scale) (best *backfill.Job, where backfill.Placement) {
	var score balance.Utilisation
	for j := range c.Behind(pivot) {
		at, eligible := c.FitsNow(j)
		if !eligible {
			continue
		}
		if x := scale.With(c.Use(), c.State().Holds(j, at), 1); best == nil || x.CompareScore(score) < 0 {
			best, where, score = j, at, x
		}
	}
	return best, where
}
