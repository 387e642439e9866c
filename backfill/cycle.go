package backfill

import (
	"iter"
	"slices"
)

// Cycle is one round of scheduling, and all that most policies need: the state as the last accepted
// decision left it, the events since then, which [Cycle.Next] applies one by one, and the actions
// with which a policy answers. Until the policy takes its event, a job that completes now still holds
// its place, and a job that arrives now is absent.
//
// A policy takes the events, asks about the jobs of [Cycle.Queue], and acts: with [Cycle.Start] and
// [Cycle.Reserve] in most cases. The details of the state are in [Cycle.State]; what only makes a
// policy faster is in [Cycle.Fast].
//
// Each action is checked when it is called. The first impossible one makes the cycle fail: it and
// all later actions do nothing, and [Transaction.Close] refuses the whole decision. A cycle must
// not be used after it was closed.
type Cycle struct {
	s       *State
	round   Round
	before  Time // the state's time before the cycle was opened
	applied int  // events taken
	actions []Action
	acted   int // slots in the placements of all actions
	started []Started
	// fromPlan counts the started jobs that had reservations.
	fromPlan   int
	held       []HeldJob
	broken     []Broken
	lifted     int // see Decision.Lifted
	undo       []change
	olds       []record // the latest old records of undo, which points to them
	taken      int      // length of undo before the last call of Next
	formerRows []Row    // if the round changes some: the rows as they were
	grownRows  []Take   // that the round has made higher, by how much
	sawEnds    bool     // some slot had an end before one of the events was applied
	added      bool     // the last event freed room that counts as freed by the next one, see addsRoom
	makesWay   struct { // what events gave back and displaced that counts with a later one, see preempted
		freed bool
		void  []planned
	}
	err     error
	given   []givenUp
	vacated bool // a reservation was given up or moved to other slots, or an event took its place
	// backfilled are the jobs that were started beside reservations and are expected to run for
	// another time than their estimate, each with its expected end.
	backfilled []planned
	void       []record // see giveWay
	lanes      lanes    // memory that Fast.Fitting reuses
	asked      int      // shapes of which a pass of Fitting has asked all slots
	open       []SlotID // slots with a free cpu when that pass began; nil: not known

	onSlots residents // nil: nobody has asked

	memo, remembered any // see Fast.Memo
}

// Now returns the instant of the cycle.
func (c *Cycle) Now() Time { return c.round.Now }

// Next applies the next event to the queue, the running jobs and the profile, and returns it; it
// returns false if no event is left. An event that leaves nothing to decide, because its job is
// held, is applied but not returned.
func (c *Cycle) Next() (e Event, more bool) {
	c.s.profile.GoOn()
	c.taken = len(c.undo)
	for c.applied < len(c.round.Events) {
		e = c.round.Events[c.applied]
		c.applied++
		c.sawEnds = c.sawEnds || c.s.profile.Ends().Count() > 0
		c.apply(&e)
		c.vacated = c.vacated || len(e.Displaced) > 0
		if !c.invisible(&e) {
			return e, true
		}
	}
	return Event{}, false
}

// Queue iterates, in the queue's order, over the waiting jobs that may start; see [Job.Release]. The
// loop may start jobs, hold them and reserve for them.
func (c *Cycle) Queue() iter.Seq[*Job] { return c.released(c.Waiting()) }

// Waiting iterates over all waiting jobs in the queue's order, also over those that may not start
// yet. The loop may start jobs, hold them and reserve for them.
func (c *Cycle) Waiting() iter.Seq[*Job] {
	return func(yield func(*Job) bool) {
		if first := c.s.queue.first(); first != nil {
			if at := *first; yield(at.job) {
				c.walk(at, yield)
			}
		}
	}
}

// Running iterates over the running jobs by expected end, then submit time and queue position. The
// loop must not start jobs.
func (c *Cycle) Running() iter.Seq[RunningJob] { return c.s.Running() }

