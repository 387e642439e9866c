package plan

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Plan is the waiting jobs in the queue's order during one cycle, each with the
// window of the starts before the planned one that it might have.
type Plan struct {
	c     *backfill.Cycle
	jobs  []entry
	stale bool // jobs must be listed anew, with every window open

	low, high backfill.Vector // room for what grow asks
}

// Open begins a cycle with what was remembered of the last one.
func Open(c *backfill.Cycle) *Plan {
	p, ok := c.Memo().(*Plan)
	if !ok {
		n := len(c.Resources())
		p = &Plan{stale: c.State().Waiting() > 0, low: make(backfill.Vector, n), high: make(backfill.Vector, n)}
	}
	p.c = c
	p.stale = p.stale || len(c.Round().Keys) > 0 || p.rematched()
	return p
}

// rematched reports whether the candidates of a waiting job have changed.
func (p *Plan) rematched() bool {
	return slices.ContainsFunc(p.c.Round().Candidates, func(set backfill.CandidateSet) bool {
		return slices.ContainsFunc(p.jobs, func(e entry) bool { return e.Candidates == set.ID })
	})
}

// Next takes the next event and follows it: it places the jobs that lost their
// place, and widens the windows by what a completion gave back. A job that
// arrives is the policy's to place, with Promise.
func (p *Plan) Next() (backfill.Event, bool) {
	e, more := p.c.Next()
	if !more {
		return e, false
	}
	switch e.Kind {
	case backfill.Submitted, backfill.Wake:
	case backfill.Completed:
		for _, at := range e.Gone.Placement {
			p.grow(at, e.Gone.Job, p.c.Now(), e.Gone.End)
		}
	default:
		p.stale = true
	}
	for _, j := range e.Displaced {
		p.place(j)
	}
	return e, true
}

// Earliest is where a job without a place would be placed.
func (p *Plan) Earliest(j *backfill.Job) (start backfill.Time, ok bool) {
	start, _, ok = p.c.Earliest(j, p.c.Now())
	return start, ok
}

// place plans a job that has no place at its earliest start. One that fits at no
// time is held.
func (p *Plan) place(j *backfill.Job) {
	start, at, ok := p.c.Earliest(j, p.c.Now())
	if !ok {
		p.c.Hold(j, "fits at no time that can be foreseen")
		return
	}
	p.c.Reserve(j, start, at)
	if !p.stale {
		p.jobs = slices.Insert(p.jobs, p.position(j), p.entry(j, at, start, start))
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
	if !p.stale {
		if len(due) > 0 {
			p.jobs = slices.DeleteFunc(p.jobs, func(e entry) bool { return e.start <= p.c.Now() })
		}
		p.c.Remember(p)
	}
}

// refresh lists the jobs if that is due.
func (p *Plan) refresh() {
	if !p.stale {
		return
	}
	p.jobs, p.stale = p.jobs[:0], false
	for j := range p.c.Queue() {
		if start, at, ok := p.c.Reservation(j); ok {
			p.jobs = append(p.jobs, p.entry(j, at, start, p.c.Now()))
		}
	}
}

// position is where a job stands, or would, among those that have a place.
func (p *Plan) position(j *backfill.Job) int {
	for behind := range p.c.Behind(j) {
		if i := slices.IndexFunc(p.jobs, func(e entry) bool { return e.Job == behind }); i >= 0 {
			return i
		}
	}
	return len(p.jobs)
}
