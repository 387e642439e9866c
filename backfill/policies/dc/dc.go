package dc

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/plan"
)

// Spec describes the policy.
func Spec() backfill.Spec {
	return backfill.Spec{
		Name:       "dc",
		Doc:        "conservative; a completion moves only jobs that can start now, by priority, and what else it freed is given away at arrivals",
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
			arrive(p, e.Spec)
		}
		if e.Freed || e.Kind == backfill.Completed {
			p.Fill()
		}
	}
	p.Start()
}

// arrive lets the jobs of higher priority move into room that the new one might
// take, up to where it would end, and then places it.
func arrive(p *plan.Plan, j *backfill.Job) {
	if start, ok := p.Earliest(j); ok {
		p.Advance(j, start+j.Estimate)
	}
	p.Promise(j)
}
