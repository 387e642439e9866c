package backfill

import (
	"cmp"
	"fmt"
	"slices"
)

// EventKind says what happened. The kinds are listed in the order in which a
// cycle applies them, but for Found: it and EstimateChanged, which both say what
// is true of running jobs, are applied together, in order of jobs.
type EventKind uint8

// What can happen to a pool.
const (
	PolicyChanged   EventKind = iota + 1 // another policy decides from here on; also the first event of all
	SlotAdded                            // a slot came up
	Completed                            // a running job ended
	SlotLost                             // a slot is gone; what ran there goes back to the queue
	SlotChanged                          // a slot has another capacity
	StartFailed                          // a start failed, its time passed unused, or a job was evicted
	EstimateChanged                      // a running job is expected to end at another time
	Removed                              // a job was taken away, running or not
	Changed                              // a waiting or held job was edited, or its candidates were
	Submitted                            // a job arrived
	Wake                                 // a planned start or a time that the policy asked for has come
	Found                                // a job runs that the host did not start, or elsewhere than it thinks
)

var eventNames = [...]string{
	"", "policy changed", "slot added", "completed", "slot lost", "slot changed",
	"start failed", "estimate changed", "removed", "changed", "submitted", "wake", "found",
}

func (k EventKind) String() string {
	return nameOf(eventNames[:], int(k))
}

// class is the first of the kinds that are applied together.
func (k EventKind) class() EventKind {
	switch k {
	case SlotChanged:
		return SlotLost
	case Found:
		return EstimateChanged
	case Changed:
		return Removed
	default:
		return k
	}
}

// Event is one thing that happened. Which fields count depends on its kind.
type Event struct {
	Kind EventKind
	// JobID is the job concerned: Completed, StartFailed, EstimateChanged,
	// Removed.
	JobID JobID
	// Job is the job that arrives (Submitted), replaces one of the same ID
	// (Changed), or runs, known before or not (Found), and Key its place in the
	// queue's order, lower first.
	Job *Job
	Key float64
	// Slot is the slot concerned: SlotAdded, SlotLost, SlotChanged.
	Slot Slot
	// Placement and Start are where the job runs and since when: Found. The slots
	// are up; what runs there may be more than they have, until some of it ends.
	Placement Placement
	Start     Time
	// End is the running job's expected end: Found, EstimateChanged. To a host, one that
	// is past says as much as none: it is reckoned as that of a job which was started.
	End Time
	// Policy is the new policy's name, and Guarantees whether it gives
	// guarantees: PolicyChanged.
	Policy     string
	Guarantees bool

	// The rest is filled in by Cycle.Next, for the policy to react to.

	// Freed says that the event gave back resources which had been planned for:
	// an early completion, a removal, a new slot, a reservation that is void or not
	// needed any more.
	Freed bool
	// Displaced are the waiting jobs without a place that the event leaves
	// behind, in the order in which they are to be placed: by planned start,
	// then order of jobs. A policy that gives guarantees places them anew.
	Displaced []*Job
}

// concerns is the job that the event is about, if it is about one.
func (e *Event) concerns() (JobID, bool) {
	switch e.Kind {
	case Completed, StartFailed, EstimateChanged, Removed:
		return e.JobID, true
	case Changed, Submitted, Found:
		if e.Job != nil {
			return e.Job.ID, true
		}
	default:
	}
	return 0, false
}

// Slot is one partitionable or static slot of the pool.
type Slot struct {
	ID       SlotID
	Name     string
	Capacity Vector
}

// CandidateSet is a set of slots, or of bundles, that matchmaking found for one or more
// jobs. As long as jobs use it, it stays one of slots or one of bundles.
type CandidateSet struct {
	ID         int
	Candidates Candidates
}

