package negotiator

import (
	"cmp"
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// queues are the waiting jobs of each user, for estimators that predict again; nil for others. Jobs that are
// held, or for which others make way, are among them.
type queues map[estimate.User]*inLine

// inLine are the waiting jobs of a user.
type inLine struct {
	jobs map[backfill.JobID]bool
	last backfill.JobID // the last one that turn returned
}

// turn returns at most so many of the jobs, in ascending order. If there are more, it begins behind the last
// one that it returned before, and goes on with the first ones behind the greatest.
func (l *inLine) turn(most int) []backfill.JobID {
	if l == nil {
		return nil
	}
	ids := slices.Sorted(maps.Keys(l.jobs))
	if len(ids) > most {
		at, found := slices.BinarySearch(ids, l.last)
		if found {
			at++
		}
		ids = append(ids[at:], ids[:at]...)[:most]
		l.last = ids[most-1]
	}
	return ids
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
	p.waitsNoMore(p.jobs.get(job.ID)) // as it was: it may have been another user's
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
			p.waiting[user] = &inLine{jobs: map[backfill.JobID]bool{}, last: -1}
		}
		p.waiting[user].jobs[job.ID] = true
	}
}

// waitsNoMore notes that a job runs or is gone.
func (p *predictions) waitsNoMore(job *Job) {
	if p.waiting == nil || job == nil {
		return
	}
	user, ok := p.set.UserOf(job.Labels)
	if line := p.waiting[user]; ok && line != nil {
		if delete(line.jobs, job.ID); len(line.jobs) == 0 {
			delete(p.waiting, user)
		}
	}
}
