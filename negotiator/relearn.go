package negotiator

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// Some estimators go by the jobs that run, too, and predict the run times of a user's waiting jobs anew
// when one of that user's jobs ends; see [estimate.Set.HeedsRunning] and [estimate.Set.PredictsAgain].

// hear tells the estimators which jobs do not run any more, by a delta that is not applied yet, and which do.
// It comes before run times are predicted.
func (n *Negotiator) hear(d *Delta) {
	p := n.predictions
	if p.waiting == nil && !p.heedsRunning() {
		return
	}
	for _, ids := range [][]backfill.JobID{d.Completed, d.Removed, d.StartFailed} {
		for _, id := range ids {
			p.left(id)
		}
	}
	for _, id := range d.StartFailed {
		p.waits(n.jobs.get(id))
	}
	if len(d.SlotsDown) > 0 {
		isBack := n.returning(d)
		for run := range n.State().Running() {
			if isBack(run.Job.ID, run.Placement) {
				p.left(run.Job.ID)
				p.waits(n.jobs.get(run.Job.ID))
			}
		}
	}
	p.run(slices.Clone(d.Found))
}

// hearOfStarts tells the estimators which jobs a cycle has started.
func (n *Negotiator) hearOfStarts(r *Report) {
	p := n.predictions
	if p.waiting == nil && !p.heedsRunning() {
		return
	}
	runs := make([]Running, len(r.Decision.Started))
	for i := range runs {
		runs[i] = Running{Job: n.jobs.get(r.Decision.Started[i].Job.ID), Start: r.Delta.Now}
	}
	p.run(runs)
}

// mostAgain is how many waiting jobs of a user are predicted anew in a cycle. Each may have to be planned and
// put elsewhere in the queue, which takes some microseconds: with 100,000 it would be all that a cycle does.
const mostAgain = 10_000

// predictAgain predicts the run times of the waiting jobs anew whose users have had jobs that ended in this
// cycle, of each user in the order of their IDs. If those are too many, the next ones have their turn when
// the user's next job ends, and after the last the first ones again. Those that are planned with other run
// times now are added to the arrivals; of the others at most the place in the queue's order changes.
func (n *Negotiator) predictAgain() {
	p := n.predictions
	p.reordered = p.reordered[:0]
	if p.waiting == nil || len(p.learned) == 0 || p.anew {
		return
	}
	users := map[estimate.User]bool{}
	for i := range p.learned {
		user, ok := p.set.UserOf(p.learned[i].Labels)
		if !ok || users[user] {
			continue
		}
		users[user] = true
		for _, id := range p.waiting[user].turn(mostAgain) {
			n.predictOneAgain(id)
		}
	}
}

func (n *Negotiator) predictOneAgain(id backfill.JobID) {
	p := n.predictions
	if !n.State().IsWaiting(id) || n.reported.Has(id) { // what is reported of it comes with a prediction
		return
	}
	job := n.jobs.get(id)
	before, now := p.predict(job)
	if p.guarantees || now.Backfill == before.Backfill && now.Running == before.Running {
		if now.Order != before.Order {
			p.reordered = append(p.reordered, id)
		}
		return
	}
	n.reported.Add(id)
	n.arrivals = append(n.arrivals, arrival{kind: backfill.Changed, job: job, replanned: n.State().Job(id)})
}
