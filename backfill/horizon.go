package backfill

import (
	"cmp"
	"fmt"
	"iter"
	"math/bits"
	"slices"
)

// ofPlan is how large a part of the plan one user's jobs may take: one of so many. The other part
// is for users who come later.
const ofPlan = 2

// shares is what each user's waiting jobs hold of the plan. It is kept only while [Planning.Horizon]
// bounds the plan.
type shares struct {
	users   map[string]*share
	planned work // of all users
	without int  // users with waiting jobs of which none has a reservation
}

// share is what a user's waiting jobs hold of the plan.
type share struct {
	planned, beyond int // numbers of jobs with and without a reservation
	work            work
}

// work is the sum, over jobs, of what each needs of each resource times its estimate: in units of the
// resource times seconds.
type work []amount

// amount is a sum of products that may be too large for an int64: all that is added is taken off
// again, so it must be exact.
type amount struct{ high, low uint64 }

// times returns the product of two numbers that are not negative.
func times(a, b int64) (x amount) {
	x.high, x.low = bits.Mul64(uint64(a), uint64(b))
	return x
}

func (x amount) plus(y amount) (sum amount) {
	var carry uint64
	sum.low, carry = bits.Add64(x.low, y.low, 0)
	sum.high, _ = bits.Add64(x.high, y.high, carry)
	return sum
}

func (x amount) minus(y amount) (rest amount) {
	var borrow uint64
	rest.low, borrow = bits.Sub64(x.low, y.low, 0)
	rest.high, _ = bits.Sub64(x.high, y.high, borrow)
	return rest
}

func (x amount) compare(y amount) int {
	return cmp.Or(cmp.Compare(x.high, y.high), cmp.Compare(x.low, y.low))
}

// workOf returns what a job needs of a resource times its estimate. A job that takes a bundle counts
// with what it asks for.
func workOf(j *Job, resource int) amount {
	return times(int64(j.Nodes)*j.Request[resource], int64(j.Estimate))
}

func (w work) add(j *Job) {
	for k := range w {
		w[k] = w[k].plus(workOf(j, k))
	}
}

func (w work) remove(j *Job) {
	for k := range w {
		w[k] = w[k].minus(workOf(j, k))
	}
}

// within reports whether the work and a job's beside it is at most what a pool with the given
// capacity does in some time.
func (w work) within(j *Job, capacity Vector, in Time) bool {
	for k := range w {
		if w[k].plus(workOf(j, k)).compare(times(capacity[k], int64(in))) > 0 {
			return false
		}
	}
	return true
}

// user names whose job it is; "" if that is not known: such jobs count as one user's.
func user(j *Job) string { return j.Labels["owner"] }

// share returns what a user holds, which it makes if there is nothing.
func (s *shares) share(name string, resources int) *share {
	u := s.users[name]
	if u == nil {
		u = &share{work: make(work, resources)}
		s.users[name] = u
	}
	return u
}

// count adds a waiting job (sign 1) or takes it off (sign -1).
func (s *shares) count(r *record, sign, resources int) {
	name := user(r.job)
	u := s.share(name, resources)
	lacking := u.lacks()
	switch {
	case r.placement == nil:
		u.beyond += sign
	case sign > 0:
		u.planned++
		u.work.add(r.job)
		s.planned.add(r.job)
	default:
		u.planned--
		u.work.remove(r.job)
		s.planned.remove(r.job)
	}
	switch lacks := u.lacks(); {
	case lacks && !lacking:
		s.without++
	case lacking && !lacks:
		s.without--
	}
	if u.planned == 0 && u.beyond == 0 {
		delete(s.users, name)
	}
}

// lacks reports whether jobs of the user wait and none has a reservation.
func (u *share) lacks() bool { return u.beyond > 0 && u.planned == 0 }

// Copy returns an independent copy; nil of nil.
func (s *shares) Copy() *shares {
	if s == nil {
		return nil
	}
	c := &shares{users: make(map[string]*share, len(s.users)), planned: slices.Clone(s.planned), without: s.without}
	for name, u := range s.users {
		c.users[name] = &share{planned: u.planned, beyond: u.beyond, work: slices.Clone(u.work)}
	}
	return c
}

// followShares updates the users' shares for a changed record.
func (s *State) followShares(old, now *record) {
	if s.shares == nil {
		return
	}
	if old.in(waiting) {
		s.shares.count(old, -1, len(s.resources))
	}
	if now.in(waiting) {
		s.shares.count(now, 1, len(s.resources))
	}
}

// listShares counts the users' shares anew, after the policy or the planning has changed.
func (s *State) listShares() {
	if s.shares = nil; !s.guarantees || s.planning.Horizon == 0 {
		return
	}
	s.shares = &shares{users: map[string]*share{}, planned: make(work, len(s.resources))}
	s.queue.ascend(nil, func(q queued) bool {
		s.shares.count(s.jobs.Find(q.job.ID), 1, len(s.resources))
		return true
	})
}

// fits reports whether a job may have its part of the plan: its user has no reservation, or the plan
// and the user's part of it remain within the horizon. The parameter left says whether a job that
// comes before it was left out.
func (s *shares) fits(j *Job, left bool, capacity Vector, horizon Time) bool {
	u := s.users[user(j)]
	return u == nil || u.planned == 0 || !left && s.planned.within(j, capacity, horizon) &&
		u.work.within(j, capacity, horizon/ofPlan)
}

// Entering iterates over the jobs that enter the plan now, in their order, if the policy in charge
// gives guarantees; else over none. It leaves out those whose candidates offer no start, see
// [Fast.NoStart]. The loop must reserve for the job that it is given, or hold it.
func (f Fast) Entering() iter.Seq[*Job] {
	s := f.c.s
	return func(yield func(*Job) bool) {
		left := false
		for j := range f.Beyond() {
			switch {
			case !s.planHasRoom(), left && s.shares.without == 0:
				return
			case s.shares != nil && !s.shares.fits(j, left, s.capacity, s.planning.Horizon):
				left = left || !f.NoStart(j)
			case f.NoStart(j):
			case !yield(j):
				return
			}
		}
	}
}

// leftOutByUser is leftOut where the plan has a horizon. It returns the first job that was left out
// although its user has no promise, or although the plan had room for it; nil if there is none. Where
// jobs beyond the plan were started, who was left out before those behind them is not known any more.
func (c *Cycle) leftOutByUser() *Job {
	before := c.s.shares.Copy() // the starts
	for i := range c.started {
		s := &c.started[i]
		if s.planned {
			r := record{job: s.Job, placement: s.Placement}
			before.count(&r, 1, len(c.s.resources))
		}
	}
	beside := len(c.started) > c.fromPlan
	var job *Job
	c.s.beyond.Scan(func(q queued) bool {
		if c.s.mayClose(q.job) { // it may have no start
			beside = true
			return before.without > 0
		}
		if before.fits(q.job, beside, c.s.capacity, c.s.planning.Horizon) {
			job = q.job
			return false
		}
		beside = true
		return before.without > 0
	})
	return job
}

// noShare is the reason of a job that would enter the plan but for what its user holds of it; "" if
// that is not what it waits for.
func (s *State) noShare(j *Job) string {
	if s.shares == nil {
		return ""
	}
	u := s.shares.users[user(j)]
	if u == nil || u.planned == 0 || u.work.within(j, s.capacity, s.planning.Horizon/ofPlan) {
		return ""
	}
	jobs := "job of its user takes"
	if u.planned > 1 {
		jobs = "jobs of its user take"
	}
	return fmt.Sprintf("no promise yet: %s promised %s that user's part of the plan", thousands(u.planned), jobs)
}
