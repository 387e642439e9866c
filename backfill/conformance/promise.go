package conformance

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Promise checks, after each round, something that only some policies promise, and records findings
// in the run.
type Promise func(*Run)

// PromisesOf returns the promises of the linked-in policy with the given name.
func PromisesOf(policy string) []Promise {
	return map[string][]Promise{
		"fcfs":         {NoneOvertaken, HeadOnTime},
		"first-fit":    {NoneFits},
		"best-fit":     {NoneFits},
		"drain":        {NoneFits, HeadOnTime}, // without an interval between its scheduling points
		"easy":         {NoneFits, HeadOnTime},
		"bb":           {NoneFits, HeadOnTime},
		"ibb":          {HeadOnTime},
		"conservative": {TightOnOneSlot},
		"pc":           {Tight},
		"dc":           {Filled},
		"slack":        {NoneFitsIdly},
		"maui":         {NoneFits, HeadOnTime}, // with default options
	}[policy]
}

// NoneOvertaken promises that no job starts while a job before it in the queue's order waits.
func NoneOvertaken(r *Run) {
	queue := r.queue()
	if len(queue) == 0 {
		return
	}
	for _, s := range r.decision.Started {
		i := slices.IndexFunc(r.snap.Jobs, func(j backfill.JobState) bool { return j.Job.ID == s.Job.ID })
		if before(r.snap.Jobs[i], queue[0]) >= 0 {
			r.find(Promised, s.Job, "job %d starts and job %d, which is before it, waits", s.Job.ID, queue[0].Job.ID)
		}
	}
}

// NoneFits promises that no waiting job could start now and run for its estimate beside what runs
// and what is reserved. It checks nothing after a round in which a policy without guarantees
// started a job whose expected run time is not its estimate: room may then be free until the next
// round.
func NoneFits(r *Run) {
	if _, guarantees := r.Host.State.Policy(); !guarantees && slices.ContainsFunc(r.decision.Started, predicted) {
		return
	}
	r.noneFits(r.queue(), r.idle(true), r.snap.Now)
}

// predicted reports whether a started job has an expected run time other than its estimate.
func predicted(s backfill.Started) bool {
	return s.Job.Running != 0 && s.Job.Running != s.Job.Estimate
}

// noneFits reports those of the jobs that could start at the given second if their own reservation
// were removed from the grid.
func (r *Run) noneFits(jobs []backfill.JobState, g *grid, start backfill.Time) {
	for _, j := range jobs {
		g.take(j, -1)
		if g.fits(j.Job, start) && !r.begun(j.Job) {
			r.find(Promised, j.Job, "job %d could start at %d", j.Job.ID, start)
		}
		g.take(j, 1)
	}
}

// NoneFitsIdly is [NoneFits] for rounds that start no job. A job that starts before its planned start
// gives that place up, and a job that was tried before it may then fit.
func NoneFitsIdly(r *Run) {
	if len(r.decision.Started) == 0 {
		NoneFits(r)
	}
}

// HeadOnTime is EASY's promise: the job at the head of the queue has a reservation, and never
// starts later than planned when it came to the head. It is checked only in pools where estimates
// are right, nothing fails and the order does not change (see [Driver]), and of jobs at the head of
// all that wait: one before them that may not start yet comes first once it may. A job whose candidates
// close before it could begin has none.
func HeadOnTime(r *Run) {
	if !r.Driver.Exact {
		return
	}
	for _, s := range r.decision.Started {
		if latest, ok := r.headPlan[s.Job.ID]; ok && r.decision.Now > latest {
			r.find(Promised, s.Job, "job %d starts later than planned, which was %d", s.Job.ID, latest)
		}
	}
	queue := r.queue()
	if len(queue) == 0 {
		return
	}
	first := queue[0]
	if r.waiting()[0].Job != first.Job {
		return
	}
	latest, known := r.headPlan[first.Job.ID]
	switch {
	case first.Placement == nil && r.startless(first.Job):
	case first.Placement == nil:
		r.find(Promised, first.Job, "job %d at the head of the queue has no reservation", first.Job.ID)
	case !known:
		r.headPlan[first.Job.ID] = first.Start
	case first.Start > latest:
		r.find(Promised, first.Job, "job %d is planned for %d, later than before (%d)", first.Job.ID, first.Start,
			latest)
	}
}

// Tight promises that each waiting job is planned at the earliest start that the other jobs' places
// allow, as long as nothing unexpected happens to the pool but early ends.
func Tight(r *Run) {
	if !r.Driver.calm() {
		return
	}
	const ahead = 40 // seconds from now within which planned starts are checked
	soon := slices.DeleteFunc(r.waiting(), func(j backfill.JobState) bool { return j.Start > r.snap.Now+ahead })
	g := newGrid(r.snap, ahead+longest)
	for _, j := range r.snap.Jobs {
		g.take(j, 1)
	}
	for _, j := range soon {
		for start := r.snap.Now; start < j.Start; start++ {
			r.noneFits([]backfill.JobState{j}, g, start)
		}
	}
}

// TightOnOneSlot is [Tight], but only for pools of one slot. On several slots, when conservative
// moves its reservations forward once, a job may block another that was tried before it, and then
// move away.
func TightOnOneSlot(r *Run) {
	if len(r.snap.Slots) == 1 {
		Tight(r)
	}
}

// Filled is dc's promise: after a completion, or when a job's earliest start has come, in a round
// without arrivals, no waiting job could start now beside the other jobs' places.
func Filled(r *Run) {
	has := func(kind backfill.EventKind) bool {
		return slices.ContainsFunc(r.round.Events, func(e backfill.Event) bool { return e.Kind == kind })
	}
	if (has(backfill.Completed) || has(backfill.Released)) && !has(backfill.Submitted) && r.Driver.calm() {
		NoneFits(r)
	}
}
