package backfill

import (
	"cmp"
	"fmt"
	"slices"
)

// EventKind says what happened. A cycle applies events by kind, in the order of this list, and
// those of a kind by slot, or by submit time and queue position of their jobs; but completions by
// the start of the job first. Some kinds are applied together, as if they were one: SlotLost and
// SlotChanged; EstimateChanged and Found; Removed and Changed.
type EventKind uint8

// What can happen to a pool.
const (
	PolicyChanged   EventKind = iota + 1 // another policy decides from here on; also the first event on a new state
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
	Found                                // a job runs that the host did not start, or not as the host has it recorded
	Released                             // a waiting job may start from now on, see Job.Release
	EndsSooner                           // a running job is to end earlier, as it makes way for another one
	Pinned                               // a waiting job is given a later start by the host, as others make way for it
)

var eventNames = [...]string{
	"", "policy changed", "slot added", "completed", "slot lost", "slot changed",
	"start failed", "estimate changed", "removed", "changed", "submitted", "wake", "found", "released",
	"ends sooner", "pinned",
}

func (k EventKind) String() string {
	return nameOf(eventNames[:], int(k))
}

// class returns the first of the kinds that are applied together with this one.
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
	// JobID is the job concerned, for Completed, StartFailed, EstimateChanged, Removed, Released,
	// EndsSooner and Pinned. A pinned job that fails to start in a round that pins another job to one of
	// its slots is ousted: what it gives back counts as freed by the last event that pins a job.
	JobID JobID
	// By is the job that another one makes way for (EndsSooner).
	By JobID
	// Job is the job that arrives (Submitted), replaces one of the same ID
	// (Changed), or runs, known before or not (Found), and Key its place in the
	// queue's order, lower first.
	Job *Job
	Key float64
	// Slot is the slot concerned, for SlotAdded, SlotLost and SlotChanged.
	Slot Slot
	// Placement and Start say where the found job runs and since when (Found). The slots must be
	// up, but the jobs that run on them may use more than they have, until some of the jobs end. Of a
	// pinned job they say where it is to run, and from when on, which is later than now (Pinned).
	Placement Placement
	Start     Time
	// End is the running job's expected end (Found, EstimateChanged, EndsSooner). If it is not after now,
	// [Host.Decide] replaces that of a found job by one from the job's expected run time.
	End Time
	// Policy is the new policy's name, and Guarantees whether it gives guarantees (PolicyChanged).
	Policy     string
	Guarantees bool
	// SlotEnded says that the job had run, and that its slot took no jobs any more (StartFailed). It
	// is for the cause that is told alone, and plugins do not hear of it.
	SlotEnded bool
	// LimitChanged says that a row was changed, and not the job (Changed). Like SlotEnded it is for the
	// cause that is told alone.
	LimitChanged bool
	// stays says that only what the job takes of rows is new, and that its promised start has room in
	// them. So it is applied before events whose jobs are then given another place, see resized.
	stays bool

	// The rest is filled in by Cycle.Next, for the policy to react to.

	// Freed says that the event gave back resources which had been planned for:
	// an early completion, a removal, a new slot, a higher row (at Wake), a reservation
	// that is void or not needed any more. Of events in a row that bring slots or only let them grow, the
	// last counts as the one that gave back the room of them all. A plan that a policy
	// with guarantees takes over counts as well, as it may have room that this one leaves
	// nowhere.
	Freed bool
	// Displaced are the waiting jobs that the event leaves without a reservation, by the start that
	// was planned for them, then submit time and queue position; for PolicyChanged, by the latter
	// alone. A policy that gives guarantees plans them anew in this order. At PolicyChanged they
	// are those that it has promised nothing yet, and they may as well enter its plan once all
	// events are taken.
	Displaced []*Job

	line *line // along which the key moves; or nil
}

