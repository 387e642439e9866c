// Package pc is Prioritized Compression: Conservative backfilling in which a job
// that ends early gives its room to the first waiting jobs of an order of the
// site's choice.
package pc

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/plan"
)

// Spec describes the policy.
func Spec() backfill.Spec {
	return backfill.Spec{
		Name:       "pc",
		Doc:        "conservative; on an early completion moves jobs forward by priority, going back to the first after each move",
		Source:     "Lindsay et al., Backfilling with guarantees granted upon job submission",
		Guarantees: true,
		New: func(backfill.Values) (backfill.Policy, error) {
			return backfill.PolicyFunc(decide), nil
		},
	}
}

func decide(c *backfill.Cycle) {
	p := plan.Open(c)
	for e, more := p.Next(); more; e, more = p.Next() {
		if e.Kind == backfill.Submitted {
			p.Promise(e.Spec)
		}
		if e.Freed {
			p.Compress()
		}
	}
	p.Start()
}
