package backfill

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// Cycle is one round of scheduling: the state as the last accepted decision
// left it, the events since then, which [Cycle.Next] applies one by one, and
// the actions with which a policy answers. What completes now still holds its
// place, and what arrives now is absent, until its event has been taken.
//
// Actions are checked as they are taken. The first one that is not possible
// spoils the cycle: it and all that follow do nothing, and [Cycle.Close]
// refuses the decision whole. A cycle that was closed is not to be used again.
type Cycle struct {
	s       *State
	round   Round
	before  Time // the state's now
	applied int  // events taken
	actions []Action
	started []Started
	held    []HeldJob
	broken  []Broken
	undo    []change
	taken   int // changes before the last event was taken
	err     error
	given   []givenUp
	// backfilled are the jobs that were started beside reservations and are not
	// expected to run for as long as their estimate, with the ends of these runs.
	backfilled []planned
	void       []record // see giveWay

	memo, remembered any // see Memo
}

// Open begins a round on the state. It fails, and changes nothing, if the round
// cannot be true: time runs backwards, a job that does not run completes, an
// unknown slot is lost. A state has at most one open cycle.
func (s *State) Open(r Round) (*Cycle, error) {
	if err := s.validate(r); err != nil {
		return nil, err
	}
	c := s.cycle
	if c == nil {
		c = new(Cycle)
	}
	*c = Cycle{s: s, round: r, before: s.now, memo: s.memo, actions: c.actions[:0], undo: c.undo[:0]}
	s.memo, s.cycle = nil, nil
	s.now = r.Now
	s.profile.AskFrom(r.Now)
	for _, b := range r.Bundles {
		s.addBundle(b)
		c.onUndo(s.dropLastBundle)
	}
	for _, set := range r.Candidates {
		candidates := set.Candidates
		old := s.setCandidates(set.ID, &candidates)
		c.onUndo(func() {
			if s.candidates[set.ID] = old; old == nil { // a new one is always the last
				s.candidates = s.candidates[:set.ID]
			}
		})
	}
	for _, k := range r.Keys {
		next, _ := s.jobs.Get(k.Job)
		next.key = k.Key
		c.set(k.Job, &next)
	}
	if len(s.wakes) > 0 && s.wakes[0] <= r.Now {
		old := s.wakes
		c.onUndo(func() { s.wakes = old })
		i, _ := slices.BinarySearch(s.wakes, r.Now+1)
		s.wakes = s.wakes[i:]
	}
	return c, nil
}

// Now is the instant of the cycle.
func (c *Cycle) Now() Time { return c.round.Now }

// Round is what the cycle was opened with.
func (c *Cycle) Round() Round { return c.round }

// State is the state that the cycle is open on, for reading.
func (c *Cycle) State() *State { return c.s }

// Resources are the names of the pool's resources, cpus first.
func (c *Cycle) Resources() []string { return c.s.resources }

// Use is what the running jobs hold, summed over the slots; it must not be
// changed.
func (c *Cycle) Use() Vector { return c.s.use }

// Capacity is the sum of the slots that are up; it must not be changed.
func (c *Cycle) Capacity() Vector { return c.s.capacity }

// Profile is what is free when: running jobs and reservations. To try what may
// not come to be, clone it; the profile itself changes with the actions only.
func (c *Cycle) Profile() ProfileView { return c.s.profile }

// ProfileView is the part of a profile that asks and does not change.
type ProfileView interface {
	EarliestFit(r profile.Request, notBefore Time) (Time, Placement, bool)
	Fits(r profile.Request, at Placement, start Time) bool
	Place(r profile.Request, start Time) (Placement, bool)
	EarliestAhead(r profile.Request, start, notBefore, limit Time) (Time, bool)
	Free(slot SlotID, at Time) Vector
	Bounds(slot SlotID, from, to Time, low, high Vector)
	MayUse(r profile.Request, slot SlotID) bool
	Clone() *profile.Profile
}

// Request is the job in the profile's terms.
func (c *Cycle) Request(j *Job) profile.Request { return c.s.request(j) }

// Queue walks the waiting jobs in the queue's order. Jobs may be started, held
// or reserved for on the way.
func (c *Cycle) Queue() iter.Seq[*Job] {
	return func(yield func(*Job) bool) {
		if first, ok := c.s.queue.Min(); ok && yield(first.job) {
			c.walk(first, yield)
		}
	}
}

// Behind walks the waiting jobs that come after j in the queue's order.
func (c *Cycle) Behind(j *Job) iter.Seq[*Job] {
	return func(yield func(*Job) bool) {
		r, ok := c.s.jobs.Get(j.ID)
		if !ok {
			return
		}
		c.walk(queued{r.key, r.job}, yield)
	}
}

// walk goes through the queue behind an entry, which need not be there any more.
// It takes a few entries at a time, and takes them anew if others than the one
// just walked came or went.
func (c *Cycle) walk(at queued, yield func(*Job) bool) {
	var few [32]queued
	for {
		n := 0
		c.s.queue.Ascend(at, func(q queued) bool {
			if q.job != at.job {
				few[n] = q
				n++
			}
			return n < len(few)
		})
		changes := c.s.queueChanges
		for _, q := range few[:n] {
			if at = q; !yield(q.job) {
				return
			}
			if c.s.queueChanges == changes {
				continue
			}
			if _, waits := c.s.queue.Get(q); waits || c.s.queueChanges > changes+1 {
				break
			}
			changes = c.s.queueChanges
		}
		if n == 0 {
			return
		}
	}
}