// concerns returns the ID of the job that the event is about, or false if it is about none.
func (e *Event) concerns() (JobID, bool) {
	switch e.Kind {
	case Completed, StartFailed, EstimateChanged, Removed, Released, EndsSooner, Pinned:
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
	// End is the instant from which on the slot has nothing; 0: it has no end. A job whose estimate is
	// its own is placed only where it ends by then.
	End Time `json:",omitempty"`
}

// Row is a limit of the pool: jobs that run and reservations take at no time more than Height of it
// together, where that allows for it.
type Row struct {
	ID     RowID
	Name   string
	Height int64
	// Unit is how much of the row counts as one in texts; 0: 1.
	Unit int64
}

// CandidateSet is a set of slots, or of bundles, that matchmaking found for one or more jobs. While
// jobs use it, it cannot change from slots to bundles or back.
type CandidateSet struct {
	ID         int
	Candidates Candidates
}

// CandidateSetBytes is about what a set takes in memory, with those who point to it, beside the
// lists of its candidates.
const CandidateSetBytes = 256

// validate returns an error if the set's ID is negative or beyond the next free one, if a slot or
// bundle is unknown or not in ascending order, if the set has both slots and bundles, or if it has
// ranks or windows, but not one or a list for each of them, or windows that overlap, touch or are
// empty; or what must be free is not an amount of each resource. The parameters are the numbers of
// sets, slots, bundles and resources that there are.
func (c CandidateSet) validate(sets, slots, bundles, resources int) error {
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
	choices, what := len(c.Candidates.Slots), "slots"
	if n := len(c.Candidates.Bundles); n > 0 {
		if choices > 0 {
			return fmt.Errorf("candidate set %d: has %d slots and %d bundles: a job takes the one or the other", c.ID,
				choices, n)
		}
		choices, what = n, "bundles"
	}
	if ranks := len(c.Candidates.Rank); c.Candidates.Rank != nil && ranks != choices {
		return fmt.Errorf("candidate set %d: %d ranks for %d %s", c.ID, ranks, choices, what)
	}
	if lists := len(c.Candidates.Windows); c.Candidates.Windows != nil && lists != choices {
		return fmt.Errorf("candidate set %d: %d lists of windows for %d %s", c.ID, lists, choices, what)
	}
	if err := c.Candidates.ValidateLeast(resources); err != nil {
		return fmt.Errorf("candidate set %d: %w", c.ID, err)
	}
	return c.validateWindows()
}

// Round is what has happened since the last round, for a policy to decide on. Its bundles,
// candidate sets, keys and planning hold as soon as the cycle opens, before any event is taken.
type Round struct {
	Now Time
	// Bundles are new; their slots exist already or are added by the round's events.
	Bundles []Bundle
	// Candidates are the candidate sets that are new or have changed.
	Candidates []CandidateSet
	// Keys are the new keys of jobs whose place in the queue's order has changed, whether the jobs
	// wait, run or are held.
	Keys []JobKey
	// Reordered are waiting jobs for which the queue's order may give another key although they are as they
	// were: the host asks it. Policies hear of it as of Keys.
	Reordered []JobID
	// Rows are new, or have another height or name. They hold as soon as the cycle opens, and the host
	// adds Changed events for the jobs that they affect, and a Wake event, which counts as the one that
	// gave back the room of those that have grown.
	Rows []Row
	// Planning changes how far the policy plans, if it is not nil.
	Planning *Planning
	Events   []Event

	moves bool // the keys of the waiting jobs move along their lines to Now; set by the host
}

// JobKey is a job's place in the queue's order, lower first.
type JobKey struct {
	Job  JobID
	Key  float64
	line *line
}

// Rekeyed reports whether keys may have changed.
func (r *Round) Rekeyed() bool { return r.moves || len(r.Keys) > 0 }

// concerned returns the jobs that have an event in the round.
func (r *Round) concerned() (jobs JobSet) {
	for i := range r.Events {
		if id, ok := r.Events[i].concerns(); ok {
			jobs.Add(id)
		}
	}
	return jobs
}

// sortEvents sorts events into the order in which they are applied, which [EventKind] describes.
func (s *State) sortEvents(events []Event) {
	if len(events) < 2 {
		return
	}
	stay := slices.ContainsFunc(events, func(e Event) bool { return e.stays })
	slices.SortStableFunc(events, func(a, b Event) int {
		if c := cmp.Compare(a.Kind.class(), b.Kind.class()); c != 0 {
			return c
		}
		if stay && a.Kind.class() == Removed {
			if c := s.compareStays(&a, &b); c != 0 {
				return c
			}
		}
		if a.Kind <= SlotAdded || a.Kind == SlotLost || a.Kind == SlotChanged || a.Kind == Wake {
			return cmp.Compare(a.Slot.ID, b.Slot.ID)
		}
		ja, jb := s.eventJob(&a), s.eventJob(&b)
		if ja == nil || jb == nil {
			return cmp.Compare(a.JobID, b.JobID)
		}
		if a.Kind == Completed {
			return s.CompareEnds(a.JobID, b.JobID)
		}
		return Compare(ja, jb)
	})
}

// compareStays puts jobs that keep their starts after those that are removed and before those that lose
// them, by planned start: so that no job that is placed anew is in their way.
func (s *State) compareStays(a, b *Event) int {
	rank := func(e *Event) int {
		switch {
		case e.Kind == Removed:
			return 0
		case e.stays:
			return 1
		default:
			return 2
		}
	}
	if c := cmp.Compare(rank(a), rank(b)); c != 0 || !a.stays {
		return c
	}
	return cmp.Compare(s.jobs.Find(a.Job.ID).start, s.jobs.Find(b.Job.ID).start)
}

// CompareEnds compares two jobs that complete at the same instant: the one that started earlier
// comes first, then the one that is first by submit time and queue position.
func (s *State) CompareEnds(a, b JobID) int {
	ra, rb := s.jobs.Find(a), s.jobs.Find(b)
	if ra == nil || rb == nil {
		return cmp.Compare(a, b)
	}
	return cmp.Or(cmp.Compare(ra.start, rb.start), Compare(ra.job, rb.job))
}

// eventJob returns the job that an event concerns, or nil if the job is unknown.
func (s *State) eventJob(e *Event) *Job {
	if e.Kind == Submitted || e.Kind == Changed || e.Kind == Found {
		return e.Job
	}
	if r := s.jobs.Find(e.JobID); r != nil {
		return r.job
	}
	return nil
}