// Reservation returns a waiting job's planned start and placement; ok is false if it has none.
func (c *Cycle) Reservation(j *Job) (start Time, at Placement, ok bool) {
	return c.s.Planned(j.ID)
}

// Due lists the jobs whose planned start has come, by submit time, then queue position.
func (c *Cycle) Due() []*Job {
	var jobs []*Job
	c.s.planned.Scan(func(p planned) bool {
		if p.at <= c.round.Now {
			jobs = append(jobs, p.job)
		}
		return p.at <= c.round.Now
	})
	slices.SortFunc(jobs, Compare)
	return jobs
}

// Capacity returns the summed capacity of the slots that are up. The result must not be changed.
func (c *Cycle) Capacity() Vector { return c.s.capacity }

// FitsNow returns a placement where the job fits from now through its estimate, beside all running
// jobs and all other reservations; ok is false if there is none, or if the job may not start: not yet,
// as it is held, or as it runs already, such as one that was started earlier in this round.
func (c *Cycle) FitsNow(j *Job) (at Placement, ok bool) {
	if c.early(j) {
		return nil, false
	}
	r := c.s.jobs.Find(j.ID)
	if r != nil && r.phase != waiting {
		return nil, false
	}
	if r == nil || r.placement == nil {
		if r != nil {
			if shape := c.s.closingShape(r); shape != nil && c.s.hopeless(shape, r.job.Estimate) {
				return nil, false
			}
		}
		return c.s.profile.Place(c.s.Request(j), c.round.Now)
	}
	if r.start == c.round.Now {
		return r.placement, true
	}
	if _, ok = c.s.profile.EarliestAhead(c.s.Request(r.job), r.start, c.round.Now, min(r.start, c.round.Now+1)); !ok {
		return nil, false
	}
	c.without(r, func() { at, ok = c.s.profile.Place(c.s.Request(r.job), c.round.Now) })
	return at, ok
}

// Earliest returns the earliest start of the job that is neither before notBefore nor before the
// job may start, and its placement then, as if the job had no reservation. If the job has one that
// is not before notBefore, and no start is earlier, Earliest returns the reservation, with the same
// slots. ok is false if the job fits at no time. Where that is because its candidates close or end
// before it could begin or end, the job is to wait without a reservation; see [Fast.NoStart].
func (c *Cycle) Earliest(j *Job, notBefore Time) (start Time, at Placement, ok bool) {
	notBefore = j.NotBefore(notBefore)
	r := c.s.jobs.Find(j.ID)
	if r == nil || r.phase != waiting || r.placement == nil {
		return c.s.profile.EarliestFit(c.s.Request(j), notBefore)
	}
	if r.start < notBefore {
		c.without(r, func() { start, at, ok = c.s.profile.EarliestFit(c.s.Request(r.job), notBefore) })
		return start, at, ok
	}
	request := c.s.Request(r.job)
	from, ok := c.s.profile.EarliestAhead(request, r.start, notBefore, r.start)
	switch {
	case !ok: // the usual case, found without touching the profile
		return r.start, r.placement, true
	case from+request.Duration <= r.start: // its own place is not in the way
		at, ok = c.s.profile.Place(request, from)
		return from, at, ok
	}
	c.without(r, func() { start, at, ok = c.s.profile.EarliestFitBefore(request, from, r.start) })
	if !ok {
		return r.start, r.placement, true
	}
	return start, at, true
}

