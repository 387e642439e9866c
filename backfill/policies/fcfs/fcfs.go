// Package fcfs is first come, first served: jobs start in the queue's order,
// and the first that does not fit blocks all behind it.
//
// It promises that no job is overtaken, and pays with idle slots. It is the
// yardstick for every backfilling policy.
package fcfs

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// Spec describes the policy.
func Spec() backfill.Spec {
	return backfill.Spec{
		Name:    "fcfs",
		Doc:     "starts jobs in the queue's order; the first that does not fit blocks all behind it",
		Promise: "no job is overtaken",
		Source:  "the base line of the backfilling literature",
		New: func(backfill.Values) (backfill.Policy, error) {
			return backfill.PolicyFunc(func(c *backfill.Cycle) {
				scan.Heads(c) // nobody overtakes the pivot; its reservation is its expected start
			}), nil
		},
	}
}
