package backfill

import (
	"cmp"
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
// spoils the cycle: it and all that follow do nothing, and [Transaction.Close]
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

// Now is the instant of the cycle.
func (c *Cycle) Now() Time { return c.round.Now }

// Round is what the cycle was opened with.
func (c *Cycle) Round() Round { return c.round }

// State is the state that the cycle is open on.
func (c *Cycle) State() *View { return &c.s.View }

// Resources are the names of the pool's resources, cpus first.
func (c *Cycle) Resources() []string { return c.s.resources }

// Use is what the running jobs hold, summed over the slots; it must not be
// changed.
func (c *Cycle) Use() Vector { return c.s.use }

// Capacity is the sum of the slots that are up; it must not be changed.
func (c *Cycle) Capacity() Vector { return c.s.capacity }

// Profile says what is free when, beside running jobs and reservations. It changes with the cycle's
// actions only; clone it to try other plans.
func (c *Cycle) Profile() *profile.View { return &c.s.profile.View }

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

// walk yields the queue's jobs behind an entry, which may have left the queue. It reads a few
// entries at a time, and reads again if other jobs than the one just yielded came or went.
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

// Key is a job's key in the queue's order, lower first; equal keys are in order of jobs.
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

// Earliest finds the earliest start of the job, not before notBefore, and its placement then, as if
// its own reservation were taken out of the plan. A job that cannot start earlier than planned
// keeps its place, on the same slots. It is false if the job fits at no time.
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

// without calls ask while the job's own place is taken out of the profile.
func (c *Cycle) without(r *record, ask func()) {
	if r.placement == nil {
		ask()
		return
	}
	c.s.profile.Remove(r.placement, r.job.chunk(), r.start, r.end)
	ask()
	c.s.profile.Add(r.placement, r.job.chunk(), r.start, r.end)
}

// fail spoils the cycle.
func (c *Cycle) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// Memo is what the policy remembered with the last decision on this very state. It is nil if
// another decider decided since, if the state is a clone, or if the decision was refused. A memo
// only saves work: without it the policy decides the same.
func (c *Cycle) Memo() any { return c.memo }

// Remember keeps a memo for the next cycle, if the decision is accepted.
func (c *Cycle) Remember(memo any) { c.remembered = memo }

// EarliestBefore is [Cycle.Earliest], but the search ends at limit: it is false if the job could
// start only there or later.
func (c *Cycle) EarliestBefore(j *Job, notBefore, limit Time) (start Time, at Placement, ok bool) {
	r := c.s.jobs.Find(j.ID)
	if r == nil {
		return 0, nil, false
	}
	c.without(r, func() { start, at, ok = c.s.profile.EarliestFitBefore(c.s.request(r.job), notBefore, limit) })
	return start, at, ok
}

// PlaceAt chooses a placement for the job at a start, as if its own reservation were taken out of
// the plan.
func (c *Cycle) PlaceAt(j *Job, start Time) (at Placement, ok bool) {
	r := c.s.jobs.Find(j.ID)
	if r == nil {
		return nil, false
	}
	ask := func() { at, ok = c.s.profile.Place(c.s.request(r.job), start) }
	if start+j.Estimate <= r.start { // its own place is not in the way
		ask()
	} else {
		c.without(r, ask)
	}
	return at, ok
}
