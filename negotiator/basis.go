package negotiator

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// BasisOf returns what the run time rests on that is expected of a waiting job, by what is known now: the
// jobs that are like it. It is the one that the order uses under a policy that gives guarantees, else the one
// with which the job is placed. It is false if that is what the job requests, and of other jobs: what is
// expected of one that runs was predicted before it started. It must be called between two cycles.
func BasisOf(n *Negotiator, id backfill.JobID) (b estimate.Basis, ok bool) {
	p := n.predictions
	known, job := p.known.Find(id), p.jobs.get(id)
	if p.idle() || known == nil || job == nil || !n.State().IsWaiting(id) {
		return b, false
	}
	j := p.describe(job)
	if p.actual != nil {
		j.Actual = p.actual(id)
	}
	if p.guarantees {
		return p.set.Basis(&j, p.now), known.Order != j.Requested
	}
	return p.set.PlannedBasis(&j, p.now), known.Backfill != j.Requested
}
