package backfill

import (
	"cmp"
	"slices"
)

// invisible reports whether an event, already applied, leaves nothing to decide: the job that it
// submits, changes or releases is held, and gave no reservation back.
func (c *Cycle) invisible(e *Event) bool {
	if e.Kind == Released {
		return c.s.jobs.Find(e.JobID).phase == held
	}
	if e.Kind != Submitted && e.Kind != Changed {
		return false
	}
	return !e.Freed && c.s.jobs.Find(e.Job.ID).phase == held
}

func (c *Cycle) apply(e *Event) {
	switch e.Kind {
	case PolicyChanged:
		c.changePolicy(e)
	case SlotAdded, SlotChanged:
		c.changeSlot(e)
	case SlotLost:
		c.loseSlot(e)
	case Completed:
		e.Freed = c.s.jobs.Find(e.JobID).end > c.round.Now
		c.set(e.JobID, &record{})
	case StartFailed:
		c.failStart(e)
	case Found:
		c.find(e)
	case EstimateChanged:
		c.changeEnd(e)
	case Removed:
		r := c.s.jobs.Find(e.JobID)
		e.Freed = r.placement != nil && r.end > c.round.Now
		c.set(e.JobID, &record{})
	case Changed:
		c.change(e)
	case Submitted:
		c.submit(e)
	case Released:
		c.letStart(e.JobID)
	case Wake:
		e.Freed = len(c.grownRows) > 0
	case EndsSooner:
		c.endSooner(e)
	case Pinned:
		c.pin(e)
	}
}

// changeSlot brings a slot up or changes its capacity or its end. Held jobs that fit again return to the
// queue, and waiting jobs that no longer fit even an empty pool are held.
func (c *Cycle) changeSlot(e *Event) {
	adds := c.addsRoom(e)
	before, wasUp := c.setSlot(e.Slot, true)
	wider := !wasUp || !e.Slot.Capacity.Within(before.Capacity)
	grew := wider || e.Slot.until() > before.until()
	var jobs []planned
	if wasUp && before.End != e.Slot.End {
		slots, rows := c.moveEnd(before, e.Slot)
		grew = grew || len(slots) > 1 // jobs that end sooner give back also what they have elsewhere, and of rows
		jobs = c.placeAgain(slots, rows, endMoved(before, e.Slot))
	} else {
		jobs = c.displace([]SlotID{e.Slot.ID}, nil, CauseSlotChanged)
	}
	e.Freed = grew || len(jobs) > 0
	if wasUp && !before.Capacity.Within(e.Slot.Capacity) {
		c.holdOutgrown(e.Slot.ID)
	}
	if wider { // whatever the ends are, the same jobs fit an empty pool
		jobs = append(jobs, c.returnHeld()...)
	}
	if adds {
		e.Freed = e.Freed || c.added
		if c.added = e.Freed && c.applied < len(c.round.Events) && c.addsRoom(&c.round.Events[c.applied]); c.added {
			e.Freed = false
		}
	}
	e.place(c, jobs)
}

// addsRoom reports whether an event that is to be applied next brings a slot or only lets one grow.
// The last of such events in a row counts as the one that freed the room of them all: policies plan
// anew once, when all of it is there.
func (c *Cycle) addsRoom(e *Event) bool {
	switch e.Kind {
	case SlotAdded:
		return true
	case SlotChanged:
		if !c.s.profile.Up(e.Slot.ID) {
			return true
		}
		before := c.s.slots[e.Slot.ID]
		return before.Capacity.Within(e.Slot.Capacity) && before.until() <= e.Slot.until()
	default:
		return false
	}
}

// place adds to the event's Displaced those of the given jobs that wait, so that the policy plans
// them anew. They are sorted by planned start (a past one counts as now), then by submit time and
// queue position.
func (e *Event) place(c *Cycle, jobs []planned) {
	slices.SortFunc(jobs, func(a, b planned) int {
		return cmp.Or(cmp.Compare(max(a.at, c.round.Now), max(b.at, c.round.Now)), Compare(a.job, b.job))
	})
	for _, p := range jobs {
		if r, _ := c.s.jobs.Get(p.job.ID); r.phase == waiting {
			e.Displaced = append(e.Displaced, p.job)
		}
	}
}

// holdOutgrown holds the waiting jobs that no longer fit even an empty pool, after the slot was
// lost or shrank.
func (c *Cycle) holdOutgrown(slot SlotID) {
	for j := range c.Waiting() {
		r := c.s.jobs.Find(j.ID)
		if r.placement != nil || !c.s.profile.MayUse(c.s.Request(j), slot) {
			continue // it has a place, so it fits; or it could not use the slot anyway
		}
		next := *r
		if c.holdIfItNeverFits(&next); next.phase == held {
			c.set(j.ID, &next)
		}
	}
}

