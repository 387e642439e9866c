package condorsim

import (
	"cmp"
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// makeWay enters in the audit's books the jobs that others are to make way for. Until they have, the jobs
// wait and the others run. A job whose slot is lost meanwhile waits on.
func (a *audit) makeWay(r *negotiator.Report) {
	for i := range r.Preempted {
		a.pinned[r.Preempted[i].Job] = true
		for _, v := range r.Preempted[i].Victims {
			retires := max(a.now, a.holding[a.index[v.Job]].begun+a.w.Preemption.Retirement)
			a.due[v.Job] = max(a.now+1, retires+a.w.Preemption.Vacate)
		}
	}
	for id := range a.pinned {
		if !isPinned(r.State, id) {
			delete(a.pinned, id)
		}
	}
}

// isPinned reports whether a job has been given a place that others have yet to leave.
func isPinned(s *backfill.State, id backfill.JobID) bool {
	reason, _ := s.Reason(id)
	return reason.Why == backfill.TakesOver
}

// takeOver enters in the books the jobs that have taken over from others. It is a violation if nobody was to
// make way for one, if it begins after its promised start and that is not recorded as broken, or if its place
// is not free.
func (a *audit) takeOver(r *negotiator.Report) error {
	for i := range r.Delta.Found {
		found := &r.Delta.Found[i]
		id := found.Job.ID
		if a.w.Jobs[id].runsAnyway() {
			if err := a.runsOn(id, r); err != nil {
				return err
			}
			continue
		}
		o := &a.outcomes[id]
		switch {
		case a.index[id] >= 0:
			return a.violation(id, "takes over, but runs already")
		case !a.pinned[id]:
			return a.violation(id, "runs, but nobody was to make way for it")
		case o.Promised && !a.broken[id] && a.now > o.Guarantee:
			return a.violation(id, "takes over, but was promised to start by %s, and that is not recorded as broken",
				a.w.text(o.Guarantee))
		}
		delete(a.pinned, id)
		job := r.State.Job(id)
		if job == nil {
			return a.violation(id, "took over and is gone")
		}
		a.leave(id, job.Submit)
		a.slots = r.State.Slots()
		at := backfill.Placement{{Slot: a.slotNamed(found.Placement[0].Slot.Name), Count: 1}}
		s := &backfill.Started{Job: job, Placement: at}
		if err := cmp.Or(a.hold(s), a.take(id), a.keepsQuotas(s, true)); err != nil {
			return err
		}
		a.occupies(a.holding[a.index[id]], 1)
	}
	return nil
}

// early returns a violation if a job has made way for nobody, or before it had retired and vacated.
func (a *audit) early(r *negotiator.Report) error {
	for _, id := range r.Delta.Displaced {
		due, known := a.due[id]
		switch {
		case !known:
			return a.violation(id, "made way, but nobody was to have its place")
		case a.now < due:
			return a.violation(id, "made way, but had until %s", a.w.text(due))
		}
	}
	return nil
}

// left returns a violation if a job still runs that must have made way by now: once it has retired and
// vacated.
func (a *audit) left() error {
	if len(a.due) == 0 {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(a.due)) {
		if a.due[id] <= a.now {
			return a.violation(id, "still runs, but was to make way by %s", a.w.text(a.due[id]))
		}
	}
	return nil
}

// save enters in the books what the checkpoints of a run have saved that ends now without counting.
func (a *audit) save(id backfill.JobID) {
	if a.saved == nil {
		return
	}
	every := a.w.Preemption.Checkpoint
	a.saved[id] += max(0, a.now-a.holding[a.index[id]].begun) / every * every
}

// savedOf returns what a job has saved.
func (a *audit) savedOf(id backfill.JobID) backfill.Time {
	if a.saved == nil {
		return 0
	}
	return a.saved[id]
}

// slotNamed returns the slot of a name, which is there.
func (a *audit) slotNamed(name string) backfill.SlotID {
	i := slices.IndexFunc(a.slots, func(s backfill.Slot) bool { return s.Name == name })
	return backfill.SlotID(i) //nolint:gosec // there are fewer
}
