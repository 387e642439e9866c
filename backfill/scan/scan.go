// Package scan holds the passes over the queue that the queue policies share:
// start what stands at the head, then allocate or else reserve for the rest.
//
// fcfs, first-fit and easy are one loop with a different number of
// reservations; bb and ibb share its beginning and choose differently among
// the jobs that may be backfilled.
//
// A pass leaves a memo: every job that it passed by is blocked, and stays so
// until something is given back, for what is free changes with time only where
// a running job is expected to end or a reservation to begin, and a job's run
// begins later, not earlier, as time goes by. So where jobs arrived and nothing
// else happened, only those are looked at.
package scan

import (
	"iter"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Heads opens a pass, starts the first job of the queue as long as it fits now,
// and reserves for the pivot: the job left at the head, nil if there is none.
func Heads(c *backfill.Cycle) (pivot *backfill.Job) {
	p := begin(c, 1)
	if p.kept && p.last != nil {
		c.Remember(p.memo)
		return p.last
	}
	for j := range p.jobs() {
		if !p.allocate(j) {
			p.reserve(j)
			break
		}
	}
	p.sure = p.sure && p.settled // what the policy starts now may be in the way
	c.Remember(p.memo)
	return p.last
}

// AllocateOrReserve opens a pass and goes once through the queue in its order. The first depth
// jobs that cannot start get a reservation at the earliest time that those
// before them leave; every other job starts if it fits now through its
// estimate, beside all that runs and all reservations.
func AllocateOrReserve(c *backfill.Cycle, depth int) {
	p := begin(c, depth)
	for j := range p.jobs() {
		if !p.allocate(j) && p.reserved < depth {
			p.reserve(j)
		}
	}
	c.Remember(p.memo)
}

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

// pass is one pass over the queue.
type pass struct {
	*memo
	c        *backfill.Cycle
	kept     bool            // the memo holds, but for those who arrived
	arrivals []*backfill.Job // in the queue's order
}

// memo is what a pass knows when it is over.
type memo struct {
	depth    int           // reservations that it may have made
	reserved int           // and has
	last     *backfill.Job // the last job that got one
	settled  bool          // each reservation is of a job that can use one slot alone
	sure     bool          // a new pass would come to the same reservations
}

// begin takes all events. Unless the memo of the last pass holds, it gives up
// the reservations; they are rebuilt.
func begin(c *backfill.Cycle, depth int) *pass {
	p := &pass{c: c}
	only := true // jobs arrived, and nothing else happened
	for e, more := c.Next(); more; e, more = c.Next() {
		switch e.Kind {
		case backfill.Submitted:
			p.arrivals = append(p.arrivals, e.Spec)
		case backfill.Wake:
		default:
			only = false
		}
	}
	known, ok := c.Memo().(*memo)
	if ok && only && known.holds(c, depth) {
		slices.SortFunc(p.arrivals, c.Compare)
		if known.last == nil || len(p.arrivals) == 0 || c.Compare(known.last, p.arrivals[0]) < 0 {
			p.memo, p.kept = known, true
			return p
		}
	}
	if !ok {
		known = new(memo)
	}
	*known = memo{depth: depth, settled: true, sure: true}
	p.memo = known
	p.release()
	return p
}

// holds reports whether what the last pass found is still so.
func (m *memo) holds(c *backfill.Cycle, depth int) bool {
	round := c.Round()
	return m.sure && m.depth == depth && len(round.Keys) == 0 && len(round.Candidates) == 0 && len(c.Due()) == 0
}

// release gives the reservations up. A single one of the first job in the queue
// may as well be moved: nothing is started before that, and on one slot it makes no
// difference to where.
func (p *pass) release() {
	planned := p.c.Planned()
	if len(planned) == 1 && single(p.c, planned[0]) {
		for first := range p.c.Queue() {
			if first == planned[0] {
				return
			}
			break
		}
	}
	for _, j := range planned {
		p.c.Release(j)
	}
}

// single reports whether the job can use one slot alone.
func single(c *backfill.Cycle, j *backfill.Job) bool { return len(c.Request(j).Candidates.Slots) == 1 }

// jobs are those that the pass has to look at.
func (p *pass) jobs() iter.Seq[*backfill.Job] {
	if p.kept {
		return slices.Values(p.arrivals)
	}
	return p.c.Queue()
}

// allocate starts a job if it fits now.
func (p *pass) allocate(j *backfill.Job) bool {
	at, fits := p.c.FitsNow(j)
	if fits {
		p.c.Start(j, at)
		p.sure = p.sure && (p.reserved == 0 || p.settled)
	}
	return fits
}

// reserve gives a blocked job its earliest place.
func (p *pass) reserve(j *backfill.Job) {
	if start, at, ok := p.c.Earliest(j, p.c.Now()); ok {
		p.c.Reserve(j, start, at)
	}
	p.reserved, p.last, p.settled = p.reserved+1, j, p.settled && single(p.c, j)
}
