package backfill

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// validate refuses a round that cannot be true.
func (s *State) validate(r Round) error {
	if r.Now < s.now {
		return fmt.Errorf("time runs backwards: the round is at %d, the state at %d", r.Now, s.now)
	}
	with, whole, err := s.with(r)
	if err != nil {
		return err
	}
	for _, k := range r.Keys {
		if s.jobs.Find(k.Job) == nil {
			return fmt.Errorf("key %v for job %d, which is unknown", k.Key, k.Job)
		}
		if err := validateKey(k); err != nil {
			return err
		}
	}
	slots := len(s.slots)
	var class EventKind
	told, up := tellings{}, upness{}
	for i := range r.Events {
		e := &r.Events[i]
		if id, ok := told.add(e); !ok {
			return fmt.Errorf("event %d (%v): job %d has more than one event in the round", i, e.Kind, id)
		}
		if e.Kind.class() < class {
			return fmt.Errorf("event %d (%v) is out of order", i, e.Kind)
		}
		class = e.Kind.class()
		if e.Kind == SlotAdded && int(e.Slot.ID) == slots {
			slots++
		}
		with.slots = slots
		if err := s.validateEvent(e, r.Now, &with); err != nil {
			return fmt.Errorf("event %d (%v): %w", i, e.Kind, err)
		}
		if err := whole.follow(e); err != nil {
			return fmt.Errorf("event %d (%v): %w", i, e.Kind, err)
		}
		if e.Kind == Changed && !told.back.Has(e.Job.ID) && s.stillRuns(e.Job.ID, told.lost) {
			return fmt.Errorf("event %d (%v): job %d does not wait", i, e.Kind, e.Job.ID)
		}
		if err := up.follow(e, s.profile); err != nil {
			return fmt.Errorf("event %d (%v): %w", i, e.Kind, err)
		}
	}
	return nil
}

// tellings are the jobs that have had their event in a round, and the slots that were
// lost in it, some of which may be there again.
type tellings struct {
	seen, back, changed jobSet
	lost                []SlotID
}

// add takes note of an event. There is one for each job, but that one which comes back to
// the queue may do so as another; it is false for a job that has one too many.
func (t *tellings) add(e *Event) (id JobID, ok bool) {
	id, ok = e.concerns()
	if e.Kind == SlotLost {
		t.lost = append(t.lost, e.Slot.ID)
	}
	if e.Kind == StartFailed {
		t.back.Add(id)
	}
	return id, !ok || t.seen.Add(id) || e.Kind == Changed && t.back.Has(id) && t.changed.Add(id)
}

// stillRuns reports whether a job runs, and on none of the slots that were lost.
func (s *State) stillRuns(id JobID, lost []SlotID) bool {
	r := s.jobs.Find(id)
	return r.phase == running && !slices.ContainsFunc(r.placement,
		func(c Chunks) bool { return slices.Contains(lost, c.Slot) })
}

// there is what jobs may name: what there is once a round has added its own.
type there struct {
	slots   int
	bundles []Bundle
	before  []*Candidates
	sets    map[int]*Candidates // instead of those before, and beyond them
}

// candidates is the set of that ID, if there is one.
func (t *there) candidates(id int) (*Candidates, bool) {
	if set, ok := t.sets[id]; ok {
		return set, true
	}
	if id < 0 || id >= len(t.before) {
		return nil, false
	}
	return t.before[id], true
}

// with is what there is with the round's own slots, bundles and candidate sets, which
// are refused if they cannot be.
func (s *State) with(r Round) (t there, whole bundled, err error) {
	t = there{slots: len(s.slots), before: s.candidates}
	for i := range r.Events {
		e := &r.Events[i]
		if e.Kind == SlotAdded && int(e.Slot.ID) == t.slots {
			t.slots++
		}
	}
	if whole, t.bundles, err = s.bundled(r, t.slots); err != nil || len(r.Candidates) == 0 {
		return t, whole, err
	}
	t.sets = make(map[int]*Candidates, len(r.Candidates))
	known := len(s.candidates)
	for i := range r.Candidates {
		set := &r.Candidates[i]
		if err = set.validate(known, t.slots, len(t.bundles)); err != nil {
			return t, whole, err
		}
		if set.ID < len(s.candidates) {
			if err = s.keepsKind(set); err != nil {
				return t, whole, fmt.Errorf("candidate set %d: %w", set.ID, err)
			}
		}
		known = max(known, set.ID+1)
		t.sets[set.ID] = &set.Candidates
	}
	return t, whole, nil
}

func (s *State) validateEvent(e *Event, now Time, with *there) error {
	r := s.jobs.Find(e.JobID)
	switch e.Kind {
	case SlotAdded, SlotLost, SlotChanged:
		return s.validateSlot(e, with.slots)
	case Completed, EstimateChanged:
		if r == nil || r.phase != running {
			return fmt.Errorf("job %d does not run", e.JobID)
		}
		if e.Kind == EstimateChanged && (e.End <= now || e.End > Forever) {
			return fmt.Errorf("job %d cannot be expected to end at %d: it is %d", e.JobID, e.End, now)
		}
	case StartFailed:
		if r == nil || r.placement == nil || r.phase == waiting && r.start > now {
			return fmt.Errorf("job %d was not to be started", e.JobID)
		}
	case Removed:
		if r == nil {
			return fmt.Errorf("job %d is unknown", e.JobID)
		}
	case Changed, Submitted:
		return s.validateSpec(e, with)
	case Found:
		return s.validateFound(e, now, with)
	case PolicyChanged, Wake:
	default:
		return fmt.Errorf("unknown kind %d", e.Kind)
	}
	return nil
}

