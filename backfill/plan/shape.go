package plan

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// shape stands for all planned jobs with equal requests. It notes the growths, the room given back
// on a slot, that may help these jobs to start earlier.
type shape struct {
	candidates int             // ID of the candidate set
	request    profile.Request // its duration does not count, as it may differ
	need       backfill.Vector // of all chunks together; nil: the whole slot
	on         backfill.SlotID // the only candidate slot, on which the jobs are placed; else noSlot

	waiting int // number of planned jobs
	noted   int // number of growths so far
	// The growths that begin before all later ones, and those that end after all later ones.
	earliest, latest []growth
	// The last growths, at most maxLast, and what they offer, block by block; only if on is noSlot.
	last   []remembered
	blocks []offer
	// The number of the last growth that is room in a row; 0: there was none.
	rowGrown int
	// The first settled growths help no job any more, and fresh covers all later ones.
	settled int
	fresh   growth
	asked   span // the last answer of since: many jobs have looked together

	// The indices of the jobs in the plan, ascending. Entry i of until is the end of the time in
	// which a growth may help one of the first i+1 of them. It stays an upper bound, as jobs only
	// move to earlier starts.
	listed []int
	until  []backfill.Time

	pass int      // the last pass that met a job of the shape, see met
	met  []metJob // some of the jobs that it met; each lasts no less than those before it
}

// metJob is a job that a pass has met.
type metJob struct {
	index int // in the plan
	lasts backfill.Time
}

const noSlot backfill.SlotID = -1

// shape returns the [shape], which jobs with equal requests share, of a job with its placement. It
// makes the shape if there is none.
func (p *Plan) shape(j *backfill.Job, at backfill.Placement) *shape {
	request, need, on := p.c.State().Request(j), j.Total(), noSlot
	if j.Whole {
		need = nil
	}
	if slots := request.Candidates.Slots; len(slots) == 1 && len(at) == 1 && at[0].Slot == slots[0] {
		on = slots[0]
	}
	for _, s := range p.shapes {
		if s.candidates == j.Candidates && s.on == on && s.request.Nodes == j.Nodes &&
			s.request.Whole == request.Whole && s.request.ToEnd == request.ToEnd &&
			slices.Equal(s.request.Chunk, request.Chunk) && slices.Equal(s.request.Takes, request.Takes) {
			return s
		}
	}
	s := &shape{candidates: j.Candidates, request: request, need: need, on: on}
	p.shapes = append(p.shapes, s)
	return s
}

// begin begins a pass through the jobs, in the plan's order.
func (p *Plan) begin() {
	p.pass++
	p.before = slices.Grow(p.before[:0], len(p.jobs))[:len(p.jobs)]
}

// met notes that the pass comes to the job at index i. It stores in before the index of the last
// job in front of it that was met, has the same shape and lasts no longer; -1 if there is none. It
// leaves out jobs that are not bound to a single slot, as [entry.follow] does not hold for them.
func (p *Plan) met(i int) {
	e, before := p.jobs[i], -1
	if s := e.shape; s.on != noSlot {
		if s.pass != p.pass {
			s.pass, s.met = p.pass, s.met[:0]
		}
		n, lasts := len(s.met), e.lasts()
		for n > 0 && s.met[n-1].lasts > lasts {
			n--
		}
		if n > 0 {
			before = s.met[n-1].index
		}
		if p.c.Now() >= e.earliest { // else it may lack a start at which others have one
			s.met = append(s.met[:n], metJob{i, lasts})
		}
	}
	p.before[i] = before
}

// growth is room that was given back on a slot, free during [from, to). The growths of a shape are
// numbered from 1.
type growth struct {
	number   int
	slot     backfill.SlotID
	from, to backfill.Time
}

// grow notes the room that job by gave back on a slot, in every shape that it may help. It returns
// the index of a job before which no job can use the room. If by is nil, the amount that was free
// there before is taken as unknown.
func (p *Plan) grow(at backfill.Chunks, leaver *backfill.Job, from, to backfill.Time) (first int) {
	first = len(p.jobs)
	if from >= to || p.stale || len(p.jobs) == 0 {
		return first
	}
	// low is the least that was free there before, high the most that is free now.
	p.c.State().Profile().Bounds(at.Slot, from, to, p.low, p.high)
	if leaver != nil && p.c.State().Request(leaver).Candidates.Least == nil {
		p.low.AddScaled(p.c.State().Chunk(leaver, at.Slot), -int64(at.Count))
	} else {
		for k := range p.low {
			p.low[k] = -int64(backfill.Forever)
		}
	}
	for _, s := range p.shapes {
		if p.helps(s, at.Slot) {
			s.note(growth{slot: at.Slot, from: from, to: to}, p.c.Now())
			first = min(first, s.first(from, first))
		}
	}
	return first
}

// anyRow is the slot of a growth that is room in a row: it helps on any slot.
const anyRow backfill.SlotID = -2

// growRow notes, like [Plan.grow], what was given back of a row, in every shape that it may help: at most
// the amount of the take, by all who left together. Of a row of which too much was taken, no amount that
// is free now is too little: a job's own place may have been a part of that.
func (p *Plan) growRow(t backfill.Take, from, to backfill.Time) (first int) {
	first = len(p.jobs)
	if from >= to || p.stale || len(p.jobs) == 0 {
		return first
	}
	low, high := p.c.State().Profile().Rows().Bounds(t.Row, from, to)
	if low -= t.Amount; low < 0 {
		high = backfill.MaxAmount
	}
	for _, s := range p.shapes {
		i := slices.IndexFunc(s.request.Takes, func(o backfill.Take) bool { return o.Row == t.Row })
		if i >= 0 && s.request.Takes[i].Amount <= high && s.request.Takes[i].Amount > low {
			s.note(growth{slot: anyRow, from: from, to: to}, p.c.Now())
			first = min(first, s.first(from, first))
		}
	}
	return first
}