// Planned lists the jobs that have a reservation, by planned start, then order
// of jobs.
func (c *Cycle) Planned() []*Job {
	jobs := make([]*Job, 0, c.s.planned.Len())
	c.s.planned.Scan(func(p planned) bool {
		jobs = append(jobs, p.job)
		return true
	})
	return jobs
}

// Due lists the jobs whose planned start has come, in order of jobs.
func (c *Cycle) Due() []*Job {
	var jobs []*Job
	c.s.planned.Scan(func(p planned) bool {
		if p.at <= c.round.Now {
			jobs = append(jobs, p.job)
		}
		return p.at <= c.round.Now
	})
	slices.SortFunc(jobs, Compare)
	return jobs
}

// RunningJob is a job that runs.
type RunningJob struct {
	Job        *Job
	Start, End Time // End is expected
	Placement  Placement
}

// Running walks the running jobs by expected end, then order of jobs. Nothing
// may be started on the way.
func (c *Cycle) Running() iter.Seq[RunningJob] {
	return func(yield func(RunningJob) bool) {
		c.s.running.Scan(func(p planned) bool {
			r, _ := c.s.jobs.Get(p.job.ID)
			return yield(RunningJob{Job: r.job, Start: r.start, End: r.end, Placement: r.placement})
		})
	}
}

// Reservation is the job's planned start and placement, if it has any.
func (c *Cycle) Reservation(j *Job) (start Time, at Placement, ok bool) {
	return c.s.Planned(j.ID)
}

// Key is a job's place in the queue's order, lower first; equal ones are in order
// of jobs.
func (c *Cycle) Key(j *Job) float64 {
	if r := c.s.jobs.Find(j.ID); r != nil {
		return r.key
	}
	return 0
}

// Compare is the queue's order of two jobs.
func (c *Cycle) Compare(a, b *Job) int {
	return cmp.Or(cmp.Compare(c.Key(a), c.Key(b)), Compare(a, b))
}

// Guaranteed is the latest start that the job was promised, if it was.
func (c *Cycle) Guaranteed(j *Job) (latest Time, ok bool) {
	r := c.s.jobs.Find(j.ID)
	if r == nil || !r.promised {
		return 0, false
	}
	return r.guarantee, true
}

// Earliest finds where the job would be placed, not before notBefore, if it
// were taken out of the plan. A job that could not start earlier than it is
// planned to stays where it is, on the same slots. It is false if the job fits
// at no time.
func (c *Cycle) Earliest(j *Job, notBefore Time) (start Time, at Placement, ok bool) {
	r := c.s.jobs.Find(j.ID)
	if r == nil || r.phase != waiting || r.placement == nil {
		return c.s.profile.EarliestFit(c.s.request(j), notBefore)
	}
	if r.start < notBefore {
		c.without(r, func() { start, at, ok = c.s.profile.EarliestFit(c.s.request(r.job), notBefore) })
		return start, at, ok
	}
	request := c.s.request(r.job)
	from, ok := c.s.profile.EarliestAhead(request, r.start, notBefore, r.start)
	switch {
	case !ok: // the usual case, found without touching the profile
		return r.start, r.placement, true
	case from+request.Duration <= r.start: // its own place is not in the way
		at, ok = c.s.profile.Place(request, from)
		return from, at, ok
	}
	c.without(r, func() { start, at, ok = c.s.profile.EarliestFitBefore(request, from, r.start) })
	if !ok {
		return r.start, r.placement, true
	}
	return start, at, true
}

// FitsNow finds a place for the job from now through its estimate, beside all
// that runs and all other reservations.
func (c *Cycle) FitsNow(j *Job) (at Placement, ok bool) {
	r := c.s.jobs.Find(j.ID)
	if r == nil || r.phase != waiting || r.placement == nil {
		return c.s.profile.Place(c.s.request(j), c.round.Now)
	}
	if r.start == c.round.Now {
		return r.placement, true
	}
	if _, ok = c.s.profile.EarliestAhead(c.s.request(r.job), r.start, c.round.Now, min(r.start, c.round.Now+1)); !ok {
		return nil, false
	}
	c.without(r, func() { at, ok = c.s.profile.Place(c.s.request(r.job), c.round.Now) })
	return at, ok
}

// without asks a question with the job's own place taken out of the profile.
func (c *Cycle) without(r *record, ask func()) {
	if r.placement == nil {
		ask()
		return
	}
	c.s.profile.Remove(r.placement, r.job.chunk(), r.start, r.end)
	ask()
	c.s.profile.Add(r.placement, r.job.chunk(), r.start, r.end)
}

// change is one change of the state, with what it takes to undo it: a job's old
// record, or for the rare rest a function.
type change struct {
	job JobID
	old record
	do  func()
}

// set changes a job's record so that it can be undone.
func (c *Cycle) set(id JobID, now *record) {
	old := c.s.set(id, now)
	c.undo = append(c.undo, change{job: id, old: old})
	if c.s.freed.keep > 0 {
		c.recordFreed(&old, now)
	}
}

func (c *Cycle) onUndo(f func()) { c.undo = append(c.undo, change{do: f}) }

// Rollback returns the state to what it was when the cycle was opened.
func (c *Cycle) Rollback() {
	for _, u := range slices.Backward(c.undo) {
		if u.do != nil {
			u.do()
		} else {
			c.s.set(u.job, &u.old)
		}
	}
	c.s.now = c.before
	c.end(errors.New("the cycle was rolled back"))
}

// end leaves the cycle unusable, and its room to the next one.
func (c *Cycle) end(why error) {
	c.undo, c.err = c.undo[:0], why
	if cap(c.actions) <= maxSpare && cap(c.undo) <= maxSpare {
		c.s.cycle = c
	}
}

// fail spoils the cycle.
func (c *Cycle) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}
