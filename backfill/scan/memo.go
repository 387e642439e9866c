package scan

import (
	"iter"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// memo is what a pass knows when it is over.
type memo struct {
	depth    int           // reservations that it may have made
	reserved int           // and has
	last     *backfill.Job // the last job that got one
	settled  bool          // each reservation is of a job that can use one slot alone
	sure     bool          // a new pass would come to the same reservations
}

// holds reports whether what the last pass found is still so.
func (m *memo) holds(c *backfill.Cycle, depth int) bool {
	round := c.Round()
	return m.sure && m.depth == depth && len(round.Keys) == 0 && len(round.Candidates) == 0 && len(c.Due()) == 0
}

// pass is one pass over the queue, with the memo that it will leave.
type pass struct {
	*memo
	c        *backfill.Cycle
	kept     bool            // the memo of the last pass holds, but for those who arrived
	arrivals []*backfill.Job // in the queue's order
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

// release gives the reservations up. A single one of the first job in the queue
// may as well be moved: nothing is started before that, and on one slot it makes
// no difference to where.
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

// started notes that a job was started: behind a reservation, on many slots, it
// may change which of them a new pass would reserve.
func (p *pass) started(*backfill.Job) {
	p.sure = p.sure && (p.reserved == 0 || p.settled)
}

// reserve notes that a blocked job gets a reservation.
func (p *pass) reserve(j *backfill.Job) {
	p.reserved, p.last, p.settled = p.reserved+1, j, p.settled && single(p.c, j)
}
