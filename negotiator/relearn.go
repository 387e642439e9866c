package negotiator

import (
	"cmp"
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// Some estimators go by the jobs that run, too, and predict the run times of a user's waiting jobs anew
// when one of that user's jobs ends; see [estimate.Set.HeedsRunning] and [estimate.Set.PredictsAgain].

// queues are the waiting jobs of each user, for estimators that predict again; nil for others. Jobs that are
// held, or for which others make way, are among them.
type queues map[estimate.User]map[backfill.JobID]bool

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

// run tells the estimators that jobs run. It sorts them first, so that none has to be put before many others.
func (p *predictions) run(runs []Running) {
	slices.SortFunc(runs, func(a, b Running) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), backfill.Compare(a.Job.place(), b.Job.place()))
	})
	for i := range runs {
		p.runs(&runs[i])
	}
}

// place returns a job as far as its place in the order of jobs goes.
func (j *Job) place() *backfill.Job {
	return &backfill.Job{ID: j.ID, Submit: j.Submit, Position: j.Position}
}

func (p *predictions) heedsRunning() bool { return p.set != nil && p.set.HeedsRunning() }

// left tells the estimators that a job does not run any more.
func (p *predictions) left(id backfill.JobID) {
	if p.set != nil {
		p.set.Left(id)
	}
}

// runs tells the estimators that a job runs.
func (p *predictions) runs(run *Running) {
	job := run.Job
	p.waitsNoMore(job)
	if p.heedsRunning() {
		p.set.Started(estimate.Run{Job: p.describe(job), Since: run.Start, Planned: job.place()})
	}
}

// tell tells new estimators all that they must know of the pool as it is.
func (p *predictions) tell(s *backfill.State) {
	if p.set == nil || !p.heedsRunning() && !p.set.PredictsAgain() {
		p.waiting = nil
		return
	}
	var jobs []JobCheckpoint
	running := map[backfill.JobID]bool{}
	for run := range s.Running() {
		if running[run.Job.ID] = !run.Pinned; !run.Pinned {
			jobs = append(jobs, JobCheckpoint{
				Job: p.jobs.get(run.Job.ID), Standing: backfill.Standing{Running: true, Start: run.Start},
			})
		}
	}
	for _, id := range p.jobs.ids() {
		if !running[id] {
			jobs = append(jobs, JobCheckpoint{Job: p.jobs.get(id)})
		}
	}
	p.recall(jobs)
}

// recall tells the estimators which of the jobs run, and which wait.
func (p *predictions) recall(jobs []JobCheckpoint) {
	p.waiting = nil
	if p.set == nil {
		return
	}
	if p.set.PredictsAgain() {
		p.waiting = queues{}
	}
	var runs []Running
	for _, j := range jobs {
		switch {
		case j.Job == nil:
		case j.Running && !j.Pinned:
			runs = append(runs, Running{Job: j.Job, Start: j.Start})
		default:
			p.waits(j.Job)
		}
	}
	p.run(runs)
}

// waits notes that a job waits, so that its run time is predicted anew when a job of its user ends.
func (p *predictions) waits(job *Job) {
	if p.waiting == nil {
		return
	}
	if user, ok := p.set.UserOf(job.Labels); ok {
		if p.waiting[user] == nil {
			p.waiting[user] = map[backfill.JobID]bool{}
		}
		p.waiting[user][job.ID] = true
	}
}

// waitsNoMore notes that a job runs or is gone.
func (p *predictions) waitsNoMore(job *Job) {
	if p.waiting == nil || job == nil {
		return
	}
	if user, ok := p.set.UserOf(job.Labels); ok {
		if delete(p.waiting[user], job.ID); len(p.waiting[user]) == 0 {
			delete(p.waiting, user)
		}
	}
}

// predictAgain predicts the run times of the waiting jobs anew whose users have had jobs that ended in this
// cycle. Those that are planned with other run times now are added to the arrivals; of the others at most
// the place in the queue's order changes.
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
		for _, id := range slices.Sorted(maps.Keys(p.waiting[user])) {
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
	before := p.uses(job)
	p.predict(job)
	now := p.uses(job)
	if now.Order != before.Order {
		p.reordered = append(p.reordered, id)
	}
	if p.guarantees || now.Backfill == before.Backfill && now.Running == before.Running {
		return
	}
	n.reported.Add(id)
	n.arrivals = append(n.arrivals, arrival{kind: backfill.Changed, job: job, replanned: n.State().Job(id)})
}

// uses returns the run times that a job is planned with.
func (p *predictions) uses(job *Job) estimate.Uses {
	if known := p.known[job.ID]; known != nil {
		return known.Uses
	}
	r := p.requested(job)
	return estimate.Uses{Order: r, Backfill: r, Running: r}
}
