// Package ibb is the improved Backfill Balanced policy: like EASY it protects a
// reservation for the job at the head, and goes once through the rest of the
// queue; a job that could be backfilled is, if it does not make the use of the
// resources less balanced than it was when the backfilling began.
//
// With x the utilisation of each of K resources if the job ran and S that
// without any backfilled job, the condition is max(x)/mean(x) ≤ max(S)/mean(S).
//
// Source: Liu et al., IBB: Improved K-Resource Aware Backfill Balanced
// Scheduling for HTCondor, equation 2 as printed.
package ibb

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/balance"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// Spec describes the policy.
func Spec() backfill.Spec {
	return backfill.Spec{
		Name:    "ibb",
		Doc:     "EASY's reservation; backfills the jobs that keep the use of the resources as balanced as it is",
		Promise: "the first blocked job is not delayed: if estimates are right it starts by the time reserved for it",
		Source:  "Liu et al., IBB, equation 2",
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
	before := scale.Of(c.Use())
	for j := range c.Behind(pivot) {
		if !j.Whole && scale.Worsens(c.Use(), j.Request, j.Nodes, before) { // told without asking where it fits
			continue
		}
		at, eligible := c.FitsNow(j)
		if !eligible || j.Whole && scale.Worsens(c.Use(), c.State().Holds(j, at), 1, before) {
			continue
		}
		c.Start(j, at)
	}
}