// Start starts a waiting job now, at the placement. The job must fit there from now through its
// estimate, beside all running jobs and all reservations but its own; else the cycle fails (see
// [Cycle]). All events must have been taken, because a later one could take the room away.
//
// The job is then expected to run for [Job.Running]. If other jobs have reservations, it still
// occupies its place for its whole estimate until the cycle ends; then for its expected run, and
// reservations in the way of that become void.
func (c *Cycle) Start(j *Job, at Placement) {
	r := c.waitingRecord("start", j.ID)
	if r == nil {
		return
	}
	if left := len(c.round.Events) - c.applied; left > 0 {
		c.fail("start job %d: %d events of the round have not been taken", j.ID, left)
		return
	}
	now := c.round.Now
	if c.early(r.job) {
		c.fail("start job %d: it may not start before %d, and it is %d", j.ID, r.job.Release, now)
		return
	}
	former := *r // r is of the new record once that is set
	next := former
	next.phase, next.placement, next.lifted = running, at, CauseNone
	next.start, next.end = now, c.s.endOf(former.job, at, now, former.job.runs(c.s.guarantees))
	run, estimated := next.end, c.s.plannedEnd(former.job, at, now)
	later := c.besideOthers(r) && run != estimated
	if later {
		next.end = estimated
	}
	if former.lifted != CauseNone && former.placement != nil && !former.promised { // as settle would for one that waits
		next.promised, next.guarantee = true, former.start
	}
	if err := c.begin(r, &next); err != nil {
		c.fail("start job %d: %w", j.ID, err)
		return
	}
	if former.promised && c.s.guarantees && now > former.guarantee {
		c.broken = append(c.broken, Broken{Job: former.job, Promised: former.guarantee, Now: now, Cause: former.lifted})
	}
	if later {
		c.backfilled = append(c.backfilled, planned{run, former.job})
	}
	if former.placement != nil {
		c.fromPlan++
	}
	c.started = append(c.started, Started{
		Job: next.job, Placement: at, Guarantee: next.guarantee,
		Promised: next.promised, key: next.key, alone: next.alone, planned: former.placement != nil,
	})
	c.log(Action{Kind: ActStart, Job: j.ID, Placement: at})
}

// Reserve plans a waiting job's start, now or later, or moves its reservation. The job must fit at
// the placement from the planned start through its estimate, or until a slot of it ends if the estimate is
// not its own; else the cycle fails (see [Cycle]). A
// job that is planned for now must also be started in the same cycle.
func (c *Cycle) Reserve(j *Job, start Time, at Placement) {
	r := c.waitingRecord("reserve for", j.ID)
	if r == nil {
		return
	}
	if start < c.round.Now || start > Forever {
		c.fail("reserve for job %d: the start at %d is not between now (%d) and the end of time", j.ID, start,
			c.round.Now)
		return
	}
	if r.job.Early(start) {
		c.fail("reserve for job %d: the start at %d is before %d, its earliest", j.ID, start, r.job.Release)
		return
	}
	if r.placement != nil && r.start == start && r.placement.Equal(at) {
		return
	}
	c.vacated = c.vacated || r.placement != nil && r.start == start
	next := *r
	next.placement, next.start, next.end = at, start, c.s.plannedEnd(r.job, at, start)
	if err := c.move(&next); err != nil {
		c.fail("reserve for job %d: %w", j.ID, err)
		return
	}
	if len(c.given) == 0 || !c.takeBack(j.ID, start, at) {
		c.log(Action{Kind: ActReserve, Job: j.ID, At: start, Placement: at})
	}
}

// Release gives up a job's reservation. It does nothing if the job has none.
func (c *Cycle) Release(j *Job) {
	r := c.waitingRecord("release", j.ID)
	if r == nil || r.placement == nil {
		return
	}
	c.vacated = true
	c.given = append(c.given, givenUp{job: j.ID, action: len(c.actions), start: r.start, at: r.placement})
	next := *r
	next.placement, next.start, next.end = nil, 0, 0
	c.set(j.ID, &next)
	c.log(Action{Kind: ActRelease, Job: j.ID})
}

