package backfill

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Next applies the next event to the queue, the running jobs and the profile,
// and returns it; false when there is none left.
func (c *Cycle) Next() (Event, bool) {
	for c.applied < len(c.round.Events) {
		e := c.round.Events[c.applied]
		c.applied++
		if c.apply(&e); !c.invisible(e) {
			return e, true
		}
	}
	return Event{}, false
}

// invisible says that an event leaves nothing to decide: its job is held.
func (c *Cycle) invisible(e Event) bool {
	if e.Kind != Submitted && e.Kind != Changed {
		return false
	}
	r, _ := c.s.jobs.Get(e.Spec.ID)
	return r.phase == held && !e.Freed
}

func (c *Cycle) apply(e *Event) {
	switch e.Kind {
	case PolicyChanged:
		c.changePolicy(e)
	case SlotAdded, SlotChanged:
		before, wasUp := c.setSlot(e.Slot, true)
		e.Freed = !wasUp || !e.Slot.Capacity.Within(before.Capacity)
		e.Displaced = c.displace([]SlotID{e.Slot.ID}, CauseSlotChanged)
	case SlotLost:
		c.loseSlot(e)
	case Completed:
		r, _ := c.s.jobs.Get(e.Job)
		e.Freed = r.end > c.round.Now
		c.set(e.Job, nil)
	case StartFailed:
		c.failStart(e)
	case EstimateChanged:
		c.changeEnd(e)
	case Removed:
		r, _ := c.s.jobs.Get(e.Job)
		e.Freed = r.placement != nil && r.end > c.round.Now
		c.set(e.Job, nil)
	case Changed:
		c.change(e)
	case Submitted:
		c.submit(e)
	case Wake:
	}
}

func (c *Cycle) submit(e *Event) {
	r := &record{job: e.Spec, key: e.Key, alone: c.s.queue.Len() == 0}
	c.holdIfItNeverFits(r)
	c.set(e.Spec.ID, r)
}

func (c *Cycle) change(e *Event) {
	old, _ := c.s.jobs.Get(e.Spec.ID)
	r := &record{job: e.Spec, key: e.Key, alone: old.alone, promised: old.promised, guarantee: old.guarantee}
	r.lifted = c.lift(CauseJobChanged)
	e.Freed = old.placement != nil
	c.holdIfItNeverFits(r)
	c.set(e.Spec.ID, r)
	if r.phase == waiting {
		e.Displaced = []*Job{r.job}
	}
}

// holdIfItNeverFits takes a job out of the queue that not even an empty pool
// could run: it must not block the others.
func (c *Cycle) holdIfItNeverFits(r *record) {
	if c.s.profile.EverFits(c.s.request(r.job)) {
		return
	}
	r.phase, r.hold = held, ReasonNeverFits
	c.held = append(c.held, HeldJob{Job: r.job, Reason: ReasonNeverFits})
}

// changePolicy puts another policy in charge. All guarantees are lifted; under
// one that gives them, each waiting job gets a place and a promise in this
// round.
func (c *Cycle) changePolicy(e *Event) {
	before := c.s.guarantees
	c.onUndo(func() { c.s.guarantees = before })
	c.s.guarantees = e.Guarantees
	for j := range c.Queue() {
		r, _ := c.s.jobs.Get(j.ID)
		next := *r
		next.promised, next.lifted = false, c.lift(CausePolicyChanged)
		c.set(j.ID, &next)
		if r.placement == nil {
			e.Displaced = append(e.Displaced, j)
		}
	}
	slices.SortFunc(e.Displaced, Compare)
}

// loseSlot takes a slot away: its jobs go back to the queue, reservations on it
// are void.
func (c *Cycle) loseSlot(e *Event) {
	var requeued []*record
	c.s.running.Scan(func(p planned) bool {
		if r, _ := c.s.jobs.Get(p.job.ID); slices.Contains(slotsOf(r.placement), e.Slot.ID) {
			requeued = append(requeued, r)
		}
		return true
	})
	slices.SortFunc(requeued, func(a, b *record) int { return Compare(a.job, b.job) })
	for _, r := range requeued {
		e.Displaced = append(e.Displaced, c.requeue(r, CauseSlotLost))
	}
	c.setSlot(e.Slot, false)
	e.Freed = len(requeued) > 0
	e.Displaced = append(e.Displaced, c.displace([]SlotID{e.Slot.ID}, CauseSlotLost)...)
}

// failStart takes back a start that did not come about, or a planned start that
// passed unused.
func (c *Cycle) failStart(e *Event) {
	r, _ := c.s.jobs.Get(e.Job)
	if r.placement == nil { // it lost its slot in this very round
		return
	}
	e.Freed = r.end > c.round.Now
	cause := CauseStartFailed
	if r.phase == waiting {
		cause = CauseStartLate
	}
	e.Displaced = []*Job{c.requeue(r, cause)}
}

// changeEnd moves a running job's expected end. Reservations that are now in
// its way are void.
func (c *Cycle) changeEnd(e *Event) {
	r, _ := c.s.jobs.Get(e.Job)
	if r.phase != running { // it lost its slot in this very round
		return
	}
	next := *r
	next.end = e.End
	c.set(e.Job, &next)
	e.Freed = e.End < r.end
	e.Displaced = c.displace(slotsOf(r.placement), CauseOverrun)
}

