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

// begin gives a job that starts its new record. It changes nothing and returns an error if the job
// does not fit there for its estimate.
func (c *Cycle) begin(former, next *record) error {
	if former.placement != nil && !former.sameSpan(next) &&
		next.end == c.s.plannedEnd(next.job, next.placement, next.start) {
		return c.move(next) // its old place is taken out of the profile once, to ask and to move it
	}
	if err := c.misfit(former, next.placement, next.start); err != nil {
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

// maxWakes limits how many times to wake a policy may have asked for, because the state stores them
// all.
const maxWakes = 100_000

// passing reports whether an action took room that is free again by now: it made a reservation that
// is gone or has moved, or started a job that is expected to end before its estimate.
func (c *Cycle) passing(a Action) bool {
	switch a.Kind {
	case ActReserve:
		start, at, ok := c.s.Planned(a.Job)
		return !ok || start != a.At || !at.Equal(a.Placement)
	case ActStart:
		r := c.s.jobs.Find(a.Job)
		return r.end < c.s.plannedEnd(r.job, r.placement, r.start)
	default:
		return false
	}
}

func (c *Cycle) log(a Action) {
	a.After = c.applied
	c.acted += len(a.Placement)
	c.actions = append(c.actions, a)
}

// waitingRecord returns the record of a waiting job, which is valid until a record is changed. If
// the job does not wait, the cycle fails with an error that begins with the given verb. The result
// is nil then, and if an action has failed before.
func (c *Cycle) waitingRecord(what string, id JobID) *record {
	if c.s.profile.GoOn(); c.err != nil {
		return nil
	}
	r := c.s.jobs.Find(id)
	switch {
	case r == nil:
		c.fail("%s job %d: there is no such job", what, id)
	case r.phase == running && c.startedNow(id):
		c.fail("%s job %d: you started it earlier in this round", what, id)
	case r.phase == running:
		c.fail("%s job %d: it runs since %d", what, id, r.start)
	case r.phase == held:
		c.fail("%s job %d: it is held (%s)", what, id, r.hold)
	default:
		return r
	}
	return nil
}

// startedNow reports whether the policy has started the job in this round.
func (c *Cycle) startedNow(id JobID) bool {
	return slices.ContainsFunc(c.actions, func(a Action) bool { return a.Kind == ActStart && a.Job == id })
}

// move gives a waiting job the place in the new record. If the job does not fit there, even with
// its old place taken out of the profile, move changes nothing and returns an error.
func (c *Cycle) move(next *record) error {
	if err := c.put(next.job.ID, next, mustFit); err != nil {
		return fmt.Errorf("at %d: %w", next.start, err)
	}
	return nil
}

// misfit returns why a job does not fit a place while its present place is taken out of the
// profile, or nil if it fits. For its present place only the candidates and their windows are checked:
// an event that takes room there voids the reservation at once.
func (c *Cycle) misfit(r *record, at Placement, start Time) (err error) {
	if r.start == start && r.placement != nil && r.placement.Equal(at) && c.s.profile.Opens(c.s.Request(r.job), at, start) {
		return nil
	}
	c.without(r, func() { err = c.s.profile.Misfit(c.s.Request(r.job), at, start) })
	if err != nil {
		return fmt.Errorf("at %d: %w", start, err)
	}
	return nil
}

// fail records the first error of the cycle. Later actions then do nothing, and the decision is
// refused.
func (c *Cycle) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// without calls the callback while the job's own place, if it has one, is taken out of the profile.
func (c *Cycle) without(r *record, ask func()) {
	if r.placement == nil {
		ask()
		return
	}
	lead := c.s.leads[r.job.ID] // its candidates may need more by now, see [State.setLeast]
	c.s.vacate(r)
	defer func() { // also if it is broken off
		c.s.occupy(r)
		if c.s.leasts > 0 {
			c.s.setLead(r.job.ID, lead)
		}
	}()
	ask()
}
