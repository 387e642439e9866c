package backfill

import (
	"errors"
	"fmt"
	"math"
)

// validate refuses a round that cannot be true.
func (s *State) validate(r Round) error {
	if r.Now < s.now {
		return fmt.Errorf("time runs backwards: the round is at %d, the state at %d", r.Now, s.now)
	}
	sets, slots := s.sizesWith(r)
	known := len(s.candidates)
	for _, set := range r.Candidates {
		if err := set.validate(known, slots); err != nil {
			return err
		}
		known = max(known, set.ID+1)
	}
	for _, k := range r.Keys {
		if s.jobs.Find(k.Job) == nil {
			return fmt.Errorf("key %v for job %d, which is unknown", k.Key, k.Job)
		}
		if err := validateKey(k); err != nil {
			return err
		}
	}
	slots = len(s.slots)
	var class EventKind
	var seen jobSet
	for i := range r.Events {
		e := &r.Events[i]
		if id, ok := e.concerns(); ok {
			if !seen.Add(id) {
				return fmt.Errorf("event %d (%v): job %d has more than one event in the round", i, e.Kind, id)
			}
		}
		if e.Kind.class() < class {
			return fmt.Errorf("event %d (%v) is out of order", i, e.Kind)
		}
		class = e.Kind.class()
		if e.Kind == SlotAdded && int(e.Slot.ID) == slots {
			slots++
		}
		if err := s.validateEvent(e, r.Now, sets, slots); err != nil {
			return fmt.Errorf("event %d (%v): %w", i, e.Kind, err)
		}
	}
	return nil
}

// sizesWith is how many candidate sets and slots there are once the round has
// added its own.
func (s *State) sizesWith(r Round) (sets, slots int) {
	sets, slots = len(s.candidates), len(s.slots)
	for _, set := range r.Candidates {
		sets = max(sets, set.ID+1)
	}
	for i := range r.Events {
		e := &r.Events[i]
		if e.Kind == SlotAdded && int(e.Slot.ID) == slots {
			slots++
		}
	}
	return sets, slots
}

func (s *State) validateEvent(e *Event, now Time, sets, slots int) error {
	r := s.jobs.Find(e.Job)
	switch e.Kind {
	case SlotAdded, SlotLost, SlotChanged:
		return s.validateSlot(e, slots)
	case Completed, EstimateChanged:
		if r == nil || r.phase != running {
			return fmt.Errorf("job %d does not run", e.Job)
		}
		if e.Kind == EstimateChanged && (e.End <= now || e.End > Forever) {
			return fmt.Errorf("job %d cannot be expected to end at %d: it is %d", e.Job, e.End, now)
		}
	case StartFailed:
		if r == nil || r.placement == nil || r.phase == waiting && r.start > now {
			return fmt.Errorf("job %d was not to be started", e.Job)
		}
	case Removed:
		if r == nil {
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

func (s *State) validateSlot(e *Event, slots int) error {
	if e.Slot.ID < 0 || int(e.Slot.ID) >= slots {
		return fmt.Errorf("unknown slot %d", e.Slot.ID)
	}
	if e.Kind == SlotLost {
		return nil
	}
	return e.Slot.validate(len(s.resources))
}

func (s Slot) validate(resources int) error {
	if len(s.Capacity) != resources {
		return fmt.Errorf("slot %s has %d resources, the pool %d", s.Name, len(s.Capacity), resources)
	}
	for _, amount := range s.Capacity {
		if amount < 0 || amount > maxAmount {
			return fmt.Errorf("slot %s has %v: amounts must be from 0 to %d", s.Name, s.Capacity, maxAmount)
		}
	}
	return nil
}

func (s *State) validateSpec(e *Event, sets int) error {
	if e.Spec == nil {
		return errors.New("no job is given")
	}
	r := s.jobs.Find(e.Spec.ID)
	switch {
	case e.Kind == Submitted && r != nil:
		return fmt.Errorf("job %d is known already", e.Spec.ID)
	case e.Kind == Changed && (r == nil || r.phase == running):
		return fmt.Errorf("job %d does not wait", e.Spec.ID)
	case e.Spec.Candidates < 0 || e.Spec.Candidates >= sets:
		return fmt.Errorf("job %d has an unknown candidate set %d", e.Spec.ID, e.Spec.Candidates)
	}
	if err := validateKey(JobKey{Job: e.Spec.ID, Key: e.Key}); err != nil {
		return err
	}
	return e.Spec.validate(len(s.resources))
}

// validateKey refuses a key that is no number: it has no place in any order.
func validateKey(k JobKey) error {
	if math.IsNaN(k.Key) {
		return fmt.Errorf("job %d: its key is not a number", k.Job)
	}
	return nil
}
