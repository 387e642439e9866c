package backfill

import (
	"slices"

	"github.com/tidwall/btree"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// State is all there is to know when a decision is taken: the pool's slots, the jobs that wait, run
// or are held, their reservations and guarantees, and the profile that follows from them. The host
// owns it and opens a [Transaction] on it; a policy reads it through its [View] and acts on it
// through a [Cycle]. Between cycles a policy keeps nothing that matters, so a state can be cloned,
// exported, replayed, or handed to another policy at any time.
type State struct {
	View

	memo any      // of the policy, of this very state; see Cycle.Memo
	void []record // reservations that the last round's starts made void, as they were; see giveWay

	queueChanges int // counts the jobs that joined or left the queue

	open  bool         // a transaction is
	spare *Transaction // the last one, for the next to reuse its memory; nil: none can be
}

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
	return &State{View: View{
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
	}}
}

// Clone returns an independent copy that shares what neither side changes. It is made
// between two cycles, and takes a millisecond or two for 10,000 slots and jobs. Then
// another goroutine may ask the copy, one at a time, while the original goes on.
func (s *State) Clone() *State {
	c := *s
	c.memo, c.spare, c.open = nil, nil, false
	c.profile = s.profile.Clone()
	c.slots, c.candidates, c.wakes = slices.Clone(s.slots), slices.Clone(s.candidates), slices.Clone(s.wakes)
	c.bundles = slices.Clone(s.bundles)
	c.use, c.capacity = slices.Clone(s.use), slices.Clone(s.capacity)
	c.freed.parts = slices.Clone(s.freed.parts)
	c.jobs, c.queue, c.held = s.jobs.Copy(), s.queue.Copy(), s.held.Copy()
	c.planned, c.running = s.planned.Copy(), s.running.Copy()
	return &c
}

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

// set replaces what is held of a job and updates every index, the profile and the use; a record
// without a job removes it. Every change of a job goes through here, so that setting the old record
// again undoes it. If the job must fit, set refuses a new place that is not free once the old one
// is given back, and changes nothing.
func (s *State) set(id JobID, now *record, mustFit bool) (old record, err error) {
	old = s.jobs.Set(id, *now)
	if old.sameSpan(now) {
		s.relist(&old, now)
	} else if err = s.replan(&old, now, mustFit); err != nil {
		s.jobs.Set(id, old)
		return old, err
	}
	if old.phase != now.phase || old.key != now.key || old.job != now.job {
		s.queueChanges += reindex(s.queue, waiting, &old, now)
		reindex(s.held, held, &old, now)
	}
	return old, nil
}

// replan moves a job from the old record's place to the new one's, in the profile and in the index.
func (s *State) replan(old, now *record, mustFit bool) error {
	if old.placement != nil {
		s.unplan(old)
	}
	if mustFit {
		if err := s.profile.Misfit(s.request(now.job), now.placement, now.start); err != nil {
			if old.placement != nil {
				s.plan(old)
			}
			return err
		}
	}
	if now.placement != nil {
		s.plan(now)
	}
	return nil
}

// reindex updates the index of the jobs in a phase, and counts the entries that came or went.
func reindex(index *btree.BTreeG[queued], in phase, old, now *record) (changes int) {
	if old.in(in) {
		index.Delete(queued{old.key, old.job})
		changes++
	}
	if now.in(in) {
		index.Set(queued{now.key, now.job})
		changes++
	}
	return changes
}

// sameSpan reports whether two records of a job occupy the same slots at the same time.
func (r *record) sameSpan(o *record) bool {
	return r.job != nil && r.job == o.job && r.start == o.start && r.end == o.end && r.placement.Equal(o.placement)
}

// relist updates the indexes for a job that stays in its place, such as one that starts as planned:
// the profile does not change.
func (s *State) relist(old, now *record) {
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

// unplan is the inverse of plan.
func (s *State) unplan(r *record) {
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