// returnHeld puts back into the queue, and returns, the jobs that were held because they fitted
// nowhere and that fit an empty pool now.
func (c *Cycle) returnHeld() (returned []planned) {
	c.s.held.Scan(func(q queued) bool {
		r, _ := c.s.jobs.Get(q.job.ID)
		if NeverFits(r.hold) && c.s.profile.EverFits(c.s.Request(r.job)) {
			returned = append(returned, planned{c.round.Now, r.job})
		}
		return true
	})
	for _, p := range returned {
		r, _ := c.s.jobs.Get(p.job.ID)
		next := r
		next.phase, next.hold, next.lifted = waiting, "", c.lift(CauseSlotChanged)
		c.set(p.job.ID, &next)
	}
	return returned
}

func (c *Cycle) submit(e *Event) {
	r := record{job: e.Job, key: e.Key, line: e.line, alone: c.s.queue.Len() == 0}
	c.holdIfItNeverFits(&r)
	c.set(e.Job.ID, &r)
}

func (c *Cycle) change(e *Event) {
	old, _ := c.s.jobs.Get(e.Job.ID)
	r := record{job: e.Job, key: e.Key, line: e.line, alone: old.alone, promised: old.promised, guarantee: old.guarantee}
	r.lifted = c.lift(CauseJobChanged)
	if e.LimitChanged {
		r.lifted = c.lift(CauseLimitChanged)
	}
	e.Freed = old.placement != nil
	c.holdIfItNeverFits(&r)
	c.set(e.Job.ID, &r)
	if r.phase != waiting {
		return
	}
	if c.s.keepsStart(&old, r.job) && old.start >= c.round.Now &&
		c.s.profile.Fits(c.s.Request(r.job), old.placement, old.start) {
		r.placement, r.start, r.end, r.lifted, e.Freed = old.placement, old.start, old.end, old.lifted, false
		c.set(e.Job.ID, &r)
		return
	}
	e.Displaced = []*Job{r.job}
}

// holdIfItNeverFits changes the record to held if not even an empty pool could run its job, so that
// the job does not block others. The caller sets the record. The job's guarantee ends with the
// round, unless another event of the round brings the job back.
func (c *Cycle) holdIfItNeverFits(r *record) {
	if c.s.profile.EverFits(c.s.Request(r.job)) {
		return
	}
	r.phase, r.hold, r.lifted = held, c.s.neverFits(r.job), CauseNone
	c.held = append(c.held, HeldJob{Job: r.job, Reason: r.hold})
}

// changePolicy makes another policy the active one, and settles what becomes of the plan so far. It
// lists as displaced, in order of jobs, those without a reservation. A plan that goes on counts as
// freed, as it may have room that the new policy would not leave.
func (c *Cycle) changePolicy(e *Event) {
	policy, gave := c.s.policy, c.s.guarantees
	c.onUndo(func() {
		c.s.policy, c.s.guarantees = policy, gave
		c.s.listBeyond()
		c.s.listShares()
	})
	c.s.policy, c.s.guarantees = e.Policy, e.Guarantees
	c.s.listBeyond()
	c.s.listShares()
	c.s.queue.forgetPlanned() // until the new policy asks for them
	c.setFreed(freedLog{})    // the new policy has to ask for a log of its own
	e.Freed = e.Guarantees && c.s.planned.Len() > 0
	for j := range c.Waiting() {
		c.inherit(j, gave)
		if c.s.jobs.Find(j.ID).placement == nil {
			e.Displaced = append(e.Displaced, j)
		}
	}
	slices.SortFunc(e.Displaced, Compare)
}

// inherit settles what the policy that takes over has of a waiting job from the one before it, of
// which gave says whether it gave guarantees. Between two that do, a reservation and its promise
// stay. A reservation of one that does not is no promise: it is given up, and the job is to be
// promised a start as at its arrival. If the new policy gives none, the promise is lifted and the
// reservation stays.
func (c *Cycle) inherit(j *Job, gave bool) {
	next, _ := c.s.jobs.Get(j.ID)
	switch {
	case !c.s.guarantees && next.promised:
		next.promised, next.guarantee = false, 0
		c.lifted++
	case c.s.guarantees && !gave:
		next.promised, next.guarantee = false, 0
		next.placement, next.start, next.end = nil, 0, 0
	case c.s.guarantees && next.placement == nil: // beyond the depth
	default:
		return
	}
	next.lifted = c.lift(CausePolicyChanged)
	c.set(j.ID, &next)
}

// loseSlot takes a slot out of the pool: jobs that run on it go back to the queue, and reservations
// on it become void.
func (c *Cycle) loseSlot(e *Event) {
	requeued := c.jobsOn([]SlotID{e.Slot.ID}, running)
	var jobs []planned
	for _, r := range requeued {
		jobs = append(jobs, planned{r.start, c.requeue(&r, CauseSlotLost)})
	}
	cause := CauseSlotLost
	if before, _ := c.setSlot(e.Slot, false); before.until() <= c.round.Now {
		cause = CauseSlotEnds
	}
	jobs = append(jobs, c.displace([]SlotID{e.Slot.ID}, nil, cause)...)
	e.Freed = len(jobs) > 0
	c.holdOutgrown(e.Slot.ID)
	for _, r := range requeued {
		c.holdRequeued(r.job)
	}
	e.place(c, jobs)
}