// Hold takes a waiting job out of the queue; the reason, which must not be empty, is for its owner
// and is cut off after 200 letters.
// Only a change of the job or of the policy brings it back. A job with a guarantee cannot be held,
// unless an event of this round lifted the guarantee.
func (c *Cycle) Hold(j *Job, reason string) {
	r := c.waitingRecord("hold", j.ID)
	if r == nil {
		return
	}
	reason = Printable(reason, mostHold)
	if reason == "" {
		c.fail("hold job %d: its owner is given no reason", j.ID)
		return
	}
	if c.s.guarantees && r.promised && r.lifted == CauseNone {
		c.fail("hold job %d: it was promised to start at %d at the latest", j.ID, r.guarantee)
		return
	}
	c.held = append(c.held, HeldJob{Job: r.job, Reason: reason})
	next := *r // with its promise, which ends with the round
	next.phase, next.hold, next.lifted = held, reason, CauseNone
	next.placement, next.start, next.end = nil, 0, 0
	c.set(j.ID, &next)
	c.log(Action{Kind: ActHold, Job: j.ID, Reason: reason})
}

// mostHold is the number of letters of the reason for which a policy holds a job: it may hold each
// of a hundred thousand for a reason of its own, and all are kept.
const mostHold = 200

// Wake asks the host for a cycle at the given time, which must be later than now, even if nothing
// happens until then. For planned starts and expected ends the host opens cycles by itself.
func (c *Cycle) Wake(at Time) {
	if c.err != nil {
		return
	}
	if at <= c.round.Now {
		c.fail("wake at %d: it is %d already", at, c.round.Now)
		return
	}
	i, found := slices.BinarySearch(c.s.wakes, at)
	switch {
	case found:
		return
	case len(c.s.wakes) >= maxWakes:
		c.fail("wake at %d: the policy has asked for %d other times already", at, maxWakes)
		return
	}
	old := c.s.wakes
	c.onUndo(func() {
		_ = slices.Delete(c.s.wakes, i, i+1) // the new list may share its memory with the old one
		c.s.wakes = old
	})
	c.s.wakes = slices.Insert(old, i, at)
	c.log(Action{Kind: ActWake, At: at})
}

// Guarantee promises a job's latest start. It can be given once, in the round in which the job
// enters the plan, and only by a policy that declares guarantees. Every later decision must leave
// the job a reservation at or before that time, unless an event lifts the guarantee.
func (c *Cycle) Guarantee(j *Job, latest Time) {
	r := c.waitingRecord("guarantee", j.ID)
	switch {
	case r == nil:
	case !c.s.guarantees:
		c.fail("guarantee for job %d: the policy in charge gives none", j.ID)
	case r.promised:
		c.fail("guarantee for job %d: it was promised to start at %d at the latest, and a promise stands", j.ID,
			r.guarantee)
	case latest < c.round.Now:
		c.fail("guarantee for job %d: %d is in the past", j.ID, latest)
	default:
		next := *r
		next.promised, next.guarantee, next.lifted = true, latest, CauseNone
		c.set(j.ID, &next)
		c.log(Action{Kind: ActGuarantee, Job: j.ID, At: latest})
	}
}

// State returns the state that the cycle is open on, for reading: its slots and bundles, what is free
// when, and all that is known of the jobs.
func (c *Cycle) State() *View { return &c.s.View }

// Fast returns what a policy needs only in order to be fast, where many jobs wait.
func (c *Cycle) Fast() Fast { return Fast{c} }

// walk yields the jobs behind an entry of the queue, even if that entry has left the queue. It
// reads a few entries ahead, and reads them again if any job but the one just yielded joined or
// left the queue.
func (c *Cycle) walk(at queued, yield func(*Job) bool) {
	var few [32]queued
	for {
		n, most := 0, len(few)
		if c.s.queue.oneByOne() {
			most = 1
		}
		c.s.queue.ascend(&at, func(q queued) bool {
			few[n] = q
			n++
			return n < most
		})
		changes := c.s.queueChanges
		for _, q := range few[:n] {
			c.s.profile.GoOn()
			if at = q; !yield(q.job) {
				return
			}
			if c.s.queueChanges == changes {
				continue
			}
			if c.s.queue.order.has(q) || c.s.queueChanges > changes+1 {
				break
			}
			changes = c.s.queueChanges
		}
		if n == 0 {
			return
		}
	}
}
