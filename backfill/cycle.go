package backfill

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// Cycle is one round of scheduling: the state as the last accepted decision left it, the events
// since then, which [Cycle.Next] applies one by one, and the actions with which a policy answers.
// Until the policy takes its event, a job that completes now still holds its place, and a job that
// arrives now is absent.
//
// Each action is checked when it is called. The first impossible one makes the cycle fail: it and
// all later actions do nothing, and [Transaction.Close] refuses the whole decision. A cycle must
// not be used after it was closed.
type Cycle struct {
	s       *State
	round   Round
	before  Time // the state's time before the cycle was opened
	applied int  // events taken
	actions []Action
	started []Started
	// fromPlan counts the started jobs that had reservations.
	fromPlan int
	held     []HeldJob
	broken   []Broken
	lifted   int // see Decision.Lifted
	undo     []change
	olds     []record // the latest old records of undo, which points to them
	taken    int      // length of undo before the last call of Next
	added    bool     // the last event freed room that counts as freed by the next one, see addsRoom
	err      error
	given    []givenUp
	// backfilled are the jobs that were started beside reservations and are expected to run for
	// another time than their estimate, each with its expected end.
	backfilled []planned
	void       []record // see giveWay
	lanes      lanes    // memory that Fitting reuses
	asked      int      // shapes of which a pass of Fitting has asked all slots
	open       []SlotID // slots with a free cpu when that pass began; nil: not known

	memo, remembered any // see Memo
}

// Now returns the instant of the cycle.
func (c *Cycle) Now() Time { return c.round.Now }

// Round returns the round that the cycle was opened with.
func (c *Cycle) Round() Round { return c.round }

// State returns the state that the cycle is open on, for reading.
func (c *Cycle) State() *View { return &c.s.View }

// Resources returns the names of the pool's resources, cpus first.
func (c *Cycle) Resources() []string { return c.s.resources }

// Use returns what the running jobs hold, summed over the slots. The result must not be changed.
func (c *Cycle) Use() Vector { return c.s.use }

// Capacity returns the summed capacity of the slots that are up. The result must not be changed.
func (c *Cycle) Capacity() Vector { return c.s.capacity }

// Profile returns what is free when, beside running jobs and reservations. Only the cycle's events
// and actions change it; clone it to try other plans.
func (c *Cycle) Profile() *profile.View { return &c.s.profile.View }

// Request returns what the profile is asked for on behalf of the job: its chunks, estimate and
// candidates.
func (c *Cycle) Request(j *Job) profile.Request { return c.s.request(j) }

// Queue iterates over the waiting jobs in the queue's order. The loop may start jobs, hold them and
// reserve for them.
func (c *Cycle) Queue() iter.Seq[*Job] {
	return func(yield func(*Job) bool) {
		if first := c.s.queue.order.first(); first != nil {
			if at := *first; yield(at.job) {
				c.walk(at, yield)
			}
		}
	}
}

// Behind iterates over the waiting jobs that come after j in the queue's order; over none if there
// is no job j.
func (c *Cycle) Behind(j *Job) iter.Seq[*Job] {
	return func(yield func(*Job) bool) {
		r, ok := c.s.jobs.Get(j.ID)
		if !ok {
			return
		}
		c.walk(queued{r.key, r.job}, yield)
	}
}

// walk yields the jobs behind an entry of the queue, even if that entry has left the queue. It
// reads a few entries ahead, and reads them again if any job but the one just yielded joined or
// left the queue.
func (c *Cycle) walk(at queued, yield func(*Job) bool) {
	var few [32]queued
	for {
		n := 0
		c.s.queue.order.ascend(&at, func(q queued) bool {
			few[n] = q
			n++
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
			if c.s.queue.order.has(q) || c.s.queueChanges > changes+1 {
				break
			}
			changes = c.s.queueChanges
		}
		if n == 0 {
			return
		}
	}
}

// Planned lists the jobs that have a reservation, by planned start, then submit time and queue
// position.
func (c *Cycle) Planned() []*Job {
	jobs := make([]*Job, 0, c.s.planned.Len())
	c.s.planned.Scan(func(p planned) bool {
		jobs = append(jobs, p.job)
		return true
	})
	return jobs
}

// Due lists the jobs whose planned start has come, by submit time, then queue position.
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

// Running iterates over the running jobs by expected end, then submit time and queue position. The
// loop must not start jobs.
func (c *Cycle) Running() iter.Seq[RunningJob] { return c.s.Running() }

// Reservation returns a waiting job's planned start and placement; ok is false if it has none.
func (c *Cycle) Reservation(j *Job) (start Time, at Placement, ok bool) {
	return c.s.Planned(j.ID)
}

// Key returns a job's key in the queue's order, lower first, or 0 if there is no such job. Jobs
// with equal keys stand by submit time, then queue position.
func (c *Cycle) Key(j *Job) float64 { return c.s.Key(j.ID) }

// Compare compares two jobs by the queue's order: the result is negative if a comes before b.
func (c *Cycle) Compare(a, b *Job) int {
	return cmp.Or(cmp.Compare(c.Key(a), c.Key(b)), Compare(a, b))
}

// Guaranteed returns the latest start that the job was promised; ok is false if it has no
// guarantee.
func (c *Cycle) Guaranteed(j *Job) (latest Time, ok bool) {
	r := c.s.jobs.Find(j.ID)
	if r == nil || !r.promised {
		return 0, false
	}
	return r.guarantee, true
}

// Earliest returns the earliest start of the job that is not before notBefore, and its placement
// then, as if the job had no reservation. If the job has one that is not before notBefore, and no
// start is earlier, Earliest returns the reservation, with the same slots. ok is false if the job
// fits at no time.
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

// FitsNow returns a placement where the job fits from now through its estimate, beside all running
// jobs and all other reservations; ok is false if there is none.
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

// without calls the callback while the job's own place, if it has one, is taken out of the profile.
func (c *Cycle) without(r *record, ask func()) {
	if r.placement == nil {
		ask()
		return
	}
	c.s.profile.Remove(r.placement, r.job.chunk(), r.start, r.end)
	ask()
	c.s.profile.Add(r.placement, r.job.chunk(), r.start, r.end)
}

// fail records the first error of the cycle. Later actions then do nothing, and the decision is
// refused.
func (c *Cycle) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// Memo returns the value that the policy gave to [Cycle.Remember] with the last decision on this
// very state. It is nil if another decider decided since, if the state is a clone, if that decision
// was refused, or if it started, beside reservations, a job whose expected run time is not its
// estimate. A memo only saves work: without it, the policy must decide the same.
func (c *Cycle) Memo() any { return c.memo }

// Remember stores a value for [Cycle.Memo] in the next cycle, which says when it is lost.
func (c *Cycle) Remember(memo any) { c.remembered = memo }

// EarliestBefore returns the earliest start of the job that is not before notBefore and is before
// limit, and its placement then, as if the job had no reservation; ok is false if there is none.
func (c *Cycle) EarliestBefore(j *Job, notBefore, limit Time) (start Time, at Placement, ok bool) {
	r := c.s.jobs.Find(j.ID)
	if r == nil {
		return 0, nil, false
	}
	c.without(r, func() { start, at, ok = c.s.profile.EarliestFitBefore(c.s.request(r.job), notBefore, limit) })
	return start, at, ok
}

// PlaceAt chooses a placement where the job fits from the given start through its estimate, as if
// it had no reservation; ok is false if there is none.
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
