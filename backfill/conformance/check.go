package conformance

import (
	"maps"
	"reflect"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Check tests the state after the last round, as its snapshot shows it, against the rules and the
// given promises, and records the findings.
func (r *Run) Check(promises ...Promise) {
	r.before, r.snap = r.snap, r.Host.State.Snapshot()
	r.follow()
	r.capacity()
	r.released()
	r.windows()
	r.lasts()
	r.bundles()
	r.promised()
	r.head()
	r.restores()
	for _, kept := range promises {
		kept(r)
	}
}

// follow updates the run's own list of which job runs where, and reports a difference from the
// state's. It also checks the keys, and that jobs held because they fit nowhere really do not fit
// the empty pool.
func (r *Run) follow() {
	for _, e := range r.round.Events {
		switch e.Kind {
		case backfill.Completed, backfill.Removed, backfill.StartFailed:
			delete(r.runs, e.JobID)
		case backfill.SlotLost:
			for id, at := range r.runs {
				if slices.ContainsFunc(at, func(on backfill.Chunks) bool { return on.Slot == e.Slot.ID }) {
					delete(r.runs, id)
				}
			}
		case backfill.SlotChanged:
			r.shrunk = r.shrunk || !r.Driver.calm()
		default:
		}
	}
	r.shrunk = r.shrunk || len(r.round.Rows) > 0
	r.found()
	for _, s := range r.decision.Started {
		if _, runs := r.runs[s.Job.ID]; runs {
			r.find(Booked, s.Job, "job %d is started twice", s.Job.ID)
		}
		r.runs[s.Job.ID] = s.Placement
	}
	running := map[backfill.JobID]backfill.Placement{}
	for _, j := range r.snap.Jobs {
		if j.Running {
			running[j.Job.ID] = j.Placement
		}
	}
	r.held()
	if len(r.round.Candidates)+len(r.round.Rows) == 0 { // else the host may have computed other keys in between
		r.keys()
	}
	if !maps.EqualFunc(r.runs, running, backfill.Placement.Equal) {
		r.find(Booked, nil, "%v run, and by what was started and has ended it is %v", running, r.runs)
	}
}

// found notes the jobs that the round says run, or have their start at once on slots that others
// leave.
func (r *Run) found() {
	for _, e := range r.round.Events {
		switch e.Kind {
		case backfill.Found:
			r.runs[e.Job.ID], r.shrunk = e.Placement, true
			delete(r.guarantees, e.Job.ID)
		case backfill.Pinned:
			if slices.ContainsFunc(r.snap.Jobs, func(j backfill.JobState) bool { return j.Job.ID == e.JobID && j.Pinned }) {
				r.runs[e.JobID], r.shrunk = e.Placement, true
				delete(r.guarantees, e.JobID)
			}
		default:
		}
	}
}

// held reports jobs that are held because they fit nowhere, and fit the empty pool.
func (r *Run) held() {
	empty := newGrid(endless(r.snap), 1)
	for _, j := range r.snap.Jobs {
		if backfill.NeverFits(j.Held) && empty.fits(j.Job, r.snap.Now) {
			r.find(Booked, j.Job, "job %d is held because it fits nowhere, and it fits the empty pool", j.Job.ID)
		}
	}
}

// keys reports jobs whose key in the queue's order is not the one that the round gave them.
func (r *Run) keys() {
	given := map[backfill.JobID]float64{}
	for _, k := range r.round.Keys {
		given[k.Job] = k.Key
	}
	for _, e := range r.round.Events {
		if e.Kind == backfill.Changed || e.Kind == backfill.Found {
			delete(given, e.Job.ID)
		}
	}
	for _, j := range r.snap.Jobs {
		if key, ok := given[j.Job.ID]; ok && key != j.Key {
			r.find(Booked, j.Job, "job %d has the key %v in the queue's order, and was given %v", j.Job.ID, j.Key, key)
		}
	}
}

// capacity adds up running and planned jobs, second by second, and reports oversubscribed slots and
// rows. If a slot has shrunk or ended, the running jobs alone may use more than it has; no job may then be planned
// there that needs more of the same resource.
func (r *Run) capacity() {
	horizon := r.snap.Now
	for _, j := range r.snap.Jobs {
		horizon = max(horizon, j.End)
		for _, at := range j.Placement {
			if !r.snap.Slots[at.Slot].Up {
				r.find(Capacity, j.Job, "job %d is on slot %d, which is not there", j.Job.ID, at.Slot)
			}
		}
	}
	seconds := min(horizon-r.snap.Now, 200)
	left, unplanned := newGrid(r.snap, seconds), newGrid(r.snap, seconds)
	for _, j := range r.snap.Jobs {
		left.take(j, 1)
		if j.Running {
			unplanned.take(j, 1)
		}
	}
	r.limits(left, unplanned)
	for i, slot := range r.snap.Slots {
		for t := range seconds {
			for k, free := range left.free[i][t] {
				planned := free != unplanned.free[i][t][k]
				if over := t >= left.until(backfill.SlotID(i)); free < 0 && (planned || !r.shrunk && !over) {
					r.find(Capacity, nil, "slot %s is oversubscribed at %d: of %v is left %v", slot.Name, r.snap.Now+t,
						slot.Capacity, left.free[i][t])
				}
			}
		}
	}
}

// released reports jobs that start, or are planned to start, before their earliest start. A job that
// was found running has started somewhere else.
func (r *Run) released() {
	for _, s := range r.decision.Started {
		if s.Job.Early(r.decision.Now) {
			r.find(Released, s.Job, "job %d starts, and may not start before %d", s.Job.ID, s.Job.Release)
		}
	}
	for _, j := range r.snap.Jobs {
		if !j.Running && j.Placement != nil && j.Job.Early(j.Start) {
			r.find(Released, j.Job, "job %d is planned for %d, and may not start before %d", j.Job.ID, j.Start,
				j.Job.Release)
		}
	}
}

// promised updates the run's own record of the guarantees, and reports starts and broken guarantees
// that contradict it.
func (r *Run) promised() {
	for _, b := range r.decision.Broken {
		if b.Cause == backfill.CauseNone || r.Driver.calm() {
			r.find(Guaranteed, b.Job, "job %d's guarantee is broken, and nothing has happened", b.Job.ID)
		}
		if r.guarantees[b.Job.ID] = b.Now; b.Now == backfill.Forever { // it is promised nothing any more
			delete(r.guarantees, b.Job.ID)
		}
	}
	if !r.snap.Guarantees {
		clear(r.guarantees)
		if len(r.decision.Broken) > 0 {
			r.find(Guaranteed, r.decision.Broken[0].Job, "a guarantee is broken, and the policy gives none")
		}
		return
	}
	r.depth()
	for _, s := range r.decision.Started {
		if latest, ok := r.guarantees[s.Job.ID]; ok && r.decision.Now > latest {
			r.find(Guaranteed, s.Job, "job %d starts after its guarantee, which was %d", s.Job.ID, latest)
		}
		delete(r.guarantees, s.Job.ID)
	}
	for _, j := range r.snap.Jobs {
		switch {
		case !j.Running:
			r.guarantee(j)
		case !j.Pinned: // it was started or found
			delete(r.guarantees, j.Job.ID)
		}
	}
}

// guarantee records the guarantee of one job that does not run, if it has one, and reports it if it
// was lost, is earlier than the planned start, or changed without having been reported as broken.
func (r *Run) guarantee(j backfill.JobState) {
	latest, known := r.guarantees[j.Job.ID]
	if !j.Promised {
		if known && j.Held == "" {
			r.find(Guaranteed, j.Job, "job %d has lost its guarantee, which was %d", j.Job.ID, latest)
		}
		delete(r.guarantees, j.Job.ID)
		return
	}
	switch {
	case j.Start > j.Guarantee:
		r.find(Guaranteed, j.Job, "job %d is planned for %d, after its guarantee, which is %d", j.Job.ID, j.Start,
			j.Guarantee)
	case known && latest != j.Guarantee:
		r.find(Guaranteed, j.Job, "job %d's guarantee changed unreported: it is %d and was %d", j.Job.ID, j.Guarantee,
			latest)
	}
	r.guarantees[j.Job.ID] = j.Guarantee
}

// head reports jobs that wait without need: a job whose planned start has come; and, if the policy
// gives no guarantees, a job at the head of the queue that fits beside the running jobs, and
// beside what is reserved for jobs before it that may not start yet.
func (r *Run) head() {
	for _, j := range r.snap.Jobs {
		if !j.Running && j.Placement != nil && j.Start <= r.snap.Now {
			r.find(Started, j.Job, "job %d is planned for %d and was not started", j.Job.ID, j.Start)
		}
	}
	if r.snap.Guarantees {
		return
	}
	queue := r.queue()
	if len(queue) == 0 {
		return
	}
	idle := r.idle(false)
	for _, j := range r.waiting() {
		if before(j, queue[0]) >= 0 {
			break
		}
		if slices.ContainsFunc(r.decision.Started, predicted) { // which may have made its reservation void
			return
		}
		idle.take(j, 1)
	}
	if idle.fits(queue[0].Job, r.snap.Now) {
		r.find(HeadStarts, queue[0].Job, "job %d at the head of the queue could start and waits", queue[0].Job.ID)
	}
}

// restores reports a difference between the state and the state restored from its snapshot, or
// between two ways to compute the idle cpus that are kept for reservations.
func (r *Run) restores() {
	state := r.Host.State
	if got, want := state.ReservedIdle(), ReservedIdle(r.snap); got != want {
		r.find(Restored, nil, "%d cpus are idle and reserved; cpu by cpu it is %d", got, want)
	}
	again, err := backfill.Restore(r.snap)
	if err != nil {
		r.find(Restored, nil, "the state as plain data makes none: %v", err)
		return
	}
	if !reflect.DeepEqual(r.snap, again.Snapshot()) {
		r.find(Restored, nil, "the state as plain data makes another one")
	}
	for _, row := range r.snap.Rows {
		got, want := again.Profile().Rows().FreeAt(row.ID, r.snap.Now), state.Profile().Rows().FreeAt(row.ID, r.snap.Now)
		if got != want {
			r.find(Restored, nil, "of limit %s %d are free; made again from its plain data, %d", row.Name, want, got)
		}
	}
	for _, slot := range r.snap.Slots {
		for t := r.snap.Now; t < r.snap.Now+40; t += 3 {
			if slot.Up && !slices.Equal(state.Free(slot.ID, t), again.Free(slot.ID, t)) {
				r.find(Restored, nil, "on slot %s %v is free at %d; made again from its plain data, %v", slot.Name,
					state.Free(slot.ID, t), t, again.Free(slot.ID, t))
			}
		}
	}
}
