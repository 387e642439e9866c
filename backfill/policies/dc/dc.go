// Package dc is Delayed Compression: Conservative backfilling in which the room that a job leaves
// goes at once only to jobs that can start in it. The rest of the room stays free until a job
// arrives that might take it.
//
// At a completion, and when a job's earliest start has come, jobs that could start now are moved to
// now, in the order of the compression queue, which the site chooses; and once more when some have
// begun that needed more free than they take, as that leaves room. At an arrival, the jobs before the
// new one in that queue may first move forward, to starts up to where the new one would have ended. No
// job starts after the start that it was promised at its arrival.
//
// Source: Lindsay et al., Backfilling with guarantees granted upon job submission, Delayed
// Compression.
package dc

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/plan"
)

// Spec describes the policy.
func Spec() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name: "dc",
		Doc: "conservative; when a job ends, jobs move forward only to start, by the queue's order; others " +
			"do when one arrives that they come before",
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
	p := plan.Open(c, plan.ByQueue, arrive)
	for e, more := p.Next(); more; e, more = p.Next() {
		if e.Freed || e.Kind == backfill.Completed || e.Kind == backfill.Released {
			p.Fill()
		}
	}
	p.Start()
}

// arrive first moves jobs ahead of the new one in the queue to earlier starts, if these are not
// after the new job's end, since the new job might take that room from them. Then it places the new
// job.
func arrive(p *plan.Plan, j *backfill.Job) {
	if start, ok := p.Earliest(j); ok {
		p.Advance(j, start+j.Estimate)
	}
	p.Promise(j)
}
