package backfill

import (
	"fmt"
	"slices"
)

// ActionKind says what a policy did.
type ActionKind uint8

// What a policy can do.
const (
	ActStart     ActionKind = iota + 1 // start a waiting job now
	ActReserve                         // plan a waiting job's start, or move it
	ActRelease                         // give a reservation up
	ActGuarantee                       // promise the latest start
	ActHold                            // take a job out of the queue
	ActWake                            // ask for a cycle at a later time
	ActKeepFreed                       // ask the state to log the resources that jobs give back
)

// Action is one entry of the journal, the list of a policy's actions in their order, which makes up
// its decision. Replaying the journal on the same state and round gives the same new state.
type Action struct {
	// After is how many events of the round had been applied before this action, also those that
	// [Cycle.Next] does not return.
	After int
	Kind  ActionKind
	Job   JobID
	// At is the planned start (ActReserve), the guaranteed latest start (ActGuarantee), when to
	// wake (ActWake), or for how many seconds to log what is freed (ActKeepFreed).
	At        Time
	Placement Placement
	Reason    string // ActHold
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
	was := *r // r is of the new record once that is set
	next := was
	next.phase, next.placement, next.lifted = running, at, CauseNone
	next.start, next.end = now, now+was.job.runs(c.s.guarantees)
	run := next.end
	later := c.besideOthers(r) && run != now+was.job.Estimate
	if later {
		next.end = now + was.job.Estimate
	}
	if err := c.begin(r, &next); err != nil {
		c.fail("start job %d: %w", j.ID, err)
		return
	}
	if was.promised && c.s.guarantees && now > was.guarantee {
		c.broken = append(c.broken, Broken{Job: was.job, Promised: was.guarantee, Now: now, Cause: was.lifted})
	}
	if later {
		c.backfilled = append(c.backfilled, planned{run, was.job})
	}
	if was.placement != nil {
		c.fromPlan++
	}
	c.started = append(c.started, Started{
		Job: next.job, Placement: at, Guarantee: next.guarantee,
		Promised: next.promised, key: next.key, alone: next.alone,
	})
	c.log(Action{Kind: ActStart, Job: j.ID, Placement: at})
}

// begin gives a job that starts its new record. It changes nothing and returns an error if the job
// does not fit there for its estimate.
func (c *Cycle) begin(was, next *record) error {
	if was.placement != nil && !was.sameSpan(next) && next.end == next.start+next.job.Estimate {
		return c.move(next) // its old place is taken out of the profile once, to ask and to move it
	}
	if err := c.misfit(was, next.placement, next.start); err != nil {
		return err
	}
	c.set(next.job.ID, next)
	return nil
}

// besideOthers reports whether any job other than the record's has a reservation.
func (c *Cycle) besideOthers(r *record) bool {
	n := c.s.planned.Len()
	return n > 1 || n == 1 && r.placement == nil
}

// Reserve plans a waiting job's start, now or later, or moves its reservation. The job must fit at
// the placement from the planned start through its estimate; else the cycle fails (see [Cycle]). A
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
	if r.placement != nil && r.start == start && r.placement.Equal(at) {
		return
	}
	next := *r
	next.placement, next.start, next.end = at, start, start+r.job.Estimate
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
	c.given = append(c.given, givenUp{job: j.ID, action: len(c.actions), start: r.start, at: r.placement})
	next := *r
	next.placement, next.start, next.end = nil, 0, 0
	c.set(j.ID, &next)
	c.log(Action{Kind: ActRelease, Job: j.ID})
}

// givenUp is a reservation that was released in this cycle.
type givenUp struct {
	job    JobID
	action int // index of the release in the journal
	start  Time
	at     Placement
}

// takeBack reports whether a new reservation only restores the one that a Release of this cycle
// gave up, and no action in between depended on the freed room. It then drops the Release from the
// journal, and the caller adds no Reserve.
func (c *Cycle) takeBack(id JobID, start Time, at Placement) bool {
	i := slices.IndexFunc(c.given, func(g givenUp) bool { return g.job == id })
	if i < 0 {
		return false
	}
	g := c.given[i]
	c.given = slices.Delete(c.given, i, i+1)
	if g.start != start || !g.at.Equal(at) || slices.ContainsFunc(c.actions[g.action:], c.passing) {
		return false
	}
	c.actions = slices.Delete(c.actions, g.action, g.action+1)
	for i := range c.given {
		if c.given[i].action > g.action {
			c.given[i].action--
		}
	}
	return true
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

// Hold takes a waiting job out of the queue; the reason, which must not be empty, is for its owner.
// Only a change of the job brings it back. A job with a guarantee cannot be held, unless an event
// of this round lifted the guarantee.
func (c *Cycle) Hold(j *Job, reason string) {
	r := c.waitingRecord("hold", j.ID)
	if r == nil {
		return
	}
	reason = Printable(reason, maxText)
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

// maxWakes limits how many times to wake a policy may have asked for, because the state stores them
// all.
const maxWakes = 100_000

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

// passing reports whether an action took room that is free again by now: it made a reservation that
// is gone or has moved, or started a job that is expected to end before its estimate.
func (c *Cycle) passing(a Action) bool {
	switch a.Kind {
	case ActReserve:
		start, at, ok := c.s.Planned(a.Job)
		return !ok || start != a.At || !at.Equal(a.Placement)
	case ActStart:
		r := c.s.jobs.Find(a.Job)
		return r.end < r.start+r.job.Estimate
	default:
		return false
	}
}

func (c *Cycle) log(a Action) {
	a.After = c.applied
	c.actions = append(c.actions, a)
}

// waitingRecord returns the record of a waiting job, which is valid until a record is changed. If
// the job does not wait, the cycle fails with an error that begins with the given verb. The result
// is nil then, and if an action has failed before.
func (c *Cycle) waitingRecord(what string, id JobID) *record {
	if c.err != nil {
		return nil
	}
	r := c.s.jobs.Find(id)
	switch {
	case r == nil:
		c.fail("%s job %d: there is no such job", what, id)
	case r.phase == running:
		c.fail("%s job %d: it runs since %d", what, id, r.start)
	case r.phase == held:
		c.fail("%s job %d: it is held (%s)", what, id, r.hold)
	default:
		return r
	}
	return nil
}

// move gives a waiting job the place in the new record. If the job does not fit there, even with
// its old place taken out of the profile, move changes nothing and returns an error.
func (c *Cycle) move(next *record) error {
	if err := c.put(next.job.ID, next, true); err != nil {
		return fmt.Errorf("at %d: %w", next.start, err)
	}
	return nil
}

// misfit returns why a job does not fit a place while its present place is taken out of the
// profile, or nil if it fits. For its present place only the candidates are checked: an event that
// takes room there voids the reservation at once.
func (c *Cycle) misfit(r *record, at Placement, start Time) (err error) {
	if r.start == start && r.placement != nil && r.placement.Equal(at) && c.s.profile.Covers(c.s.request(r.job), at) {
		return nil
	}
	c.without(r, func() { err = c.s.profile.Misfit(c.s.request(r.job), at, start) })
	if err != nil {
		return fmt.Errorf("at %d: %w", start, err)
	}
	return nil
}
