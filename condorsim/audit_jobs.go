package condorsim

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

func (a *audit) arrive(r *negotiator.Report) error {
	for _, j := range r.Delta.Submitted {
		for a.came == nil && a.arrived < int(j.ID) && a.w.Jobs[a.arrived].Scavenger {
			a.arrived++ // these are not reported with the others
		}
		again := a.hasCome(j.ID) && a.w.Jobs[j.ID].comesBack()
		if a.came != nil {
			a.came[j.ID] = true
		} else if int(j.ID) != a.arrived {
			return a.violation(j.ID, "arrived out of order: %d jobs came before", a.arrived)
		}
		a.waiting++
		if again {
			a.back[j.ID] = a.now
			continue
		}
		a.arrived++
		if j.Submit != a.now {
			return a.violation(j.ID, "arrived, but it was to be submitted at %s", a.w.text(j.Submit))
		}
	}
	return nil
}

// hasCome reports whether a job has arrived.
func (a *audit) hasCome(id backfill.JobID) bool {
	if a.came != nil {
		return a.came[id]
	}
	return int(id) < a.arrived
}

func (a *audit) complete(r *negotiator.Report) error {
	for _, id := range r.Delta.Completed {
		if a.index[id] < 0 {
			return a.violation(id, "ended, but did not run")
		}
		begun := a.holding[a.index[id]].begun
		ran, saved := a.now-begun, a.savedOf(id)
		if want := a.w.Jobs[id].runsFrom(begun) - saved; ran != want {
			return a.violation(id, "ended after %d s, but was to run for %d s", ran, want)
		}
		h := a.release(id)
		for k, amount := range a.held(h) {
			a.done[k] += float64(amount) * float64(saved+ran)
		}
	}
	return nil
}

// requeue updates the audit's books with the jobs that were removed and those that went back to the
// queue. No report lists the latter: they ran before the cycle and now do not run or have been
// started again. Their lost runs count as work, but not as work done, but for what checkpoints saved.
func (a *audit) requeue(r *negotiator.Report) {
	d := &r.Delta
	for _, id := range d.Removed {
		if a.index[id] >= 0 {
			a.release(id)
		} else {
			a.leave(id, a.w.Jobs[id].Submit)
		}
	}
	if len(d.SlotsUp)+len(d.SlotsDown)+len(d.StartFailed) == 0 {
		return
	}
	for _, h := range a.holding {
		if h.job == nil {
			continue
		}
		again := slices.ContainsFunc(r.Decision.Started, func(s backfill.Started) bool { return s.Job.ID == h.job.ID })
		pinned := isPinned(r.State, h.job.ID) // it made way, and others are to make way for it
		if again || pinned || !r.State.IsRunning(h.job.ID) {
			a.save(h.job.ID)
			a.release(h.job.ID)
			a.back[h.job.ID] = a.now
			a.waiting++
		}
	}
}

func (a *audit) start(r *negotiator.Report) error {
	for i := range r.Decision.Started {
		s := &r.Decision.Started[i]
		id := s.Job.ID
		o := &a.outcomes[id]
		switch {
		case !a.hasCome(id):
			return a.violation(id, "started before it was submitted, at %s", a.w.text(a.w.Jobs[id].Submit))
		case a.index[id] >= 0:
			return a.violation(id, "started a second time")
		case !o.Promised || a.broken[id] || r.Decision.Lifted > 0 || slices.Contains(r.Delta.Displaced, id):
		case a.now > o.Guarantee:
			return a.violation(id, "started, but was promised to start by %s, and that is not recorded as broken",
				a.w.text(o.Guarantee))
		case s.Guarantee != o.Guarantee:
			return a.violation(id, "was promised to start by %s, which became %s", a.w.text(o.Guarantee), a.w.text(s.Guarantee))
		}
		if err := a.checkTimes(s.Job, r.State); err != nil {
			return err
		}
		a.leave(id, s.Job.Submit)
		a.slots = r.State.Slots()
		if err := a.checkWhole(s); err != nil {
			return err
		}
		if err := cmp.Or(a.hold(s), a.take(id), a.keepsQuotas(s, false)); err != nil {
			return err
		}
	}
	return nil
}

// leave takes a job out of the queue and adds its wait, which began when it came back to the queue,
// or else at the time since.
func (a *audit) leave(id backfill.JobID, since backfill.Time) {
	if len(a.back) > 0 {
		if back, again := a.back[id]; again {
			since = back
			delete(a.back, id)
		}
	}
	a.waiting--
	a.waits += uint64(a.now - since)
}

