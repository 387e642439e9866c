package backfill

import (
	"fmt"
	"slices"
)

// Preemption: running jobs make way for a job that waits. Who does is not for the core to know. It is told
// in two kinds of events. Each job that makes way *yields*: it ends sooner ([EndsSooner]). The one they make
// way for is *pinned* ([Pinned]): it is a running job from then on, with a start that is still to come, and
// occupies its place from that start on. So it is in no queue and no policy's to plan, and what is idle on
// its slots until then can be used by jobs that end in time. When it begins, the pool reports it as found
// ([Found]).
//
// Until then another job may be pinned to its place instead. The pinned job is told to have failed to start in
// the same round ([StartFailed]), which *ousts* it: it waits again, and its promise is lifted as those are that
// a take-over displaces.

// lateYield is for how many seconds a job is expected to run on that should have made way by now.
const lateYield = 60

// WouldLift returns the jobs whose promised reservations a round's events would take away, by planned
// start, then in order of jobs; the state stays as it is. The errors are those of [State.Open].
func (s *State) WouldLift(r Round) (jobs []JobID, err error) {
	r.Events = slices.Clone(r.Events)
	s.sortEvents(r.Events)
	memo := s.memo
	t, err := s.begin(&r)
	if err != nil {
		return nil, err
	}
	for {
		e, more := t.Next()
		if !more {
			break
		}
		for _, j := range e.Displaced {
			if _, promised := s.Guaranteed(j.ID); promised {
				jobs = append(jobs, j.ID)
			}
		}
	}
	t.Rollback()
	s.memo = memo
	return jobs, nil
}

// validateSooner returns an error unless the job runs, not on a place that it is still to be given, and
// another job is known for which it is to end.
func (s *State) validateSooner(e *Event, now Time) error {
	r, other := s.jobs.Find(e.JobID), s.jobs.Find(e.By)
	switch {
	case r == nil || r.phase != running || r.pinned:
		return fmt.Errorf("job %d does not run", e.JobID)
	case e.End <= now || e.End > Forever:
		return fmt.Errorf("job %d cannot be expected to end at %d: it is %d", e.JobID, e.End, now)
	case other == nil || e.By == e.JobID:
		return fmt.Errorf("job %d is to make way for job %d, which is unknown or itself", e.JobID, e.By)
	}
	return nil
}

// endSooner moves a running job's end forward, and marks it as one that makes way. One that is over its time
// ends later than was expected so far: reservations in the way of that become void.
func (c *Cycle) endSooner(e *Event) {
	r, _ := c.s.jobs.Get(e.JobID)
	if r.phase != running || r.pinned { // an event of this round took its slot before
		c.preempted(e, false, nil)
		return
	}
	next := r
	if next.yields = true; r.end <= c.round.Now || r.end > e.End { // it may be over its time
		next.end = e.End
	}
	c.set(e.JobID, &next)
	var void []planned
	if next.end > r.end {
		void = c.displace(slotsOf(r.placement), rowsOf(r.job.Takes), CauseOverrun)
	}
	c.preempted(e, next.end < r.end || len(void) > 0, void)
}

// preempted has the last of the events in a row of jobs that make way, and of those that take over, count as
// the one that gave back the room of them all, and that displaced whom they displace: what one gives back is
// mostly for another one to take, and nobody is to be promised it in between.
func (c *Cycle) preempted(e *Event, freed bool, void []planned) {
	c.makesWay.freed = c.makesWay.freed || freed
	c.makesWay.void = append(c.makesWay.void, void...)
	if c.applied < len(c.round.Events) {
		if kind := c.round.Events[c.applied].Kind; kind == EndsSooner || kind == Pinned {
			return
		}
	}
	e.Freed = c.makesWay.freed
	e.place(c, c.makesWay.void)
	c.makesWay.freed, c.makesWay.void = false, nil
}

// isOusted reports whether a job that fails to start loses its place to another one: it is pinned, and the
// round is still to pin another to one of its slots.
func (c *Cycle) isOusted(r *record) bool {
	return r.pinned && slices.ContainsFunc(c.round.Events[c.applied:], func(e Event) bool {
		return e.Kind == Pinned && slices.ContainsFunc(e.Placement, func(on Chunks) bool {
			return slices.ContainsFunc(r.placement, func(own Chunks) bool { return own.Slot == on.Slot })
		})
	})
}

// oust has a pinned job wait again. Its place is for another one to take, so that what it gives back counts with
// the events that pin that one, see preempted.
func (c *Cycle) oust(r *record) {
	start := r.start
	j := c.requeue(r, CausePreempted)
	c.holdRequeued(j)
	c.makesWay.freed = true
	c.makesWay.void = append(c.makesWay.void, planned{start, j})
}

// validatePin returns an error unless the job waits, and can be placed so at a later instant, on slots
// that are up.
func (s *State) validatePin(e *Event, now Time, with *there) error {
	r := s.jobs.Find(e.JobID)
	switch {
	case r == nil || r.phase != waiting:
		return fmt.Errorf("job %d does not wait", e.JobID)
	case e.Start <= now || e.Start > Forever:
		return fmt.Errorf("job %d cannot take over at %d: it is %d", e.JobID, e.Start, now)
	case r.job.Early(e.Start):
		return fmt.Errorf("job %d may not start before %d", e.JobID, r.job.Release)
	case r.promised && s.guarantees && e.Start > r.guarantee:
		return fmt.Errorf("job %d cannot take over at %d: it was promised to start at %d at the latest", e.JobID, e.Start,
			r.guarantee)
	case len(e.Placement) == 0:
		return fmt.Errorf("job %d is to take over no slot", e.JobID)
	}
	for _, on := range e.Placement {
		if on.Slot < 0 || int(on.Slot) >= len(s.slots) || !s.profile.Up(on.Slot) {
			return fmt.Errorf("job %d is to take over slot %d, which is not there", e.JobID, on.Slot)
		}
	}
	return r.job.validatePlacement(e.Placement, with)
}

// pin gives a waiting job its place from a later instant on. Reservations in its way become void.
func (c *Cycle) pin(e *Event) {
	old, _ := c.s.jobs.Get(e.JobID)
	if old.phase != waiting || slices.ContainsFunc(e.Placement, func(on Chunks) bool { return !c.s.profile.Up(on.Slot) }) {
		c.preempted(e, false, nil) // an event of this round held it, or took its slot before
		return
	}
	next := old
	next.phase, next.pinned, next.placement, next.lifted = running, true, e.Placement, CauseNone
	next.start, next.end = e.Start, c.s.endOf(old.job, e.Placement, e.Start, old.job.runs(c.s.guarantees))
	c.set(e.JobID, &next)
	void := c.displace(slotsOf(e.Placement), rowsOf(old.job.Takes), CausePreempted)
	c.preempted(e, old.placement != nil || len(void) > 0, void)
}