// holdRequeued holds a job that came back to the queue if its candidates cannot run it. They may
// have changed while it ran, when they did not matter.
func (c *Cycle) holdRequeued(j *Job) {
	next, _ := c.s.jobs.Get(j.ID)
	if next.phase != waiting {
		return
	}
	if c.holdIfItNeverFits(&next); next.phase == held {
		c.set(j.ID, &next)
	}
}

// failStart undoes a start that failed, or a planned start that passed unused.
func (c *Cycle) failStart(e *Event) {
	r, _ := c.s.jobs.Get(e.JobID)
	if r.placement == nil || r.phase == waiting && r.start >= c.round.Now && r.lifted != CauseNone {
		return // an event of this round took its slot before, and it may have another place
	}
	if c.isOusted(&r) {
		c.oust(&r)
		return
	}
	e.Freed = r.end > c.round.Now
	cause := CauseStartFailed
	switch {
	case r.phase == waiting:
		cause = CauseStartLate
	case r.yields:
		cause = CausePreempted
		r.promised, r.guarantee = false, 0 // it started, so that promise was kept
	case e.SlotEnded:
		cause = CauseSlotEnded
	}
	j := c.requeue(&r, cause)
	c.holdRequeued(j)
	e.place(c, []planned{{c.round.Now, j}})
}

// find records that a job runs at the event's place, whatever the state said of it before.
// Reservations in its way become void. If the job had a guarantee and started later, the guarantee
// is reported as broken.
func (c *Cycle) find(e *Event) {
	old, _ := c.s.jobs.Get(e.Job.ID)
	if (old.in(waiting) || old.pinned) && old.promised && c.s.guarantees && e.Start > old.guarantee {
		c.broken = append(c.broken, Broken{
			Job: e.Job, Promised: old.guarantee, Now: e.Start,
			Cause: c.lift(CauseStartLate),
		})
	}
	next := record{
		job: e.Job, phase: running, placement: e.Placement, start: e.Start,
		end: c.s.untilSlotEnds(e.Job, e.Placement, e.End),
		key: e.Key, line: e.line, alone: old.alone, promised: old.promised, guarantee: old.guarantee,
	}
	c.set(e.Job.ID, &next)
	void := c.displace(slotsOf(e.Placement), rowsOf(e.Job.Takes), CauseSlotChanged)
	e.Freed = old.placement != nil && old.end > c.round.Now && !next.covers(&old) || len(void) > 0
	e.place(c, void)
}

// covers reports whether a record's place includes the job's old one: the same slots, until the
// same end or later, with at least as much on each and of each row.
func (r *record) covers(old *record) bool {
	return r.end >= old.end && r.placement.Equal(old.placement) &&
		(r.job.Whole || !old.job.Whole && old.job.Request.Within(r.job.Request)) &&
		takesWithin(old.job.Takes, r.job.Takes)
}

// changeEnd moves a running job's expected end. Reservations in the way of the new end become void.
func (c *Cycle) changeEnd(e *Event) {
	r, _ := c.s.jobs.Get(e.JobID)
	if r.phase != running { // an event of this round took its slot before
		return
	}
	next := r
	next.end = c.s.untilSlotEnds(r.job, r.placement, e.End)
	c.set(e.JobID, &next)
	void := c.displace(slotsOf(r.placement), rowsOf(r.job.Takes), CauseOverrun)
	e.Freed = next.end < r.end || len(void) > 0
	e.place(c, void)
}

// requeue puts a job back into the queue without a place, and lifts its guarantee for the given
// cause. If the job came back in this round, why it did stays the cause: the event takes a place from
// it that was too late anyway. It returns the job.
func (c *Cycle) requeue(r *record, cause Cause) *Job {
	if back := r.lifted == CauseStartFailed || r.lifted == CauseSlotEnded; back && r.start > r.guarantee {
		cause = r.lifted
	}
	next := *r
	next.phase, next.placement, next.start, next.end = waiting, nil, 0, 0
	next.pinned, next.yields = false, false
	next.lifted, next.promised = c.lift(cause), r.promised && c.s.guarantees
	if r.phase == running {
		next.alone = c.s.queue.Len() == 0
	}
	c.set(r.job.ID, &next)
	return r.job
}

// lift returns what to record as the cause when an event lifts a guarantee: the given cause, or
// CauseNone if the active policy gives no guarantees.
func (c *Cycle) lift(cause Cause) Cause {
	if !c.s.guarantees {
		return CauseNone
	}
	return cause
}

func (c *Cycle) setSlot(slot Slot, up bool) (before Slot, wasUp bool) {
	known := int(slot.ID) < len(c.s.slots)
	before, wasUp = c.s.setSlot(slot, up)
	c.onUndo(func() {
		if !known {
			c.s.dropLastSlot()
			return
		}
		c.s.setSlot(before, true)
		if !wasUp {
			c.s.setSlot(before, false)
		}
	})
	return before, wasUp
}
