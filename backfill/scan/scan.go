// Package scan holds the passes over the queue that the queue policies share:
// start what stands at the head, then allocate or else reserve for the rest.
//
// fcfs, first-fit, easy and the beginning of maui, bb and ibb are one loop,
// [AllocateOrReserve], under different [Rules]; bb, ibb and maui choose
// differently among the jobs that may be backfilled.
//
// A pass of [Heads] or [Depth] leaves a memo: every job that it passed by is
// blocked, and stays so until something is given back, for what is free changes
// with time only where a running job is expected to end or a reservation to
// begin, and a job's run begins later, not earlier, as time goes by. So where
// jobs arrived and nothing else happened, only those are looked at.
//
//   - scan.go: the loop and the passes made of it
//   - memo.go: what a pass knows when it is over
package scan

import (
	"iter"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Begin opens a pass without a memo: it takes all events and gives up the
// reservations of the last pass, which are rebuilt each time.
func Begin(c *backfill.Cycle) {
	for _, more := c.Next(); more; {
		_, more = c.Next()
	}
	for _, j := range c.Planned() {
		c.Release(j)
	}
}

// Rules are what the policies that share the loop differ in.
type Rules struct {
	// Consider says whether a job may be started or reserved for at all; nil allows every job.
	Consider func(*backfill.Job) bool
	// Started is called after each start; nil does nothing.
	Started func(*backfill.Job)
	// Blocked is called for a job that does not fit now. It returns whether the job gets a
	// reservation and whether the pass continues behind it.
	Blocked func(*backfill.Job) (reserve, goOn bool)
}

// AllocateOrReserve goes through the queue once, in its order. Each job that Consider allows starts
// if it fits now through its estimate, beside all that runs and all reservations but its own. If it
// does not fit, it may get a reservation at its earliest start, or move its own there.
func AllocateOrReserve(c *backfill.Cycle, r Rules) { allocateOrReserve(c, c.Queue(), r) }

func allocateOrReserve(c *backfill.Cycle, jobs iter.Seq[*backfill.Job], r Rules) {
	for j := range jobs {
		if r.Consider != nil && !r.Consider(j) {
			continue
		}
		if at, fits := c.FitsNow(j); fits {
			c.Start(j, at)
			if r.Started != nil {
				r.Started(j)
			}
			continue
		}
		reserve, goOn := r.Blocked(j)
		if reserve {
			if start, at, ok := c.Earliest(j, c.Now()); ok {
				c.Reserve(j, start, at)
			}
		}
		if !goOn {
			return
		}
	}
}

// Depth runs a pass in which the first depth blocked jobs get a reservation and every other job
// that fits starts.
func Depth(c *backfill.Cycle, depth int) {
	p := begin(c, depth)
	if p.deep.Blocked == nil {
		p.deep = Rules{Started: p.started, Blocked: func(j *backfill.Job) (reserve, goOn bool) {
			if reserve = p.reserved < p.depth; reserve {
				p.reserve(j)
			}
			return reserve, true
		}}
	}
	allocateOrReserve(c, p.jobs(), p.deep)
	c.Remember(p)
}

// Heads runs a pass that starts jobs from the head of the queue as long as they fit now. It
// reserves for the pivot, the first that does not fit, and returns it; nil if there is none.
func Heads(c *backfill.Cycle) (pivot *backfill.Job) {
	p := begin(c, 1)
	if !p.kept || p.last == nil {
		if p.heads.Blocked == nil {
			p.heads = Rules{Started: p.started, Blocked: func(j *backfill.Job) (reserve, goOn bool) {
				p.reserve(j)
				return true, false
			}}
		}
		allocateOrReserve(c, p.jobs(), p.heads)
		p.sure = p.sure && p.settled // what the policy starts now may be in the way
	}
	c.Remember(p)
	return p.last
}