// requeue puts a job back into the queue without a place.
func (c *Cycle) requeue(r *record, cause Cause) *Job {
	next := *r
	next.phase, next.placement, next.start, next.end = waiting, nil, 0, 0
	next.lifted = c.lift(cause)
	if r.phase == running {
		next.alone = c.s.queue.Len() == 0
	}
	c.set(r.job.ID, &next)
	return r.job
}

// lift names why a guarantee does not bind in this round; where none are given
// there is nothing to lift.
func (c *Cycle) lift(cause Cause) Cause {
	if !c.s.guarantees {
		return CauseNone
	}
	return cause
}

// displace voids the reservations that no longer fit on the slots: going by
// planned start, each that fits beside what runs and those before it stays.
// A planned start in the past counts as now.
func (c *Cycle) displace(slots []SlotID, cause Cause) []*Job {
	slots = slices.DeleteFunc(slices.Clone(slots), func(id SlotID) bool {
		return c.s.profile.Up(id) && !c.s.profile.Overfull(id, c.round.Now)
	})
	if len(slots) == 0 {
		return nil
	}
	var out []*record
	c.s.planned.Scan(func(p planned) bool {
		r, _ := c.s.jobs.Get(p.job.ID)
		if slices.ContainsFunc(slotsOf(r.placement), func(id SlotID) bool { return slices.Contains(slots, id) }) {
			out = append(out, r)
		}
		return true
	})
	slices.SortStableFunc(out, func(a, b *record) int {
		return cmp.Or(cmp.Compare(max(a.start, c.round.Now), max(b.start, c.round.Now)), Compare(a.job, b.job))
	})
	for _, r := range out {
		c.requeue(r, cause)
	}
	var displaced []*Job
	for _, r := range out {
		if r.start >= c.round.Now && c.s.profile.Fits(c.s.request(r.job), r.placement, r.start) {
			c.set(r.job.ID, r)
		} else {
			displaced = append(displaced, r.job)
		}
	}
	return displaced
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

// slotsOf lists the slots of a placement.
func slotsOf(p Placement) []SlotID {
	ids := make([]SlotID, len(p))
	for i, chunks := range p {
		ids[i] = chunks.Slot
	}
	return ids
}

// validate refuses a round that cannot be true.
func (s *State) validate(r Round) error {
	if r.Now < s.now {
		return fmt.Errorf("time runs backwards: the round is at %d, the state at %d", r.Now, s.now)
	}
	sets := len(s.candidates)
	for _, set := range r.Candidates {
		if err := set.validate(sets); err != nil {
			return err
		}
		sets = max(sets, set.ID+1)
	}
	slots := len(s.slots)
	var class EventKind
	seen := make(map[JobID]bool, len(r.Events))
	for i, e := range r.Events {
		if id, ok := e.concerns(); ok {
			if seen[id] {
				return fmt.Errorf("event %d (%v): job %d has more than one event in the round", i, e.Kind, id)
			}
			seen[id] = true
		}
		if e.Kind < class {
			return fmt.Errorf("event %d (%v) is out of order", i, e.Kind)
		}
		if e.Kind != SlotChanged && e.Kind != Changed { // of one class with the kind before
			class = e.Kind
		}
		if err := s.validateEvent(e, sets, &slots); err != nil {
			return fmt.Errorf("event %d (%v): %w", i, e.Kind, err)
		}
	}
	return nil
}

func (s *State) validateEvent(e Event, sets int, slots *int) error {
	switch e.Kind {
	case SlotAdded, SlotLost, SlotChanged:
		if e.Kind == SlotAdded && int(e.Slot.ID) == *slots {
			*slots++
		}
		if e.Slot.ID < 0 || int(e.Slot.ID) >= *slots {
			return fmt.Errorf("unknown slot %d", e.Slot.ID)
		}
		if e.Kind != SlotLost && len(e.Slot.Capacity) != len(s.resources) {
			return fmt.Errorf("slot %s has %d resources, the pool %d", e.Slot.Name, len(e.Slot.Capacity), len(s.resources))
		}
	case Completed, EstimateChanged:
		if r, ok := s.jobs.Get(e.Job); !ok || r.phase != running {
			return fmt.Errorf("job %d does not run", e.Job)
		}
	case StartFailed:
		if r, ok := s.jobs.Get(e.Job); !ok || r.placement == nil {
			return fmt.Errorf("job %d was not started or planned", e.Job)
		}
	case Removed:
		if _, ok := s.jobs.Get(e.Job); !ok {
			return fmt.Errorf("job %d is unknown", e.Job)
		}
	case Changed, Submitted:
		return s.validateSpec(e, sets)
	case PolicyChanged, Wake:
	default:
		return fmt.Errorf("unknown kind %d", e.Kind)
	}
	return nil
}

func (s *State) validateSpec(e Event, sets int) error {
	if e.Spec == nil {
		return errors.New("no job is given")
	}
	r, known := s.jobs.Get(e.Spec.ID)
	switch {
	case e.Kind == Submitted && known:
		return fmt.Errorf("job %d is known already", e.Spec.ID)
	case e.Kind == Changed && (!known || r.phase == running):
		return fmt.Errorf("job %d does not wait", e.Spec.ID)
	case e.Spec.Candidates < 0 || e.Spec.Candidates >= sets:
		return fmt.Errorf("job %d has an unknown candidate set %d", e.Spec.ID, e.Spec.Candidates)
	}
	return e.Spec.validate(len(s.resources))
}
