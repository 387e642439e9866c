// Package bestfit starts the widest job that fits now, again and again, and
// reserves for none.
//
// The jobs at the head of the queue start first, as long as they fit. Behind the
// first that does not, the job with most cpus that fits is started, equal ones
// in the queue's order, until none fits. Slots are filled better than by
// first-fit; a job that is wider than what is ever idle at once still starves.
//
// Source: the best-fit of the Maui administrator's guide (Backfill), with its
// default metric, processors, and without reservations.
package bestfit

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// Spec describes the policy.
func Spec() backfill.Spec {
	return backfill.Spec{
		Name:    "best-fit",
		Doc:     "starts the widest job that fits now, again and again; the widest of all may starve",
		Promise: "no work is left: what is idle fits no waiting job; no start is promised",
		Source:  "Maui administrator's guide, Backfill, BESTFIT",
		New: func(backfill.Values) (backfill.Policy, error) {
			return backfill.PolicyFunc(decide), nil
		},
	}
}

// decide starts the head of the queue, then what fits behind the pivot, widest
// first. Starts only take away, so a job that does not fit once need not be
// asked again.
func decide(c *backfill.Cycle) {
	scan.Begin(c)
	var fitting []*backfill.Job // behind the pivot
	pivot := false
	for j := range c.Queue() {
		at, fits := c.FitsNow(j)
		switch {
		case !fits:
			pivot = true
		case pivot:
			fitting = append(fitting, j)
		default:
			c.Start(j, at)
		}
	}
	slices.SortStableFunc(fitting, func(a, b *backfill.Job) int { return cmp.Compare(b.Width(), a.Width()) })
	for _, j := range fitting {
		if at, fits := c.FitsNow(j); fits {
			c.Start(j, at)
		}
	}
}
