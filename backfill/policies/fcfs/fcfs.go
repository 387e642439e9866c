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
		Name:   "fcfs",
		Doc:    "starts jobs in the queue's order; the first that does not fit blocks all behind it",
		Source: "the base line of the backfilling literature",
		New: func(backfill.Values) (backfill.Policy, error) {
			return backfill.PolicyFunc(decide), nil
		},
	}
}

func decide(c *backfill.Cycle) {
	scan.Begin(c)
	if pivot := scan.Heads(c); pivot != nil {
		scan.Reserve(c, pivot) // nobody overtakes it; this is its expected start
	}
}