// hold enters in the audit's books what a started job takes of each slot. It is a violation if a
// slot then has more in use than its capacity.
func (a *audit) hold(s *backfill.Started) error {
	for _, chunks := range s.Placement {
		for int(chunks.Slot) >= len(a.used) {
			a.used = append(a.used, make(backfill.Vector, len(a.use)))
		}
		used := a.used[chunks.Slot]
		used.AddScaled(a.takes(s.Job, chunks.Slot), int64(chunks.Count))
		if slot := a.slots[chunks.Slot]; !used.Within(slot.Capacity) && !a.w.Jobs[s.Job.ID].runsAnyway() {
			return a.violation(s.Job.ID, "started on slot %s, of which %v is now in use and %v there", slot.Name,
				used, slot.Capacity)
		}
		a.use.AddScaled(a.takes(s.Job, chunks.Slot), int64(chunks.Count))
	}
	if n := len(a.free); n > 0 {
		a.index[s.Job.ID], a.free = a.free[n-1], a.free[:n-1]
	} else {
		a.index[s.Job.ID], a.holding = int32(len(a.holding)), append(a.holding, holding{})
	}
	a.holding[a.index[s.Job.ID]] = holding{job: s.Job, at: s.Placement, since: a.now, begun: a.now}
	return nil
}

// take enters in the audit's books what a started job takes of limits. It is a violation if it is more
// than a limit has.
func (a *audit) take(id backfill.JobID) error {
	for _, t := range a.w.Jobs[id].Takes {
		a.taken[t.Limit] += t.Amount
		for _, l := range a.w.Limits {
			if l.Name == t.Limit && a.taken[l.Name] > l.Height {
				return a.violation(id, "started, and of limit %s %v is now in use, which is %v", l.Name,
					inUnits(a.taken[l.Name]), inUnits(l.Height))
			}
		}
	}
	return nil
}

// release removes from the audit's books a job that ran until now, adds what it used to the work,
// and returns what it held.
func (a *audit) release(id backfill.JobID) holding {
	h := &a.holding[a.index[id]]
	former, job, ran := *h, h.job, uint64(a.now-h.since)
	if h.begun == backfill.Forever {
		delete(a.scavengers.late, id)
	} else {
		a.occupies(*h, -1)
	}
	for _, chunks := range h.at {
		takes := a.takes(job, chunks.Slot)
		a.used[chunks.Slot].AddScaled(takes, -int64(chunks.Count))
		a.use.AddScaled(takes, -int64(chunks.Count))
		for k, amount := range takes {
			a.work[k] += uint64(amount) * uint64(chunks.Count) * ran
		}
	}
	for _, t := range a.w.Jobs[id].Takes {
		a.taken[t.Limit] -= t.Amount
	}
	a.groups.ends(id)
	delete(a.due, id)
	a.free = append(a.free, a.index[id])
	*h, a.index[id] = holding{}, -1
	return former
}

// checkTimes checks the run times that a job is planned with against the one that it requests.
// Predictions may be shorter, but must not change when the job is ended, and a policy that gives
// guarantees must not use them.
func (a *audit) checkTimes(j *backfill.Job, s *backfill.State) error {
	w := &a.w.Jobs[j.ID]
	requested := cmp.Or(w.Estimate, a.unknown) + a.slack
	if counts := cmp.Or(j.Limit, j.Estimate); (a.beyond || !w.Enforced) && w.Limit == 0 {
		requested = max(requested, counts) // a user's word may count for more than it says
	}
	limit := requested
	if w.Limit > 0 {
		limit = w.Limit + a.slack
	}
	running := cmp.Or(j.Running, j.Estimate)
	_, guarantees := s.Policy()
	switch {
	case j.Estimate > requested || running > requested:
		return a.violation(j.ID, "was taken to run for %d s, then for %d s, but requests %d", j.Estimate,
			running, requested)
	case cmp.Or(j.Limit, j.Estimate) != limit:
		return a.violation(j.ID, "was to be ended after %d s, but requests %d", cmp.Or(j.Limit, j.Estimate), limit)
	case guarantees && (j.Estimate != requested || running != requested):
		return a.violation(j.ID, "was taken to run for %d s, then for %d s, but a guarantee must rest on the %d that "+
			"it requests", j.Estimate, running, requested)
	default:
		return nil
	}
}
