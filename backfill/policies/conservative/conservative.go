// Package conservative is Conservative backfilling. Every job gets a reservation when it arrives,
// at the earliest time that delays no job which arrived before. That start is its guarantee.
//
// When a job ends earlier than planned, the plan is compressed: each waiting job, in order of
// planned start, is removed from the plan and placed again. This never makes a start later.
//
// Source: A. Mu'alem and D. Feitelson, IEEE TPDS 12(6), 2001; the order of compression as in
// Lindsay et al., Backfilling with guarantees granted upon job submission.
package conservative

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/plan"
)

// Spec describes the policy.
func Spec() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name:         "conservative",
		Doc:          "reserves for every job at its arrival and never starts one later than promised",
		Promise:      "each job starts by the time it was told at its arrival",
		Source:       "Mu'alem and Feitelson, IEEE TPDS 2001",
		Guarantees:   true,
		PlanDepth:    true,
		IgnoresOrder: true,
		New: func(backfill.Values) (backfill.Policy, error) {
			return backfill.PolicyFunc(decide), nil
		},
	}
}

func decide(c *backfill.Cycle) {
	p := plan.Open(c, plan.ByStart, (*plan.Plan).Promise)
	for e, more := p.Next(); more; e, more = p.Next() {
		if e.Freed {
			p.CompressOnce()
		}
	}
	p.Start()
}
