package plan

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Order is the order in which a plan lists its jobs.
type Order uint8

// The orders.
const (
	ByQueue Order = iota // the queue's
	ByStart              // by planned start, then order of jobs
)

// Plan lists the waiting jobs in an order during one cycle, each with its window: the starts before
// the planned one that may be possible.
type Plan struct {
	c      *backfill.Cycle
	order  Order
	jobs   []entry
	shapes []*shape
	stale  bool // jobs must be listed anew, with every window open

	low, high backfill.Vector    // room for what grow asks
	left      []backfill.Vacated // for what follow does
	moved     []int              // and for what CompressOnce moves
	out       []entry
}

// Open begins a cycle with the plan that the last cycle left as its memo, or with a new one.
func Open(c *backfill.Cycle, order Order) *Plan {
	p, ok := c.Memo().(*Plan)
	if !ok || p.order != order {
		n := len(c.Resources())
		p = &Plan{
			order: order, stale: c.State().Waiting() > 0, low: make(backfill.Vector, n),
			high: make(backfill.Vector, n),
		}
	}
	p.c = c
	p.stale = p.stale || len(c.Round().Keys) > 0 || p.rematched()
	return p
}

// rematched reports whether the candidates of a waiting job have changed.
func (p *Plan) rematched() bool {
	return slices.ContainsFunc(p.c.Round().Candidates, func(set backfill.CandidateSet) bool {
		return slices.ContainsFunc(p.shapes, func(s *shape) bool { return s.candidates == set.ID })
	})
}

// Next takes the next event and updates the plan: it places the jobs that lost their place, and
// widens windows by what was given back. The policy places a job that arrives, with Promise.
func (p *Plan) Next() (backfill.Event, bool) {
	e, more := p.c.Next()
	if !more {
		return e, false
	}
	if e.Kind == backfill.PolicyChanged { // mostly all jobs are placed now, one after the other
		p.jobs, p.shapes, p.stale = nil, nil, len(e.Displaced) < p.c.State().Waiting()
	} else if !p.stale {
		p.follow(&e)
	}
	for _, j := range e.Displaced {
		p.place(j)
	}
	return e, true
}

// follow removes the jobs that lost their place in an event, and notes the room that was given
// back.
func (p *Plan) follow(e *backfill.Event) {
	now := p.c.Now()
	left := p.c.Vacated(p.left[:0])
	p.left = left
	for i := range left {
		if left[i].Planned {
			p.remove(&left[i])
		}
	}
	for i := range left {
		by := left[i].Job
		if len(left) > 1 {
			by = nil // there may be others on its slots
		}
		for _, at := range left[i].Placement {
			p.grow(at, by, max(now, left[i].Start), left[i].End)
		}
	}
	if e.Kind == backfill.SlotAdded || e.Kind == backfill.SlotChanged {
		p.grow(backfill.Chunks{Slot: e.Slot.ID}, nil, now, backfill.Forever)
	}
}

// remove takes a job that had a place off the list.
func (p *Plan) remove(left *backfill.Vacated) {
	i := p.position(entry{job: &job{Job: left.Job, key: left.Key}, start: left.Start})
	if i < len(p.jobs) && p.jobs[i].Job == left.Job {
		p.jobs[i].shape.waiting--
		p.jobs = slices.Delete(p.jobs, i, i+1)
	}
}

// Earliest returns the start and placement that a job without a place would get.
func (p *Plan) Earliest(j *backfill.Job) (start backfill.Time, ok bool) {
	start, _, ok = p.c.Earliest(j, p.c.Now())
	return start, ok
}

// place plans a job that has no place at its earliest start. A job that fits at no time is held.
func (p *Plan) place(j *backfill.Job) {
	start, at, ok := p.c.Earliest(j, p.c.Now())
	if !ok {
		p.c.Hold(j, "fits at no time that can be foreseen")
		return
	}
	p.c.Reserve(j, start, at)
	if !p.stale {
		e := p.entry(j, at, start, start)
		p.jobs = slices.Insert(p.jobs, p.position(e), e)
	}
}

// Promise places a job that has arrived and makes its start its guarantee.
func (p *Plan) Promise(j *backfill.Job) {
	p.place(j)
	if start, _, ok := p.c.Reservation(j); ok {
		p.c.Guarantee(j, start)
	}
}

// Start starts the jobs whose time has come, in order of jobs, and ends the
// cycle.
func (p *Plan) Start() {
	due := p.c.Due()
	for _, j := range due {
		_, at, _ := p.c.Reservation(j)
		p.c.Start(j, at)
	}
	if p.stale {
		return
	}
	if len(due) > 0 {
		p.drop()
	}
	p.c.Remember(p)
}

// drop removes the jobs that were due, and the shapes that no job has any more.
func (p *Plan) drop() {
	p.jobs = slices.DeleteFunc(p.jobs, func(e entry) bool {
		due := e.start <= p.c.Now()
		if due {
			e.shape.waiting--
		}
		return due
	})
	p.shapes = slices.DeleteFunc(p.shapes, func(s *shape) bool { return s.waiting == 0 })
}

// refresh lists the jobs again if keys, candidates or the policy changed.
func (p *Plan) refresh() {
	if !p.stale {
		return
	}
	clear(p.jobs)
	p.jobs, p.shapes, p.stale = p.jobs[:0], nil, false
	for j := range p.c.Queue() {
		if start, at, ok := p.c.Reservation(j); ok {
			p.jobs = append(p.jobs, p.entry(j, at, start, p.c.Now()))
		}
	}
	if p.order == ByStart {
		slices.SortFunc(p.jobs, byStart)
	}
}

// position is the index at which a job is listed, or would be.
func (p *Plan) position(e entry) int {
	compare := byQueue
	if p.order == ByStart {
		compare = byStart
	}
	i, _ := slices.BinarySearchFunc(p.jobs, e, compare)
	return i
}

// index lists each shape's jobs.
func (p *Plan) index() {
	for _, s := range p.shapes {
		s.listed, s.until = s.listed[:0], s.until[:0]
	}
	for i := range p.jobs {
		e := &p.jobs[i]
		s := e.shape
		until := e.until()
		if n := len(s.until); n > 0 {
			until = max(until, s.until[n-1])
		}
		s.listed, s.until = append(s.listed, i), append(s.until, until)
	}
}
