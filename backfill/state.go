package backfill

import (
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// State is all that a decision depends on: the pool's slots, the jobs that wait, run or are held,
// their reservations and guarantees, and the profile that follows from them. The host owns it and
// opens a [Transaction] on it; a policy reads it through its [View] and acts on it through a
// [Cycle]. Between cycles a policy keeps nothing that matters, so a state can be cloned, exported,
// replayed, or handed to another policy at any time.
type State struct {
	View

	memo any      // of the policy, of this very state; see Fast.Memo
	void []record // reservations that the last round's starts made void, as they were; see giveWay

	queueChanges int // counts the jobs that joined or left the queue

	windowed int       // number of candidate sets with windows
	openings []opening // by candidate set: when it opens next
	left     leavings  // slots that jobs left, for what is known of jobs without a start

	leasts int   // number of candidate sets that need more free than a chunk
	leads  leads // what reservations occupy in their first second for that

	open  bool         // whether a transaction is open
	spare *Transaction // the last transaction, whose memory the next one reuses, or nil
}

// phase says whether a job waits, runs or is held.
type phase uint8

const (
	waiting phase = iota
	running
	held
)

// record is what the state holds of a job. A record whose job is nil stands for no job.
type record struct {
	job       *Job
	placement Placement // of the running job or the reservation; nil: none
	start     Time      // actual or planned start, if placed
	end       Time      // expected end, if placed
	key       float64   // in the queue's order, lower first; see View.keyOf
	line      *line     // along which the key moves, if it does so by itself; or nil
	guarantee Time      // the latest start that was promised
	hold      string    // why it is held
	phase     phase
	lifted    Cause // why the guarantee does not bind in this round
	promised  bool  // there is a guarantee
	alone     bool  // no other job waited when it arrived
	early     bool  // it waits and may not start yet; set by State.set
	pinned    bool  // it runs as soon as others have made way; see pin.go
	yields    bool  // it runs until it has made way for another job; see pin.go
}

// in reports whether the record is that of a job, and the job is in the phase.
func (r *record) in(p phase) bool { return r.job != nil && r.phase == p }

// planned is a job with an instant: a planned start or an expected end.
type planned struct {
	at  Time
	job *Job
}

// NewState returns the state of an empty pool with the named resources, cpus first, and no jobs.
// The rule decides which slots a job gets if it fits on several.
func NewState(resources []string, rule profile.Rule) *State {
	return &State{View: View{
		resources: resources,
		rule:      rule,
		now:       -Forever,
		profile:   profile.New(rule),
		use:       make(Vector, len(resources)),
		capacity:  make(Vector, len(resources)),
		jobs:      new(table),
		queue:     newQueue(),
		planned:   new(calendar),
		running:   newJobList(),
		held:      newJobList(),
		early:     newJobList(),
		beyond:    newJobList(),
	}}
}

// Clone returns an independent copy that shares memory until one side changes it. It must be called
// between two cycles, and takes a millisecond or two for 10,000 slots and jobs. Then other
// goroutines, one at a time, may use the copy while the original goes on.
func (s *State) Clone() *State {
	c := *s
	c.memo, c.spare, c.open = nil, nil, false
	c.profile = s.profile.Clone()
	c.slots, c.candidates, c.wakes = slices.Clone(s.slots), slices.Clone(s.candidates), slices.Clone(s.wakes)
	c.bundles, c.rows, c.widest = slices.Clone(s.bundles), slices.Clone(s.rows), slices.Clone(s.widest)
	c.use, c.capacity = slices.Clone(s.use), slices.Clone(s.capacity)
	c.freed.parts = slices.Clone(s.freed.parts)
	c.jobs, c.queue, c.held = &table{s.jobs.Copy()}, s.queue.Copy(), s.held.Copy()
	c.planned, c.running, c.beyond = s.planned.Copy(), s.running.Copy(), s.beyond.Copy()
	c.shares = s.shares.Copy()
	c.early = s.early.Copy()
	c.leads = maps.Clone(s.leads)
	c.openings, c.left.slots = slices.Clone(s.openings), slices.Clone(s.left.slots)
	return &c
}

// KeepAtMost bounds what the state keeps to answer a policy faster, in bytes; decisions are the same.
// It is for copies that are played beside the cycles.
func (s *State) KeepAtMost(bytes int64) { s.profile.KeepAtMost(bytes) }

// NextWake returns the next instant at which the host must open a cycle even if nothing happens: a
// planned start, an expected end, the earliest start of a job, the opening of a waiting job's candidate,
// or a time that the policy asked for. It is Forever if there is none.
func (s *State) NextWake() Time {
	next := Forever
	if p, ok := s.planned.Min(); ok {
		next = min(next, p.at)
	}
	if p, ok := s.running.Min(); ok {
		next = min(next, s.jobs.Find(p.job.ID).end)
	}
	if first, ok := s.early.Min(); ok {
		next = min(next, first.job.Release)
	}
	if len(s.wakes) > 0 {
		next = min(next, s.wakes[0])
	}
	return min(next, s.nextOpening(s.now))
}

// Policy returns the name of the active policy and whether it gives guarantees. The name is ""
// until a policy has decided.
func (s *State) Policy() (name string, guarantees bool) { return s.policy, s.guarantees }

// CandidateSets returns what the candidate sets hold, by ID.
func (s *State) CandidateSets() []*Candidates { return s.candidates }

// Free returns what is free on a slot at t, according to the plan.
func (s *State) Free(id SlotID, t Time) Vector { return s.profile.Free(id, t) }

// Held returns the number of held jobs: neither running nor in the queue.
func (s *State) Held() int { return s.held.Len() }

// RunningJobs returns the number of running jobs.
func (s *State) RunningJobs() int { return s.running.Len() }

// Job returns a job that runs, waits or is held; nil if there is none of that ID.
func (s *State) Job(id JobID) *Job {
	if r := s.jobs.Find(id); r != nil {
		return r.job
	}
	return nil
}

// room says what set has to do with the room for a job's new place.
type room uint8

const (
	unchecked room = iota // take it, free or not
	mustFit               // take it if it is free
	slid                  // nothing: the profile has the new place already, instead of the old one
)

// set replaces the record of a job, and updates every index, the profile and the use; a record
// without a job removes the job. The old record is stored in old; every change of a job goes
// through here, so setting that again undoes it. If the new place must fit, set returns an error and changes
// nothing if the new place is not free once the old one is given back.
func (s *State) set(id JobID, now *record, room room, old *record) error {
	now.early = now.in(waiting) && now.job.Early(s.now)
	s.jobs.Set(id, now, old)
	if old.sameSpan(now) && !s.begins(old, now) {
		s.relist(old, now)
	} else if err := s.replan(old, now, room); err != nil {
		s.jobs.Set(id, old, new(record))
		return err
	} else {
		s.queue.grow(old.placement)
		if s.closing() {
			s.left.add(old.placement)
		}
		if old.placement != nil {
			s.queue.give(old.job.Takes)
		}
	}
	listed := s.queue.plans && !old.sameReservation(now)
	if listed && old.reserved() {
		s.queue.unplan(old)
	}
	if now.job != nil && now.job != old.job {
		for _, t := range now.job.Takes {
			s.widest[t.Row] = max(s.widest[t.Row], t.Amount)
		}
	}
	if old.phase != now.phase || old.key != now.key || old.line != now.line || old.job != now.job {
		s.requeue(old, now)
	} else if old.phase == waiting && old.aside() != now.aside() {
		s.queue.reserve(now.place(), now.aside())
	}
	if listed && now.reserved() {
		s.queue.plan(now)
	}
	s.followBeyond(old, now)
	s.followEarly(old, now)
	return nil
}

// requeue updates the queue and the index of the held jobs.
func (s *State) requeue(old, now *record) {
	if old.job == now.job && old.phase == waiting && now.phase == waiting {
		s.queue.rekey(old.place(), now.place(), now.aside())
		if old.aside() && !now.aside() {
			s.queue.reserve(now.place(), false)
		}
		s.queueChanges += 2
		return
	}
	if old.in(waiting) {
		s.queue.remove(old.place())
		s.queueChanges++
	}
	if now.in(waiting) {
		s.queue.add(now.place(), now.aside())
		s.queueChanges++
	}
	if old.in(held) {
		s.held.Delete(queued{old.key, old.job})
	}
	if now.in(held) {
		s.held.Set(queued{now.key, now.job})
	}
}

// replan moves a job from the old record's place to the new one's, in the profile and in the index.
// If the new place must fit, it returns an error and changes nothing if it is not free.
func (s *State) replan(old, now *record, room room) error {
	if room == slid || room == mustFit && s.slide(old, now, 1) {
		s.unlist(old)
		s.list(now)
		return nil
	}
	if old.placement != nil {
		s.unplan(old)
	}
	if room == mustFit {
		if err := s.profile.Misfit(s.Request(now.job), now.placement, now.start); err != nil {
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

// slide is replan for a reservation that moves to an earlier start on its one slot, as most do that move
// where there is one slot; it takes no more than two changes of the profile that are near each other. It
// returns false and changes nothing if the job does not fit there, or does not move so. It does so for several
// jobs at once that have equal places and requests.
func (s *State) slide(old, now *record, jobs int) bool {
	if old.job != now.job || !old.reserves() || !now.reserves() || len(now.placement) != 1 ||
		now.start >= old.start || now.end > old.end || !now.placement.Equal(old.placement) ||
		now.job.Whole || now.job.Takes != nil || s.leasts > 0 || s.profile.Ends().Count() > 0 {
		return false
	}
	at, set := now.placement[0], s.candidates[now.job.Candidates]
	at.Count *= jobs
	return set.Windows == nil && set.Has(at.Slot) && s.profile.Up(at.Slot) &&
		s.profile.Slide(at, now.job.Request, old.start, old.end, now.start, now.end)
}

// sameSpan reports whether two records of a job occupy the same slots at the same time.
func (r *record) sameSpan(o *record) bool {
	return r.job != nil && r.job == o.job && r.start == o.start && r.end == o.end && r.placement.Equal(o.placement)
}

// relist updates the indexes for a job that stays in its place, such as one that starts as planned:
// the profile does not change.
func (s *State) relist(old, now *record) {
	if (old.phase != now.phase || old.pinned != now.pinned) && now.placement != nil {
		s.unlist(old)
		s.list(now)
	}
}

// plan enters the record of a job with a placement into the profile and into its index by time.
func (s *State) plan(r *record) {
	s.occupy(r)
	s.list(r)
}

// list enters the record of a job with a placement into the index of the running or the planned
// jobs.
func (s *State) list(r *record) {
	if r.phase == running {
		s.running.Set(ending(r.end, r.job))
		s.addUse(r, 1)
	} else {
		s.planned.Set(planned{r.start, r.job})
	}
}

// unplan is the inverse of plan.
func (s *State) unplan(r *record) {
	s.vacate(r)
	s.unlist(r)
}

// unlist is the inverse of list.
func (s *State) unlist(r *record) {
	if r.phase == running {
		s.running.Delete(ending(r.end, r.job))
		s.addUse(r, -1)
	} else {
		s.planned.Delete(planned{r.start, r.job})
	}
}

// addUse adds what a running job holds to the pool's use (sign 1), or subtracts it (sign -1). A pinned job
// holds nothing yet.
func (s *State) addUse(r *record, sign int64) {
	if r.pinned {
		return
	}
	if !r.job.Whole {
		s.use.AddScaled(r.job.Request, sign*int64(r.job.Nodes))
		return
	}
	for _, on := range r.placement {
		s.use.AddScaled(s.slots[on.Slot].Capacity, sign)
	}
}

// setSlot brings a slot up with its capacity, or takes it out of the pool. It returns the slot as
// it was, and whether it was up.
func (s *State) setSlot(slot Slot, up bool) (before Slot, wasUp bool) {
	s.queue.forgetSweep()
	if int(slot.ID) < len(s.slots) {
		before, wasUp = s.slots[slot.ID], s.profile.Up(slot.ID)
	}
	if wasUp {
		s.capacity.AddScaled(before.Capacity, -1)
	}
	if up {
		s.profile.SetSlot(slot.ID, slot.Name, slot.Capacity)
		s.profile.SetEnd(slot.ID, slot.End)
		s.left.add(Placement{{Slot: slot.ID}}) // it may have more now, or for longer
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

// dropLastSlot removes the last slot, to undo the arrival of a slot that was never there before.
func (s *State) dropLastSlot() {
	s.queue.forgetSweep()
	last := s.slots[len(s.slots)-1]
	s.capacity.AddScaled(last.Capacity, -1)
	s.slots = s.slots[:last.ID]
	s.profile.DropLastSlot()
}

// setCandidates defines a candidate set and returns its old content, or nil if the set is new. The
// ID of a new set must be the number of sets so far.
func (s *State) setCandidates(id int, c *Candidates) (old *Candidates) {
	s.queue.forgetSweep()
	if id == len(s.candidates) {
		s.candidates = append(s.candidates, c)
		s.setWindows(id, nil, c)
		s.setLeast(id, nil, c, false)
		return nil
	}
	old, s.candidates[id] = s.candidates[id], c
	s.setWindows(id, old, c)
	s.setLeast(id, old, c, false)
	return old
}

// unsetCandidates undoes setCandidates, which returned old.
func (s *State) unsetCandidates(id int, old *Candidates) {
	now := s.candidates[id]
	s.setWindows(id, now, old)
	if s.candidates[id] = old; old == nil { // a new one is always the last
		s.candidates = s.candidates[:id]
	}
	s.setLeast(id, now, old, true)
}

// FirstWaiting lists the first n waiting jobs in the queue's order, or all if there are fewer.
func (s *State) FirstWaiting(n int) []*Job {
	var jobs []*Job
	list := func(q queued) bool {
		if len(jobs) < n {
			jobs = append(jobs, q.job)
		}
		return len(jobs) < n
	}
	if s.queue.sorted {
		s.queue.order.ascend(nil, list)
		return jobs
	}
	for _, e := range s.queue.inOrder() { // between cycles, reading a state must not write to it
		if !list(e.queued) {
			break
		}
	}
	return jobs
}