// validate refuses a set that would leave a gap behind those there are, that
// names slots or bundles which are not, or both, or whose ranks do not belong to them.
func (c CandidateSet) validate(sets, slots, bundles int) error {
	if c.ID < 0 || c.ID > sets {
		return fmt.Errorf("candidate set %d: the next free ID is %d", c.ID, sets)
	}
	for i, id := range c.Candidates.Slots {
		if id < 0 || int(id) >= slots {
			return fmt.Errorf("candidate set %d: unknown slot %d", c.ID, id)
		}
		if i > 0 && id <= c.Candidates.Slots[i-1] {
			return fmt.Errorf("candidate set %d: slot %d is not in ascending order", c.ID, id)
		}
	}
	for i, id := range c.Candidates.Bundles {
		if id < 0 || int(id) >= bundles {
			return fmt.Errorf("candidate set %d: unknown bundle %d", c.ID, id)
		}
		if i > 0 && id <= c.Candidates.Bundles[i-1] {
			return fmt.Errorf("candidate set %d: bundle %d is not in ascending order", c.ID, id)
		}
	}
	of, what := len(c.Candidates.Slots), "slots"
	if n := len(c.Candidates.Bundles); n > 0 {
		if of > 0 {
			return fmt.Errorf("candidate set %d: has %d slots and %d bundles: a job takes the one or the other", c.ID,
				of, n)
		}
		of, what = n, "bundles"
	}
	if ranks := len(c.Candidates.Rank); c.Candidates.Rank != nil && ranks != of {
		return fmt.Errorf("candidate set %d: %d ranks for %d %s", c.ID, ranks, of, what)
	}
	return nil
}

// Round is what the host puts to a policy: what happened since the last one.
type Round struct {
	Now Time
	// Bundles are new ones, of slots that there are or that come with the round. Like
	// the candidate sets, they hold from the opening of the cycle.
	Bundles []Bundle
	// Candidates are sets that are new or have changed; they hold from the
	// opening of the cycle.
	Candidates []CandidateSet
	// Keys are the jobs whose place in the queue's order has changed, whether
	// they wait, run or are held; they hold from the opening of the cycle.
	Keys   []JobKey
	Events []Event
}

// JobKey is a job's place in the queue's order, lower first.
type JobKey struct {
	Job JobID
	Key float64
}

// concerned are the jobs that have an event in the round.
func (r *Round) concerned() (jobs jobSet) {
	for i := range r.Events {
		if id, ok := r.Events[i].concerns(); ok {
			jobs.Add(id)
		}
	}
	return jobs
}

// sortEvents brings the events into the order in which they are applied:
// by kind; completions by start, then order of jobs; jobs in order of jobs.
func (s *State) sortEvents(events []Event) {
	if len(events) < 2 {
		return
	}
	slices.SortStableFunc(events, func(a, b Event) int {
		if c := cmp.Compare(a.Kind.class(), b.Kind.class()); c != 0 {
			return c
		}
		if a.Kind <= SlotAdded || a.Kind == SlotLost || a.Kind == SlotChanged || a.Kind == Wake {
			return cmp.Compare(a.Slot.ID, b.Slot.ID)
		}
		ja, jb := s.eventJob(a), s.eventJob(b)
		if ja == nil || jb == nil {
			return cmp.Compare(a.JobID, b.JobID)
		}
		if a.Kind == Completed {
			return s.CompareEnds(a.JobID, b.JobID)
		}
		return Compare(ja, jb)
	})
}

// CompareEnds is the order in which jobs complete at an instant: the one that started
// earlier first, then order of jobs.
func (s *State) CompareEnds(a, b JobID) int {
	ra, rb := s.jobs.Find(a), s.jobs.Find(b)
	if ra == nil || rb == nil {
		return cmp.Compare(a, b)
	}
	return cmp.Or(cmp.Compare(ra.start, rb.start), Compare(ra.job, rb.job))
}

// eventJob is the job that an event concerns, or nil if it is unknown.
func (s *State) eventJob(e Event) *Job {
	if e.Kind == Submitted || e.Kind == Changed || e.Kind == Found {
		return e.Job
	}
	if r := s.jobs.Find(e.JobID); r != nil {
		return r.job
	}
	return nil
}
