package plan

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Order is the order in which a plan lists its jobs and moves them.
type Order uint8

// The orders.
const (
	ByQueue Order = iota // the queue's order
	ByStart              // by planned start, then submit time and queue position
)

// Plan lists the waiting jobs during one cycle. Each has a window: the starts before the planned
// one that may be possible.
type Plan struct {
	c      *backfill.Cycle
	order  Order
	enter  func(*Plan, *backfill.Job) // plans and promises a job that enters the plan
	jobs   []*entry
	shapes []*shape
	stale  bool // jobs must be listed anew, with every window as wide as possible
	pass   int  // counts the passes through the jobs, see begin
	filled bool // in this cycle, see Fill
	begun  bool // a job was started in this cycle

	low, high backfill.Vector    // buffers of grow
	left      []backfill.Vacated // buffer of follow
	before    []int              // by index in jobs, of those that the pass has met; see met
	moved     []int              // this and out are buffers of CompressOnce
	out       []*entry
	alike     []*backfill.Job     // buffer of move
	one       backfill.Candidates // buffer of earliestAt
}

// Open returns the plan for a cycle: the one that the last cycle stored with
// [backfill.Fast.Remember], if it was made in the same order and the policy has done nothing in this cycle
// yet, else a new one. The plan calls enter for each job that enters it, which is to end with
// [Plan.Promise].
func Open(c *backfill.Cycle, order Order, enter func(*Plan, *backfill.Job)) *Plan {
	p, ok := c.Fast().Memo().(*Plan)
	if !ok || p.order != order || c.Fast().Begun() {
		n := len(c.State().Resources())
		p = &Plan{
			order: order, stale: c.State().Waiting() > 0, low: make(backfill.Vector, n),
			high: make(backfill.Vector, n),
		}
	}
	p.c, p.enter, p.filled, p.begun = c, enter, false, false
	round := c.Fast().Round()
	p.stale = p.stale || order == ByQueue && round.Rekeyed() || p.rematched()
	for _, grown := range c.Fast().RowsGrown() {
		p.growRow(grown, c.Now(), backfill.Forever)
	}
	return p
}

// rematched reports whether the candidates of a waiting job have changed.
func (p *Plan) rematched() bool {
	return slices.ContainsFunc(p.c.Fast().Round().Candidates, func(set backfill.CandidateSet) bool {
		return slices.ContainsFunc(p.shapes, func(s *shape) bool { return s.candidates == set.ID })
	})
}

// Next takes the next event and updates the plan; it returns false after the last event. It places
// the waiting jobs that the event left without a reservation, notes the room that was given back,
// and lets the job that arrives enter the plan, unless jobs have to wait for that until all events
// are taken; see [backfill.Planning].
func (p *Plan) Next() (backfill.Event, bool) {
	e, more := p.c.Next()
	if !more {
		return e, false
	}
	if e.Kind == backfill.PolicyChanged { // usually all jobs are in Displaced; the loop below lists them
		p.jobs, p.shapes, p.stale = nil, nil, len(e.Displaced) < p.c.State().Waiting()
	} else if !p.stale {
		p.follow(&e)
	}
	if e.Kind == backfill.Changed {
		_, _, stays := p.c.Reservation(e.Job)
		p.stale = p.stale || stays // it is listed as the job that it was
	}
	atOnce := atOnce(p.c, &e)
	for _, j := range e.Displaced {
		if _, promised := p.c.State().Guaranteed(j.ID); promised || atOnce {
			p.place(j)
		}
	}
	if e.Kind == backfill.Submitted && atOnce {
		p.enter(p, e.Job)
	}
	return e, true
}

// follow removes the jobs that lost their reservation in an event, and notes the room that the
// event gave back.
func (p *Plan) follow(e *backfill.Event) {
	now := p.c.Now()
	left := p.c.Fast().Vacated(p.left[:0])
	p.left = left
	for i := range left {
		if left[i].Planned {
			p.remove(&left[i])
		}
	}
	for i := range left {
		leaver := left[i].Job
		if len(left) > 1 {
			leaver = nil // what was free before is not known: others may have left the same slots
		}
		for _, at := range left[i].Placement {
			p.grow(at, leaver, max(now, left[i].Start), left[i].End)
		}
		for _, t := range left[i].Job.Takes {
			if len(left) > 1 {
				t.Amount = gave(left, t.Row)
			}
			p.growRow(t, max(now, left[i].Start), left[i].End)
		}
	}
	if e.Kind == backfill.SlotAdded || e.Kind == backfill.SlotChanged {
		p.grow(backfill.Chunks{Slot: e.Slot.ID}, nil, now, backfill.Forever)
	}
}

