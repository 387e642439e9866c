package backfill

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// Snapshot is a complete state as plain data, for another process, a file, or a test.
// [View.Snapshot] and [Restore] are inverse to each other.
type Snapshot struct {
	Resources  []string
	Rule       profile.Rule
	Now        Time
	Revision   uint64
	Policy     string // the active one
	Guarantees bool
	Planning   Planning
	Slots      []SlotState
	Bundles    []Bundle
	Candidates []CandidateSet
	Rows       []Row
	Jobs       []JobState
	Wakes      []Time
	// KeepFreed is how many seconds the state remembers what jobs gave back, and Freed is what it
	// remembers; see [Cycle.KeepFreed].
	KeepFreed Time
	Freed     []Freed
}

// SlotState is a slot and whether it is in the pool now.
type SlotState struct {
	Slot
	Up bool
}

// JobState is a job with its key, where it stands, and its place.
type JobState struct {
	Job       *Job
	Key       float64
	Alone     bool // no other job waited when it arrived
	Placement Placement
	Standing
}

// Standing is what becomes of a job: it runs, is held, has a reservation or only waits; and what it was
// promised.
type Standing struct {
	Running bool `json:"running,omitempty"`
	// Pinned says of a running job that it starts once others have made way, at Start as far as is known;
	// and Yields that it runs until it has made way for another.
	Pinned bool `json:"pinned,omitempty"`
	Yields bool `json:"yields,omitempty"`
	// Held is the reason why the job is held out of the queue; "" if it is not held.
	Held string `json:"held,omitempty"`
	// Start is the start of the run or of the reservation, and End its expected end. A job that waits
	// without a place has no reservation.
	Start Time `json:"start,omitempty"`
	End   Time `json:"end,omitempty"`
	// Guarantee is the latest start that was promised; it counts only if Promised.
	Promised  bool `json:"promised,omitempty"`
	Guarantee Time `json:"guarantee,omitempty"`
}

// Snapshot copies the state. It must not be called while a cycle is open that has taken an event or
// acted.
func (s *View) Snapshot() Snapshot {
	snap := Snapshot{
		Resources: s.resources, Rule: s.rule, Now: s.now, Revision: s.revision,
		Policy: s.policy, Guarantees: s.guarantees, Planning: s.planning, Wakes: slices.Clone(s.wakes),
		Rows:      append([]Row(nil), s.rows...),
		KeepFreed: s.freed.keep, Freed: s.freed.parts, Bundles: append([]Bundle(nil), s.bundles...),
		Slots: make([]SlotState, 0, len(s.slots)), Jobs: make([]JobState, 0, s.jobs.Len()),
	}
	for _, slot := range s.slots {
		snap.Slots = append(snap.Slots, SlotState{Slot: slot, Up: s.profile.Up(slot.ID)})
	}
	for id, c := range s.candidates {
		snap.Candidates = append(snap.Candidates, CandidateSet{ID: id, Candidates: *c})
	}
	s.jobs.Scan(func(_ JobID, r *record) bool {
		snap.Jobs = append(snap.Jobs, s.stateOf(r))
		return true
	})
	return snap
}

// capacity returns the summed capacity of the slots that are up, those aside that [Restore] refuses.
func (snap *Snapshot) capacity() Vector {
	sum := make(Vector, len(snap.Resources))
	for i := range snap.Slots {
		if s := &snap.Slots[i]; s.Up && len(s.Capacity) == len(sum) {
			sum.AddScaled(s.Capacity, 1)
		}
	}
	return sum
}

// Settled lists by ID the jobs that run, have a reservation or are held: what a snapshot says of all jobs
// but those that only wait, of which there may be a million.
func (s *View) Settled() []JobState {
	all := make([]JobState, 0, s.running.Len()+s.planned.Len()+s.held.Len())
	add := func(j *Job) bool {
		all = append(all, s.stateOf(s.jobs.Find(j.ID)))
		return true
	}
	s.running.Scan(func(p queued) bool { return add(p.job) })
	s.planned.Scan(func(p planned) bool { return add(p.job) })
	s.held.Scan(func(q queued) bool { return add(q.job) })
	slices.SortFunc(all, func(a, b JobState) int { return cmp.Compare(a.Job.ID, b.Job.ID) })
	return all
}

func (s *View) stateOf(r *record) JobState {
	return JobState{
		Job: r.job, Key: s.keyOf(r), Alone: r.alone, Placement: r.placement,
		Standing: Standing{
			Running: r.phase == running, Held: r.hold, Start: r.start, End: r.end, Promised: r.promised,
			Guarantee: r.guarantee, Pinned: r.pinned, Yields: r.yields,
		},
	}
}

