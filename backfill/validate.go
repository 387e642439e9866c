package backfill

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// validate returns an error if the round contradicts itself or the state.
func (s *State) validate(r *Round) error {
	if r.Now < s.now {
		return fmt.Errorf("time runs backwards: the round is at %d, the state at %d", r.Now, s.now)
	}
	if err := r.Planning.validate(); err != nil {
		return err
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
	var told tellings
	var up upness
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
		with.slots, with.again = slots, told.again(e)
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

// tellings records which jobs have had an event in a round (seen), a StartFailed or Removed event
// (back, gone), or a Changed or Submitted event after that (changed), and which slots were lost in it,
// even if they returned.
type tellings struct {
	seen, back, gone, changed JobSet
	lost                      []SlotID
}

// again reports whether an event submits a job that the round has removed.
func (t *tellings) again(e *Event) bool {
	return e.Kind == Submitted && e.Job != nil && t.gone.Has(e.Job.ID)
}

// add records an event and returns the ID of its job. It returns false if the job has too many:
// each job has one event, but a Changed event may follow StartFailed, and a Submitted event Removed.
func (t *tellings) add(e *Event) (id JobID, ok bool) {
	id, ok = e.concerns()
	if e.Kind == SlotLost {
		t.lost = append(t.lost, e.Slot.ID)
	}
	switch e.Kind {
	case StartFailed:
		t.back.Add(id)
	case Removed:
		t.gone.Add(id)
	default:
	}
	again := e.Kind == Changed && t.back.Has(id) || e.Kind == Submitted && t.gone.Has(id)
	return id, !ok || t.seen.Add(id) || again && t.changed.Add(id)
}

// stillRuns reports whether a job runs, and on none of the slots that were lost.
func (s *State) stillRuns(id JobID, lost []SlotID) bool {
	r := s.jobs.Find(id)
	return r.phase == running && !slices.ContainsFunc(r.placement,
		func(c Chunks) bool { return slices.Contains(lost, c.Slot) })
}

// there is what events may refer to: the state's slots, bundles and candidate sets, with those that
// the round adds.
type there struct {
	slots   int
	rows    int
	bundles []Bundle
	before  []*Candidates
	again   bool                // the event's job was removed in the round
	sets    map[int]*Candidates // the round's own: they replace those before, or are new
}

// candidates returns the candidate set with the ID, or false if there is none.
func (t *there) candidates(id int) (*Candidates, bool) {
	if set, ok := t.sets[id]; ok {
		return set, true
	}
	if id < 0 || id >= len(t.before) {
		return nil, false
	}
	return t.before[id], true
}

// with returns what the round's events may refer to, and the value that checks its slot events (see
// [State.bundled]). It returns an error if a bundle or candidate set of the round is invalid.
func (s *State) with(r *Round) (t there, whole bundled, err error) {
	t = there{slots: len(s.slots), before: s.candidates}
	if t.rows, err = s.rowsWith(r); err != nil {
		return t, whole, err
	}
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
		if err = set.validate(known, t.slots, len(t.bundles), len(s.resources)); err != nil {
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
	case Released:
		switch {
		case r == nil || r.phase == running || r.job.Release == 0:
			return fmt.Errorf("job %d does not wait for its earliest start", e.JobID)
		case r.job.Early(now):
			return fmt.Errorf("job %d may not start before %d: it is %d", e.JobID, r.job.Release, now)
		}
	case EndsSooner:
		return s.validateSooner(e, now)
	case Pinned:
		return s.validatePin(e, now, with)
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

// validateFound returns an error if a job is invalid, or cannot run where or when it was found.
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

// upness says whether slots are up, for those slots that the round's events so far have changed.
type upness map[SlotID]bool

// follow records an event that brings a slot up or takes it away. It returns an error if the event
// finds a job on a slot that is not up at that point of the round. The profile is the one before
// the round.
func (u *upness) follow(e *Event, before *profile.Profile) error {
	switch e.Kind {
	case SlotAdded, SlotChanged, SlotLost:
		if *u == nil {
			*u = upness{}
		}
		(*u)[e.Slot.ID] = e.Kind != SlotLost
	case Found:
		for _, c := range e.Placement {
			up, told := (*u)[c.Slot]
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

// validatePlacement returns an error unless the placement has exactly the job's chunks, on slots
// that exist, each named once; for a job that takes a bundle whole, unless it is exactly a bundle.
func (j *Job) validatePlacement(at Placement, with *there) error {
	if j.Whole {
		switch {
		case !slices.ContainsFunc(with.bundles, func(b Bundle) bool { return b.at(at) }):
			return fmt.Errorf("job %d takes one bundle whole, and %v is none", j.ID, at)
		case int(at[len(at)-1].Slot) >= with.slots: // the round is still to add this slot
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
	if s.End < 0 || s.End > Forever {
		return fmt.Errorf("slot %s ends at %d: must be from 0, which means never, to the end of time", s.Name, s.End)
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
	case e.Kind == Submitted && r != nil && !with.again:
		return fmt.Errorf("job %d is known already", e.Job.ID)
	case e.Kind == Changed && r == nil:
		return fmt.Errorf("job %d does not wait", e.Job.ID)
	case !known:
		return fmt.Errorf("job %d has an unknown candidate set %d", e.Job.ID, e.Job.Candidates)
	}
	if err := e.Job.suits(set); err != nil {
		return err
	}
	if err := e.Job.validateTakes(with.rows); err != nil {
		return err
	}
	if err := validateKey(JobKey{Job: e.Job.ID, Key: e.Key}); err != nil {
		return err
	}
	return e.Job.validate(len(s.resources))
}

// validateKey returns an error if the key is not a number: it would have no place in any order.
func validateKey(k JobKey) error {
	if math.IsNaN(k.Key) {
		return fmt.Errorf("job %d: its key is not a number", k.Job)
	}
	return nil
}
