package backfill

import (
	"slices"

	"github.com/tidwall/btree"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// State is all there is to know when a decision is taken: the pool's slots, the
// jobs that wait, run or are held, their reservations and guarantees, and the
// profile that follows from them. The host owns it; a policy acts on it through
// a [Cycle]. Between cycles a policy keeps nothing that matters, so a state can
// be cloned, exported, replayed, or handed to another policy at any time.
type State struct {
	resources  []string
	rule       profile.Rule
	now        Time
	revision   uint64
	policy     string // in charge
	guarantees bool   // whether it gives them

	slots      []Slot // by SlotID; the profile knows which of them are up
	bundles    []Bundle
	candidates []*Candidates
	profile    *profile.Profile
	use        Vector // what runs
	capacity   Vector // of the slots that are up
	wakes      []Time // ascending
	memo       any    // of the policy, of this very state; see Cycle.Memo

	void []record // the reservations that the last round's starts made void, as they were; see giveWay

	// The jobs, and four ways to walk them. All are copied on write.
	jobs    *table
	queue   *btree.BTreeG[queued]  // waiting, by the queue's order
	planned *btree.BTreeG[planned] // waiting with a place, by planned start
	running *btree.BTreeG[planned] // by expected end
	held    *btree.BTreeG[queued]  // out of the queue, by what was their place in it

	queueChanges int // counts what came into the queue and left it

	cycle *Cycle // the last one, whose room the next may use; nil while one is open

	freed freedLog // by jobs, of late
}

// maxSpare bounds the room that is kept for the next round.
const maxSpare = 4096

// phase is where a job stands.
type phase uint8

const (
	waiting phase = iota
	running
	held
)

// record is what the state holds of a job; one without a job is none.
type record struct {
	job       *Job
	placement Placement // of the running job or the reservation; nil: none
	start     Time      // actual or planned start, if placed
	end       Time      // expected end, if placed
	key       float64   // in the queue's order, lower first
	guarantee Time      // the latest start that was promised
	hold      string    // why it is held
	phase     phase
	lifted    Cause // why the guarantee does not bind in this round
	promised  bool  // there is a guarantee
	alone     bool  // no other job waited when it arrived
}

// in says that there is a job and that it is in the phase.
func (r *record) in(p phase) bool { return r.job != nil && r.phase == p }

// queued is a job's entry in the queue.
type queued struct {
	key float64
	job *Job
}

// planned is a job with an instant: a planned start or an expected end.
type planned struct {
	at  Time
	job *Job
}

// NewState returns the state of an empty pool with the named resources, cpus
// first, and no jobs. The rule chooses between slots.
func NewState(resources []string, rule profile.Rule) *State {
	options := btree.Options{NoLocks: true}
	byTime := func(a, b planned) bool {
		if a.at != b.at {
			return a.at < b.at
		}
		return Compare(a.job, b.job) < 0
	}
	byKey := func(a, b queued) bool {
		if a.key != b.key {
			return a.key < b.key
		}
		return Compare(a.job, b.job) < 0
	}
	return &State{
		resources: resources,
		rule:      rule,
		now:       -Forever,
		profile:   profile.New(rule),
		use:       make(Vector, len(resources)),
		capacity:  make(Vector, len(resources)),
		jobs:      newTable(),
		queue:     btree.NewBTreeGOptions(byKey, options),
		planned:   btree.NewBTreeGOptions(byTime, options),
		running:   btree.NewBTreeGOptions(byTime, options),
		held:      btree.NewBTreeGOptions(byKey, options),
	}
}

// Clone returns an independent copy that shares what neither side changes. It is made
// between two cycles, and takes a millisecond or two for 10,000 slots and jobs. Then
// another goroutine may ask the copy, one at a time, while the original goes on.
func (s *State) Clone() *State {
	c := *s
	c.memo, c.cycle = nil, nil
	c.profile = s.profile.Clone()
	c.slots, c.candidates, c.wakes = slices.Clone(s.slots), slices.Clone(s.candidates), slices.Clone(s.wakes)
	c.bundles = slices.Clone(s.bundles)
	c.use, c.capacity = slices.Clone(s.use), slices.Clone(s.capacity)
	c.freed.parts = slices.Clone(s.freed.parts)
	c.jobs, c.queue, c.held = s.jobs.Copy(), s.queue.Copy(), s.held.Copy()
	c.planned, c.running = s.planned.Copy(), s.running.Copy()
	return &c
}

// Now is the instant of the last cycle.
func (s *State) Now() Time { return s.now }

// Revision counts the decisions that led to this state.
func (s *State) Revision() uint64 { return s.revision }

// Policy is the policy in charge, and whether it gives guarantees; "": none has
// decided yet.
func (s *State) Policy() (name string, guarantees bool) { return s.policy, s.guarantees }

// Resources are the names of the pool's resources, cpus first.
func (s *State) Resources() []string { return s.resources }

// Slots are all slots that the pool ever had, by SlotID.
func (s *State) Slots() []Slot { return s.slots }

// SlotUp reports whether the slot is there now.
func (s *State) SlotUp(id SlotID) bool { return s.profile.Up(id) }

// Free is what is free on a slot at t, by plan.
func (s *State) Free(id SlotID, t Time) Vector { return s.profile.Free(id, t) }

// Use is what the running jobs hold of each resource, Capacity what the slots
// that are up have. Neither may be changed.
func (s *State) Use() Vector { return s.use }

// Capacity is the sum of the slots that are up.
func (s *State) Capacity() Vector { return s.capacity }

// Waiting counts the jobs in the queue.
func (s *State) Waiting() int { return s.queue.Len() }

// Held counts the jobs that are out of the queue without running.
func (s *State) Held() int { return s.held.Len() }

// RunningJobs counts the jobs that run.
func (s *State) RunningJobs() int { return s.running.Len() }

// NextWake is the next instant at which the host must open a cycle even if
// nothing happens: a planned start, an expected end, or a time that the policy
// asked for. Forever if there is none.
func (s *State) NextWake() Time {
	next := Forever
	if p, ok := s.planned.Min(); ok {
		next = min(next, p.at)
	}
	if p, ok := s.running.Min(); ok {
		next = min(next, p.at)
	}
	if len(s.wakes) > 0 {
		next = min(next, s.wakes[0])
	}
	return next
}

// set replaces what is held of a job and brings every index, the profile and
// the use along; none removes it. All changes of jobs pass here, so that setting
// the old record back undoes them.
func (s *State) set(id JobID, now *record) (old record) {
	old = s.jobs.Set(id, *now)
	s.queueChanges += reindex(s.queue, waiting, &old, now)
	reindex(s.held, held, &old, now)
	if old.sameSpan(now) {
		s.reschedule(&old, now)
		return old
	}
	if old.placement != nil {
		s.displan(&old)
	}
	if now.placement != nil {
		s.plan(now)
	}
	return old
}

// reindex brings the index of the jobs in a phase along and counts the changes.
func reindex(index *btree.BTreeG[queued], in phase, old, now *record) (changes int) {
	was, is := old.in(in), now.in(in)
	if was && is && old.job == now.job && old.key == now.key {
		return 0
	}
	if was {
		index.Delete(queued{old.key, old.job})
		changes++
	}
	if is {
		index.Set(queued{now.key, now.job})
		changes++
	}
	return changes
}

// sameSpan reports whether two records of a job occupy the same.
func (r *record) sameSpan(o *record) bool {
	return r.job != nil && r.job == o.job && r.start == o.start && r.end == o.end && r.placement.Equal(o.placement)
}

// reschedule brings the indexes along for a job that stays where it is, such as
// one that starts as planned: the profile does not change.
func (s *State) reschedule(old, now *record) {
	if old.phase != now.phase && now.placement != nil {
		s.unlist(old)
		s.list(now)
	}
}

// plan enters a placed record into the profile and its index.
func (s *State) plan(r *record) {
	s.profile.Add(r.placement, r.job.chunk(), r.start, r.end)
	s.list(r)
}

// list enters a placed record into its index.
func (s *State) list(r *record) {
	if r.phase == running {
		s.running.Set(planned{r.end, r.job})
		s.addUse(r, 1)
	} else {
		s.planned.Set(planned{r.start, r.job})
	}
}

// displan is the inverse of plan.
func (s *State) displan(r *record) {
	s.profile.Remove(r.placement, r.job.chunk(), r.start, r.end)
	s.unlist(r)
}

// unlist is the inverse of list.
func (s *State) unlist(r *record) {
	if r.phase == running {
		s.running.Delete(planned{r.end, r.job})
		s.addUse(r, -1)
	} else {
		s.planned.Delete(planned{r.start, r.job})
	}
}

// addUse adds what a placed record holds to the use, or takes it off.
func (s *State) addUse(r *record, sign int64) {
	if !r.job.Whole {
		s.use.AddScaled(r.job.Request, sign*int64(r.job.Nodes))
		return
	}
	for _, on := range r.placement {
		s.use.AddScaled(s.slots[on.Slot].Capacity, sign)
	}
}

// setSlot gives a slot a capacity, or takes it away (nil), and returns what it
// had before (nil: it was not up).
func (s *State) setSlot(slot Slot, up bool) (before Slot, wasUp bool) {
	if int(slot.ID) < len(s.slots) {
		before, wasUp = s.slots[slot.ID], s.profile.Up(slot.ID)
	}
	if wasUp {
		s.capacity.AddScaled(before.Capacity, -1)
	}
	if up {
		s.profile.SetSlot(slot.ID, slot.Name, slot.Capacity)
		s.capacity.AddScaled(slot.Capacity, 1)
		if int(slot.ID) == len(s.slots) {
			s.slots = append(s.slots, slot)
		} else {
			s.slots[slot.ID] = slot
		}
	} else {
		s.profile.DropSlot(slot.ID)
	}
	return before, wasUp
}

// dropLastSlot undoes the arrival of a slot that was never there before.
func (s *State) dropLastSlot() {
	last := s.slots[len(s.slots)-1]
	s.capacity.AddScaled(last.Capacity, -1)
	s.slots = s.slots[:last.ID]
	s.profile.DropLastSlot()
}

// setCandidates defines a candidate set and returns what it was; nil: new. The
// ID of a new one is the number of those there are.
func (s *State) setCandidates(id int, c *Candidates) (old *Candidates) {
	if id == len(s.candidates) {
		s.candidates = append(s.candidates, c)
		return nil
	}
	old, s.candidates[id] = s.candidates[id], c
	return old
}

// IsRunning reports whether the job runs.
func (s *State) IsRunning(id JobID) bool {
	r := s.jobs.Find(id)
	return r != nil && r.phase == running
}

// IsWaiting reports whether the job is in the queue.
func (s *State) IsWaiting(id JobID) bool {
	r := s.jobs.Find(id)
	return r != nil && r.phase == waiting
}

// Planned is a waiting job's reservation, if it has one.
func (s *State) Planned(id JobID) (start Time, at Placement, ok bool) {
	r := s.jobs.Find(id)
	if r == nil || r.phase != waiting || r.placement == nil {
		return 0, nil, false
	}
	return r.start, r.placement, true
}

// FirstWaiting lists the first n waiting jobs in the queue's order.
func (s *State) FirstWaiting(n int) []*Job {
	var jobs []*Job
	s.queue.Scan(func(q queued) bool {
		if len(jobs) < n {
			jobs = append(jobs, q.job)
		}
		return len(jobs) < n
	})
	return jobs
}
