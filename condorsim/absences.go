package condorsim

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/input/recorded"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// This file is about what records know of jobs and slots besides their arrivals: jobs that run already when the
// simulation begins, jobs that leave the queue while they wait, for a while or for good, and slots that come, change
// and go.

// Stray is what a record knows of a job besides its arrival.
type Stray struct {
	// Away is when it is not in the queue after its arrival, by time, unless it runs then. One that runs when it leaves
	// for good ends then.
	Away []recorded.Absence
	// Places are where it runs from its arrival on, whatever is decided; nil: it waits.
	Places negotiator.Placement
}

func (j Job) away() []recorded.Absence {
	if j.Stray == nil {
		return nil
	}
	return j.Stray.Away
}

// runsAnyway reports whether the job runs from its arrival on.
func (j Job) runsAnyway() bool { return j.Stray != nil && j.Stray.Places != nil }

// strays reports whether some jobs leave the queue while they wait, or run from the beginning on.
func (w *Workload) strays() bool {
	return slices.ContainsFunc(w.Jobs, func(j Job) bool { return j.Stray != nil })
}

// comesBack reports whether some job leaves the queue and comes back.
func (w *Workload) comesBack() bool { return slices.ContainsFunc(w.Jobs, Job.comesBack) }

func (j Job) comesBack() bool { return len(j.away()) > 0 && j.away()[0].To != backfill.Forever }

// lastArrival returns when a job came into the queue the last time by its record, or its submit time.
func (j Job) lastArrival() backfill.Time {
	at := j.Submit
	for _, a := range j.away() {
		if a.To != backfill.Forever {
			at = a.To
		}
	}
	return at
}

// presence is where a job is as far as absences need it.
type presence uint8

const (
	isToCome presence = iota
	isWaiting
	isRunning
	isAway
	isOver
)

// absences are when jobs leave the queue that wait then, and when they come back.
type absences struct {
	due   []absence // by time, then by job
	where []presence
}

// absence is an instant at which a job leaves the queue, or comes back.
type absence struct {
	at    backfill.Time
	job   backfill.JobID
	comes bool
}

// newAbsences returns those of a workload; nil: there are none.
func newAbsences(w *Workload) *absences {
	var a absences
	for i := range w.Jobs {
		for _, away := range w.Jobs[i].away() {
			a.due = append(a.due, absence{away.From, backfill.JobID(i), false})
			if away.To != backfill.Forever {
				a.due = append(a.due, absence{away.To, backfill.JobID(i), true})
			}
		}
	}
	if a.due == nil {
		return nil
	}
	slices.SortStableFunc(a.due, func(x, y absence) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.job, y.job)) })
	a.where = make([]presence, len(w.Jobs))
	return &a
}

// set notes where jobs are.
func (a *absences) set(where presence, jobs ...backfill.JobID) {
	if a == nil {
		return
	}
	for _, id := range jobs {
		a.where[id] = where
	}
}

// next returns when a job may leave or come back next; [backfill.Forever]: none does.
func (a *absences) next() backfill.Time {
	if a == nil {
		return backfill.Forever
	}
	for len(a.due) > 0 && a.where[a.due[0].job] == isOver {
		a.due = a.due[1:]
	}
	if len(a.due) == 0 {
		return backfill.Forever
	}
	return a.due[0].at
}

// leave adds to the delta the jobs that leave the queue by now, and those that come back. Their waits begin anew; in the
// queue they are where they were.
func (p *SimulatedPool) leave(d *negotiator.Delta) {
	a := p.absences
	for a.next() <= d.Now {
		turn := a.due[0]
		a.due = a.due[1:]
		switch j := p.w.Jobs[turn.job]; {
		case !turn.comes && a.where[turn.job] == isWaiting:
			d.Removed = append(d.Removed, turn.job)
			a.where[turn.job] = isAway
			if !j.returns(turn.at) {
				a.where[turn.job] = isOver
				p.done++
				p.ended([]backfill.JobID{turn.job})
			}
		case turn.comes && a.where[turn.job] == isAway:
			d.Submitted = append(d.Submitted, j.Job) // in its place of before
			moved := *j.Job
			moved.Submit = d.Now // its wait begins anew
			p.w.Jobs[turn.job].Job = &moved
			a.where[turn.job] = isWaiting
		}
	}
}

// returns reports whether a job comes back that leaves the queue at an instant.
func (j Job) returns(left backfill.Time) bool {
	return slices.ContainsFunc(j.away(), func(a recorded.Absence) bool { return a.From <= left && left < a.To && a.To != backfill.Forever })
}

// runsOn adds to the delta a job that runs from its arrival on.
func (p *SimulatedPool) runsOn(d *negotiator.Delta, j Job) {
	d.Found = append(d.Found, negotiator.Running{Job: j.Job, Placement: j.Stray.Places, Start: d.Now})
	p.absences.set(isRunning, j.ID)
	p.start(negotiator.Match{Job: j.Job, Placement: j.Stray.Places})
}

// removed records that a job was removed: it was given up, or it has left the queue by its record.
func (r *Result) removed(id backfill.JobID, now backfill.Time) {
	o, j := &r.Outcomes[id], r.Workload.Jobs[id]
	if r.pool == nil || !slices.ContainsFunc(j.away(), func(a recorded.Absence) bool { return a.From <= now && now < a.To }) {
		o.Held = GivenUp
		return
	}
	*o = o.kept()
	o.Promised, o.Guarantee = false, 0
	if !j.returns(now) {
		o.Held = LeftQueue
	}
}

// runsOn enters in the audit's books a job that runs from its arrival on.
func (a *audit) runsOn(id backfill.JobID, r *negotiator.Report) error {
	if a.index[id] >= 0 || a.came[id] {
		return a.violation(id, "runs from its arrival on, but has arrived before")
	}
	a.came[id] = true
	a.arrived++
	for run := range r.State.Running() {
		if run.Job.ID != id {
			continue
		}
		a.slots = r.State.Slots()
		s := &backfill.Started{Job: run.Job, Placement: run.Placement}
		if err := cmp.Or(a.hold(s), a.take(id)); err != nil {
			return err
		}
		a.occupies(a.holding[a.index[id]], 1)
		return nil
	}
	return a.violation(id, "is said to run from its arrival on, and does not")
}

// nextChange returns when a slot comes, changes or goes next; [backfill.Forever]: none does.
func (o *outages) nextChange() backfill.Time {
	if len(o.changes) == 0 {
		return backfill.Forever
	}
	return o.changes[0].At
}

// change has slots come, change and go by now.
func (o *outages) change(now backfill.Time) {
	for o.nextChange() <= now {
		c := o.changes[0]
		o.changes = o.changes[1:]
		s := &o.slots[c.Index]
		if s.absent = c.Slot == nil; !s.absent {
			s.slot, s.drained, s.changed = c.Slot, nil, true
		}
		o.touched = append(o.touched, c.Index)
	}
}