// gave returns how much all who left took of a row.
func gave(left []backfill.Vacated, row backfill.RowID) (all int64) {
	for i := range left {
		for _, t := range left[i].Job.Takes {
			if t.Row == row {
				all += t.Amount
			}
		}
	}
	return all
}

// remove takes off the list a job that lost its reservation.
func (p *Plan) remove(left *backfill.Vacated) {
	i := p.position(&entry{Job: left.Job, key: left.Key, start: left.Start})
	if i < len(p.jobs) && p.jobs[i].Job == left.Job {
		p.jobs[i].shape.waiting--
		p.jobs = slices.Delete(p.jobs, i, i+1)
	}
}

// Earliest returns the earliest start that a job without a reservation could get; false if it fits
// at no time.
func (p *Plan) Earliest(j *backfill.Job) (start backfill.Time, ok bool) {
	start, _, ok = p.c.Earliest(j, p.c.Now())
	return start, ok
}

// place reserves for a job without a reservation at its earliest start. A job whose candidates all
// close before it could begin is left without one; another that fits at no time is held.
func (p *Plan) place(j *backfill.Job) {
	start, at, ok := p.c.Earliest(j, p.c.Now())
	if !ok {
		if !p.c.Fast().NoStart(j) {
			p.c.Hold(j, "fits at no time that can be foreseen")
		}
		return
	}
	p.c.Reserve(j, start, at)
	if !p.stale {
		e := p.entry(j, at, start, start)
		p.jobs = slices.Insert(p.jobs, p.position(e), e)
	}
}

// Promise reserves for a job that enters the plan, at its earliest start, and makes that its guarantee.
func (p *Plan) Promise(j *backfill.Job) {
	p.place(j)
	promise(p.c, j)
}

// Start lets jobs enter the plan up to its depth. Then it starts the jobs whose planned start has
// come, by submit time, then queue position, and those beyond the depth that fit beside all others.
// It leaves the plan as the memo for the next cycle, so it must be called last.
func (p *Plan) Start() {
	fill(p.c, p.place, func(j *backfill.Job) { p.enter(p, j) })
	for p.startDue() && p.filled {
		p.Fill() // what jobs that have begun had beside their chunks, as nobody else may look before an event
	}
	p.startBeyond()
	if p.stale {
		return
	}
	p.drop()
	p.c.Fast().Remember(p)
}

// startDue starts the jobs whose planned start has come. It reports whether one of them left room: in
// its first second its reservation had all that must be free just before.
func (p *Plan) startDue() (left bool) {
	for _, j := range p.c.Due() {
		_, at, _ := p.c.Reservation(j)
		p.c.Start(j, at)
		p.begun = true
		if p.c.State().Request(j).Candidates.Least == nil {
			continue
		}
		left = true
		for _, on := range at {
			p.grow(on, nil, p.c.Now(), p.c.Now()+1)
		}
	}
	return left
}

// drop removes the jobs that were started, and the shapes that no job has any more.
func (p *Plan) drop() {
	if !p.begun {
		return
	}
	p.jobs = slices.DeleteFunc(p.jobs, func(e *entry) bool {
		due := e.start <= p.c.Now()
		if due {
			e.shape.waiting--
		}
		return due
	})
	p.shapes = slices.DeleteFunc(p.shapes, func(s *shape) bool { return s.waiting == 0 })
}

// refresh lists the jobs anew, if they are stale: keys, candidates or the policy changed, or there
// was no memo.
func (p *Plan) refresh() {
	if !p.stale {
		return
	}
	clear(p.jobs)
	p.jobs, p.shapes, p.stale = p.jobs[:0], nil, false
	for _, j := range p.c.Fast().Planned() {
		start, at, _ := p.c.Reservation(j)
		p.jobs = append(p.jobs, p.entry(j, at, start, p.c.Now()))
	}
	if p.order == ByQueue {
		slices.SortFunc(p.jobs, byQueue)
	}
}

// position returns the index at which the plan lists the entry, or would.
func (p *Plan) position(e *entry) int {
	compare := byQueue
	if p.order == ByStart {
		compare = byStart
	}
	i, _ := slices.BinarySearchFunc(p.jobs, e, compare)
	return i
}

// index stores in each shape the indices of its jobs, for grow, and passes by all jobs, see met.
func (p *Plan) index() {
	for _, s := range p.shapes {
		s.listed, s.until = s.listed[:0], s.until[:0]
	}
	p.begin()
	for i, e := range p.jobs {
		p.met(i)
		s := e.shape
		until := e.until()
		if n := len(s.until); n > 0 {
			until = max(until, s.until[n-1])
		}
		s.listed, s.until = append(s.listed, i), append(s.until, until)
	}
}
