// Package bestfit repeatedly starts the widest job that fits now, and makes no reservations.
//
// The jobs at the head of the queue start first, as long as they fit. Among those behind the first
// job that does not fit, the policy starts the job with the most cpus that fits now, until none
// fits; jobs with equally many cpus start in the queue's order. Slots are filled better than by
// first-fit. A job that needs more than is ever idle at once still starves.
//
// Source: the best-fit of the Maui administrator's guide (Backfill), with its default metric,
// processors, and without reservations.
package bestfit

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// Spec describes the policy.
func Spec() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name:    "best-fit",
		Doc:     "starts the widest job that fits now, again and again; the widest of all may starve",
		Promise: "no work is left: what is idle fits no waiting job; no start is promised",
		Source:  "Maui administrator's guide, Backfill, BESTFIT",
		New: func(backfill.Values) (backfill.Policy, error) {
			return backfill.PolicyFunc(decide), nil
		},
	}
}

// decide starts jobs from the head of the queue until one, the pivot, does not fit. Then it starts
// the jobs behind the pivot that fit, widest first. As a start only takes room away, a job that did
// not fit once is not tried again.
func decide(c *backfill.Cycle) {
	scan.Begin(c)
	var pivot *backfill.Job
	for j := range c.Queue() {
		at, fits := c.FitsNow(j)
		if !fits {
			pivot = j
			break
		}
		c.Start(j, at)
	}
	if pivot == nil {
		return
	}
	var fitting []*backfill.Job // behind the pivot
	for j := range c.Fast().Fitting(pivot) {
		fitting = append(fitting, j)
	}
	slices.SortStableFunc(fitting, func(a, b *backfill.Job) int { return cmp.Compare(b.Width(), a.Width()) })
	for _, j := range fitting {
		if at, fits := c.FitsNow(j); fits {
			c.Start(j, at)
		}
	}
}