// JobError says which job of a snapshot is invalid.
type JobError struct {
	Job JobID
	Err error
}

func (e *JobError) Error() string { return "snapshot: " + e.Err.Error() }
func (e *JobError) Unwrap() error { return e.Err }

// Restore creates a state from a snapshot. It returns an error if slots, bundles, candidate sets or
// the log of freed resources are invalid, and a [*JobError] if a job is invalid, runs without a
// placement, or is held and has a placement.
func Restore(snap Snapshot) (*State, error) {
	s := NewState(snap.Resources, snap.Rule)
	s.now, s.revision, s.wakes = snap.Now, snap.Revision, slices.Clone(snap.Wakes)
	s.policy, s.guarantees, s.planning = snap.Policy, snap.Guarantees, snap.Planning
	if err := s.planning.validate(); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	s.profile.Forget(snap.Now)
	for i, slot := range snap.Slots {
		if int(slot.ID) != i {
			return nil, fmt.Errorf("snapshot: slot %d stands in place %d", slot.ID, i)
		}
		if err := slot.validate(len(s.resources)); err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
		s.setSlot(slot.Slot, true)
		if !slot.Up {
			s.setSlot(slot.Slot, false)
		}
	}
	for _, b := range snap.Bundles {
		if err := b.validate(s.bundles, s.slots, MaxSlots); err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
		s.addBundle(b)
	}
	for i, set := range snap.Candidates {
		if set.ID != i {
			return nil, fmt.Errorf("snapshot: candidate set %d stands in place %d", set.ID, i)
		}
		// A set may name slots that the open round will add, as a bundle may.
		if err := set.validate(i, math.MaxInt32, math.MaxInt32, len(s.resources)); err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
		s.setCandidates(set.ID, &set.Candidates)
	}
	for i, row := range snap.Rows {
		if int(row.ID) != i {
			return nil, fmt.Errorf("snapshot: row %d stands in place %d", row.ID, i)
		}
		if err := row.validate(i); err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
		s.setRow(row)
	}
	s.listShares()
	for _, j := range snap.Jobs {
		if err := s.restoreJob(j); err != nil {
			return nil, &JobError{Job: j.id(), Err: err}
		}
	}
	s.queue.list()
	s.followOpenings()
	s.freed = freedLog{keep: snap.KeepFreed, parts: slices.Clone(snap.Freed)}
	if err := s.freed.validate(len(s.slots), len(s.resources)); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return s, nil
}

func (s *State) restoreJob(j JobState) error {
	with := there{slots: len(s.slots), rows: len(s.rows), bundles: s.bundles, before: s.candidates}
	if err := s.validateSpec(&Event{Kind: Submitted, Job: j.Job, Key: j.Key}, &with); err != nil {
		return err
	}
	if err := j.validate(&with); err != nil {
		return err
	}
	r := record{
		job: j.Job, key: j.Key, alone: j.Alone, hold: j.Held,
		placement: j.Placement, start: j.Start, end: j.End, promised: j.Promised, guarantee: j.Guarantee,
		pinned: j.Pinned, yields: j.Yields,
	}
	switch {
	case j.Held != "":
		r.phase = held
	case j.Running:
		r.phase = running
	}
	err := s.set(j.Job.ID, &r, unchecked, new(record))
	return err
}

func (j JobState) id() JobID {
	if j.Job == nil {
		return 0
	}
	return j.Job.ID
}

// validate returns an error if the placement is invalid, or does not go with the job's phase.
func (j JobState) validate(with *there) error {
	placed := j.Placement != nil
	if placed {
		if err := j.Job.validatePlacement(j.Placement, with); err != nil {
			return err
		}
	}
	switch {
	case j.Running && !placed:
		return fmt.Errorf("job %d runs nowhere", j.Job.ID)
	case !j.Running && (j.Pinned || j.Yields), j.Pinned && j.Yields:
		return fmt.Errorf("job %d cannot be pinned or make way: it does not run", j.Job.ID)
	case placed && !j.Running && j.Job.Early(j.Start):
		return fmt.Errorf("job %d is planned for %d, and may not start before %d", j.Job.ID, j.Start, j.Job.Release)
	case j.Held != "" && placed:
		return fmt.Errorf("job %d is held and has a place", j.Job.ID)
	}
	return nil
}
