// Package fcfs is first come, first served: jobs start in the queue's order, and the first that
// does not fit blocks all jobs behind it.
//
// So no job is overtaken, at the cost of idle slots. Backfilling policies are measured against
// fcfs.
package fcfs

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// Spec describes the policy.
func Spec() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name:    "fcfs",
		Doc:     "starts jobs in the queue's order; the first that does not fit blocks all behind it",
		Promise: "no job is overtaken",
		Source:  "the base line of the backfilling literature",
		New: func(backfill.Values) (backfill.Policy, error) {
			return backfill.PolicyFunc(func(c *backfill.Cycle) {
				scan.InOrder(c) // no job overtakes the pivot; its reservation only shows its expected start
			}), nil
		},
	}
}
