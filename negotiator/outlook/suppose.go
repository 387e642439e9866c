package outlook

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Suppose returns an outlook for a question about a job that is not in the pool; see
// [negotiator.Negotiator.Suppose]. If the order's keys are of the last cycle alone, the job comes
// behind the waiting jobs of its owner, or behind all if none waits. It must be called between two
// cycles, and matches the job with nothing yet. Limits are those that come with the job.
func Suppose(n *negotiator.Negotiator, job *negotiator.Job, limits []negotiator.Limit,
) (*Outlook, *negotiator.Supposed, error) {
	c, err := n.Suppose(job, limits)
	if err != nil {
		return nil, nil, err
	}
	o := New(n)
	o.expect([]negotiator.Expected{c.Expected})
	if o.order.OfCycle() {
		o.keys = map[backfill.JobID]float64{c.Job.ID: lastKey(n.State(), c.Job.Labels["owner"])}
	}
	return o, c, nil
}

// lastKey returns the key of the last waiting job of an owner, or of all if the owner has none.
func lastKey(s *backfill.State, owner string) (last float64) {
	found := false
	for _, j := range s.FirstWaiting(s.Waiting()) {
		if own := j.Labels["owner"] == owner; own || !found {
			last, found = s.Key(j.ID), own || found
		}
	}
	return last
}

// Arrival returns the round in which the questioned job arrives, as the first of a play.
func (o *Outlook) Arrival(c negotiator.QuestionedJob) *backfill.Round {
	return &backfill.Round{
		Now: o.now, Rows: c.Rows,
		Candidates: []backfill.CandidateSet{{ID: c.Job.Candidates, Candidates: c.Candidates}},
		Events:     append(slices.Clip(c.Others), backfill.Event{Kind: backfill.Submitted, Job: c.Job}),
	}
}