// validateFound refuses a job that cannot run where or when it was found.
func (s *State) validateFound(e *Event, now Time, with *there) error {
	if err := s.validateSpec(e, with); err != nil {
		return err
	}
	if err := e.Job.validatePlacement(e.Placement, with); err != nil {
		return err
	}
	switch {
	case e.Start > now || e.Start <= -Forever:
		return fmt.Errorf("job %d cannot run since %d: it is %d", e.Job.ID, e.Start, now)
	case e.End <= now || e.End > Forever:
		return fmt.Errorf("job %d cannot be expected to end at %d: it is %d", e.Job.ID, e.End, now)
	}
	return nil
}

// upness is which slots are up in the course of a round, as far as it changes that.
type upness map[SlotID]bool

// follow takes note of an event, and refuses a job that is found on a slot that is not
// up by then.
func (u upness) follow(e *Event, before *profile.Profile) error {
	switch e.Kind {
	case SlotAdded, SlotChanged, SlotLost:
		u[e.Slot.ID] = e.Kind != SlotLost
	case Found:
		for _, c := range e.Placement {
			up, told := u[c.Slot]
			if !told {
				up = before.Up(c.Slot)
			}
			if !up {
				return fmt.Errorf("job %d runs on slot %d, which is not there", e.Job.ID, c.Slot)
			}
		}
	default:
	}
	return nil
}

// validatePlacement refuses a placement of other than all the job's chunks, each
// slot named once, or than one bundle for a job that takes one whole.
func (j *Job) validatePlacement(at Placement, with *there) error {
	if j.Whole {
		switch {
		case !slices.ContainsFunc(with.bundles, func(b Bundle) bool { return b.at(at) }):
			return fmt.Errorf("job %d takes one bundle whole, and %v is none", j.ID, at)
		case int(at[len(at)-1].Slot) >= with.slots: // one to come
			return fmt.Errorf("job %d is on an unknown slot %d", j.ID, at[len(at)-1].Slot)
		}
		return nil
	}
	count := 0
	for i, c := range at {
		switch {
		case c.Slot < 0 || int(c.Slot) >= with.slots:
			return fmt.Errorf("job %d is on an unknown slot %d", j.ID, c.Slot)
		case c.Count < 1 || c.Count > j.Nodes:
			return fmt.Errorf("job %d has %d chunks on slot %d", j.ID, c.Count, c.Slot)
		case slices.ContainsFunc(at[:i], func(o Chunks) bool { return o.Slot == c.Slot }):
			return fmt.Errorf("job %d is on slot %d twice", j.ID, c.Slot)
		}
		count += c.Count
	}
	if count != j.Nodes {
		return fmt.Errorf("job %d has %d of %d chunks placed", j.ID, count, j.Nodes)
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
		if amount < 0 || amount > MaxAmount {
			return fmt.Errorf("slot %s has %v: amounts must be from 0 to %d", s.Name, s.Capacity, MaxAmount)
		}
	}
	return nil
}

func (s *State) validateSpec(e *Event, with *there) error {
	if e.Job == nil {
		return errors.New("no job is given")
	}
	r := s.jobs.Find(e.Job.ID)
	set, known := with.candidates(e.Job.Candidates)
	switch {
	case e.Kind == Submitted && r != nil:
		return fmt.Errorf("job %d is known already", e.Job.ID)
	case e.Kind == Changed && r == nil:
		return fmt.Errorf("job %d does not wait", e.Job.ID)
	case !known:
		return fmt.Errorf("job %d has an unknown candidate set %d", e.Job.ID, e.Job.Candidates)
	}
	if err := e.Job.suits(set); err != nil {
		return err
	}
	if err := validateKey(JobKey{Job: e.Job.ID, Key: e.Key}); err != nil {
		return err
	}
	return e.Job.validate(len(s.resources))
}

// validateKey refuses a key that is no number: it has no place in any order.
func validateKey(k JobKey) error {
	if math.IsNaN(k.Key) {
		return fmt.Errorf("job %d: its key is not a number", k.Job)
	}
	return nil
}

// jobSet is a set of jobs, fast while it has at most eight.
type jobSet struct {
	few  [8]JobID
	n    int // in few
	many map[JobID]bool
}

// Has reports whether the job is in the set.
func (s *jobSet) Has(id JobID) bool {
	return slices.Contains(s.few[:s.n], id) || s.many[id]
}

// Add puts a job in, and reports whether it was not there.
func (s *jobSet) Add(id JobID) bool {
	switch {
	case s.Has(id):
		return false
	case s.n < len(s.few):
		s.few[s.n] = id
		s.n++
		return true
	case s.many == nil:
		s.many = map[JobID]bool{}
	}
	s.many[id] = true
	return true
}
