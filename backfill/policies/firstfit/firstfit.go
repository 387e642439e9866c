// Package firstfit starts every job that fits now, in the queue's order, and makes no reservations.
//
// Slots stay busy, but wide jobs starve while narrow ones that fit keep arriving. HTCondor's
// dedicated scheduler does this under the name of best-fit.
package firstfit

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// Spec describes the policy.
func Spec() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name:    "first-fit",
		Doc:     "starts every job that fits now, in the queue's order; wide jobs may starve",
		Promise: "no work is left: what is idle fits no waiting job; no start is promised",
		Source:  "HTCondor's dedicated scheduler, there called best-fit",
		New: func(backfill.Values) (backfill.Policy, error) {
			return backfill.PolicyFunc(func(c *backfill.Cycle) {
				scan.Depth(c, 0)
			}), nil
		},
	}
}
