package plan

import "github.com/condor-backfill/condor-backfill/backfill"

// Compress moves jobs to their earliest starts: always the first in the queue's
// order that can move, until none can.
func (p *Plan) Compress() {
	p.refresh()
	for i := 0; i < len(p.jobs); {
		e := &p.jobs[i]
		start, at, ok := p.try(e, e.to)
		if i++; ok {
			i = min(i, p.move(e, start, at))
		}
	}
}

// Fill moves jobs to now that are planned for later, round by round in the
// queue's order, until a round moves none.
func (p *Plan) Fill() {
	p.refresh()
	now := p.c.Now()
	for moved := true; moved; {
		moved = false
		for i := range p.jobs {
			e := &p.jobs[i]
			if e.start <= now || e.from > now {
				continue
			}
			if start, at, ok := p.try(e, e.to); ok && start == now {
				p.move(e, start, at)
				moved = true
			}
		}
	}
}

// Advance goes once through the jobs that stand before j, which has no place, in
// the queue's order, and moves each to its earliest start if that is not later
// than limit.
func (p *Plan) Advance(j *backfill.Job, limit backfill.Time) {
	p.refresh()
	for i := range p.position(j) {
		e := &p.jobs[i]
		if start, at, ok := p.try(e, limit+1); ok {
			p.move(e, start, at)
		}
	}
}
