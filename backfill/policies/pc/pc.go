// Package pc is Prioritized Compression: Conservative backfilling in which the room that a job
// leaves by ending early goes to the waiting jobs in an order of the site's choice, the compression
// queue.
//
// The policy goes through that queue from its front, removes each job from the plan and places it
// again. As soon as a job gets an earlier start, the policy begins again at the front, until a
// whole round moves nothing. No job starts after the start that it was promised at its arrival.
//
// Source: Lindsay et al., Backfilling with guarantees granted upon job submission, Prioritized
// Compression.
package pc

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/plan"
)

// Spec describes the policy.
func Spec() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name: "pc",
		Doc: "conservative; when a job ends early, jobs move forward by the queue's order, beginning again " +
			"at its front after each move",
		Promise:    "each job starts by the time it was told at its arrival",
		Source:     "Lindsay et al., Backfilling with guarantees granted upon job submission",
		Guarantees: true,
		PlanDepth:  true,
		New: func(backfill.Values) (backfill.Policy, error) {
			return backfill.PolicyFunc(decide), nil
		},
	}
}

func decide(c *backfill.Cycle) {
	p := plan.Open(c, plan.ByQueue, (*plan.Plan).Promise)
	for e, more := p.Next(); more; e, more = p.Next() {
		if e.Freed {
			p.Compress()
		}
	}
	p.Start()
}