// overfull reports whether the shape's jobs take of a row of which too much is taken. That is so while
// the events are still to come by which others leave it, or while jobs run that may have it.
func (p *Plan) overfull(s *shape) bool {
	return slices.ContainsFunc(s.request.Takes, func(t backfill.Take) bool {
		return p.c.State().Profile().Rows().Overfull(t.Row, p.c.Now())
	})
}

// first returns the index in the plan of the shape's first job that may use room which is free from
// the given instant on, but at most limit.
func (s *shape) first(from backfill.Time, limit int) int {
	i, _ := slices.BinarySearch(s.until, from+1)
	if i == len(s.listed) {
		return limit
	}
	return min(limit, s.listed[i])
}

// helps reports whether jobs of the shape may be able to move because of room on a slot. The most
// that is free there now is p.high, the least that was free before p.low. If it returns false, none
// can.
func (p *Plan) helps(s *shape, slot backfill.SlotID) bool {
	if s.request.Whole {
		all := p.c.State().Slots()[slot].Capacity
		return fits(all, p.high) && !fits(all, p.low) && p.c.State().Profile().MayUse(s.request, slot)
	}
	enough := fits(s.need, p.low) && s.request.Candidates.Least == nil // it was enough before
	if s.on != noSlot {
		return s.on == slot && fits(s.need, p.high) && !enough
	}
	return fits(s.request.Chunk, p.high) && !enough && s.request.Candidates.Has(slot)
}

// fits reports whether enough is free of every resource that is needed. What is not needed may be
// overcommitted.
func fits(need, free backfill.Vector) bool {
	for k, n := range need {
		if n > 0 && n > free[k] {
			return false
		}
	}
	return true
}

// note adds a growth, which is room that was given back, and drops growths that are over.
func (s *shape) note(g growth, now backfill.Time) {
	if s.noted == s.settled {
		s.fresh = g
	}
	s.fresh.from, s.fresh.to = min(s.fresh.from, g.from), max(s.fresh.to, g.to)
	s.noted++
	g.number = s.noted
	if g.slot == anyRow {
		s.rowGrown = s.noted
	}
	if s.on == noSlot {
		s.remember(g)
	}
	if len(s.latest) > 0 && s.latest[0].to <= now {
		s.latest = s.latest[:0]
	}
	for len(s.latest) > 0 && s.latest[len(s.latest)-1].to <= g.to {
		s.latest = s.latest[:len(s.latest)-1]
	}
	s.latest = coarser(append(s.latest, g))
	for len(s.earliest) > 0 && s.earliest[len(s.earliest)-1].from >= g.from {
		s.earliest = s.earliest[:len(s.earliest)-1]
	}
	over := 0
	for over < len(s.earliest) && s.earliest[over].to <= now {
		over++
	}
	s.earliest = coarser(append(slices.Delete(s.earliest, 0, over), g))
}

// maxRow is how long the lists of the earliest and the latest growths may become.
const maxRow = 128

// coarser shortens a list that is too long: of the older half, each two growths become one that covers
// both. Windows may then be wider than they need be.
func coarser(row []growth) []growth {
	if len(row) <= maxRow {
		return row
	}
	n := 0
	for ; 4*n < maxRow; n++ {
		a, b := row[2*n], row[2*n+1]
		row[n] = growth{number: b.number, from: min(a.from, b.from), to: max(a.to, b.to)}
	}
	return append(row[:n], row[2*n:]...)
}

// settle tells the shapes that no growth so far can help any job to start earlier, because each job
// that might have used it has been tried. It leaves out the shapes that are not bound to a single
// slot, and those that take of a row of which too much is taken: whoever moves out of that helps others
// that were tried before.
func (p *Plan) settle() {
	for _, s := range p.shapes {
		if s.on != noSlot && !p.overfull(s) {
			s.settled, s.fresh = s.noted, growth{}
			s.earliest, s.latest = s.earliest[:0], s.latest[:0]
		}
	}
}

// since returns a span that covers the growths after the first noted ones, perhaps without some
// that are over or settled.
func (s *shape) since(noted int) (from, to backfill.Time) {
	if noted <= s.settled { // mostly: no job was tried since
		return s.fresh.from, s.fresh.to
	}
	if s.asked.after == noted && s.asked.last == s.noted {
		return s.asked.from, s.asked.to
	}
	from = after(s.earliest, noted).from
	to = max(from, after(s.latest, noted).to)
	s.asked = span{noted, s.noted, from, to}
	return from, to
}

// span covers the growths with numbers above after, up to last.
type span struct {
	after, last int
	from, to    backfill.Time
}

// after returns the first growth in the list with a number above noted; the zero growth if there is
// none.
func after(row []growth, noted int) growth {
	low, high := 0, len(row)
	if high > 1 && row[high-2].number <= noted { // mostly it is the last
		low = high - 1
	}
	for low < high { // by hand, as jobs ask this more often than anything else
		if i := (low + high) / 2; row[i].number <= noted {
			low = i + 1
		} else {
			high = i
		}
	}
	if low == len(row) {
		return growth{}
	}
	return row[low]
}
