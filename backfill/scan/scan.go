// Package scan holds the passes over the queue that several policies share. A pass goes through the
// queue once, starts jobs that fit now, and reserves for some of those that do not, which are
// blocked.
//
// fcfs, first-fit, easy, drain and the beginning of maui, bb and ibb use one loop,
// [AllocateOrReserve], with different [Rules]. Once no further reservation is to be made, first-fit,
// easy and drain start whatever fits, and bb and ibb choose among that: [backfill.Fast.Fitting]
// knows it without a look at every job. maui has windows of its own.
//
// A pass of [Heads], [Depth] or [Keeping] leaves a memo for the next cycle, which saves work: no job that the
// pass left waiting can start until resources are given back. For what is free changes with time
// only when a running job is expected to end or a reservation is due to start, and a job that
// starts later also ends later. So if jobs arrived and nothing else happened, the next pass looks
// only at those. The memo does not hold in a cycle in which the policy has taken events itself or acted
// before the pass, such as with [Begin], nor after one in which it changed reservations behind it: the
// pass then looks at all jobs.
//
//   - scan.go: the loop and the passes made of it
//   - memo.go: the memo, and when it still holds
package scan

import "github.com/condor-backfill/condor-backfill/backfill"

// Begin opens a cycle without a memo: it takes all events and releases all reservations, so that
// the policy makes them anew.
func Begin(c *backfill.Cycle) {
	for _, more := c.Next(); more; {
		_, more = c.Next()
	}
	for _, j := range c.Fast().Planned() {
		c.Release(j)
	}
}

// Rules are what the policies that share the loop differ in.
type Rules struct {
	// Early says whether a job that may not start yet gets a reservation; nil: none does.
	Early func(*backfill.Job) bool
	// Consider says whether a job may be started or reserved for at all; nil allows every job.
	Consider func(*backfill.Job) bool
	// Started is called with each job that was started; nil does nothing.
	Started func(*backfill.Job)
	// Blocked is called for a job that does not fit now. It returns whether the job gets a
	// reservation and whether the pass continues behind it.
	Blocked func(*backfill.Job) (reserve, goOn bool)
}

// AllocateOrReserve goes through the queue once, in its order. Each job that r.Consider allows
// starts if it fits now for all of its estimate, beside all running jobs and all other jobs'
// reservations. If it does not fit, r.Blocked decides whether it gets a reservation at its earliest
// start, or has its own moved there, and whether the pass continues. A job whose candidates all close
// before it could begin is passed over.
func AllocateOrReserve(c *backfill.Cycle, r Rules) {
	for j := range c.Waiting() {
		if j.Early(c.Now()) {
			if r.Early != nil && !c.Fast().NoStart(j) && r.Early(j) {
				reserve(c, j)
			}
			continue
		}
		if r.Consider != nil && !r.Consider(j) {
			continue
		}
		if start(c, j) {
			if r.Started != nil {
				r.Started(j)
			}
			continue
		}
		if c.Fast().NoStart(j) {
			continue
		}
		wanted, goOn := r.Blocked(j)
		if wanted {
			reserve(c, j)
		}
		if !goOn {
			return
		}
	}
}

// start starts a job if it fits now, and reports whether it does.
func start(c *backfill.Cycle, j *backfill.Job) bool {
	at, fits := c.FitsNow(j)
	if fits {
		c.Start(j, at)
	}
	return fits
}

// reserve reserves for a job at its earliest start, or moves its reservation there.
func reserve(c *backfill.Cycle, j *backfill.Job) {
	if start, at, ok := c.Earliest(j, c.Now()); ok {
		c.Reserve(j, start, at)
	}
}

// Depth runs a pass over the queue that starts every job that fits now. The first depth jobs that
// do not fit get a reservation, and before them as many jobs that may not start yet, each at its
// earliest start from its release on.
func Depth(c *backfill.Cycle, depth int) { deep(begin(c, depth, depth, false)) }

// Keeping is Depth, but a job that got a reservation has one until it starts, whoever comes to the
// head of the queue. It moves only to an earlier start, unless an event takes its place.
func Keeping(c *backfill.Cycle, depth int) { deep(begin(c, depth, depth, true)) }

// deep runs a pass with reservations.
func deep(p *pass) {
	c := p.c
	p.run(true)
	p.keep()
	if !p.kept && p.reserved == p.depth {
		for j, at := range c.Fast().Fitting(p.last) {
			c.Start(j, at)
			p.started()
		}
	}
	p.remember()
}

// Heads runs a pass that starts jobs from the head of the queue as long as they fit now. The first
// job that does not fit is the pivot: it gets a reservation, and Heads returns it, or nil if there
// is none. One job before it that may not start yet gets a reservation, too. A job whose candidates
// all close before it could begin is no pivot.
func Heads(c *backfill.Cycle) (pivot *backfill.Job) { return heads(c, 1, false) }

// InOrder is [Heads] without a reservation for jobs that may not start yet: they are not in the
// queue so far, and the jobs in it start as they fit. Every other job that does not fit is a pivot.
func InOrder(c *backfill.Cycle) { heads(c, 0, true) }

func heads(c *backfill.Cycle, room int, strict bool) (pivot *backfill.Job) {
	p := begin(c, 1, room, false)
	p.strict = strict
	if !p.kept || p.last == nil {
		p.run(false)
		p.sure = p.sure && p.settled // jobs that the policy starts now may change the reservation
	}
	p.remember()
	return p.last
}
