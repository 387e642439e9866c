package plan

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Compress moves the first job in the plan's order that can start earlier to its earliest start,
// and repeats that from the front until no job can.
func (p *Plan) Compress() {
	p.refresh()
	p.index()
	for i := 0; i < len(p.jobs); {
		e, may := &p.jobs[i], p.look(i)
		i++
		if !may {
			continue
		}
		if start, at, ok := p.try(e, e.to); ok {
			i = min(i, p.move(e, start, at))
		}
	}
	p.settle()
}

// CompressOnce goes once through the jobs, in the order of the starts that they had before, and
// moves each to its earliest start.
func (p *Plan) CompressOnce() {
	p.refresh()
	p.begin()
	moved := p.moved[:0]
	for i := range p.jobs {
		e := &p.jobs[i]
		if p.met(); !p.look(i) {
			continue
		}
		if start, at, ok := p.try(e, e.to); ok {
			p.move(e, start, at)
			moved = append(moved, i)
		}
	}
	p.moved = moved
	p.resort(moved)
	p.settle() // what a job left begins at its place, too late for those before it
}

// resort sorts a plan by start again; moved holds the ascending indices of the jobs that have
// moved.
func (p *Plan) resort(moved []int) {
	if len(moved) == 0 {
		return
	}
	out := p.out[:0]
	for _, i := range moved {
		out = append(out, p.jobs[i])
	}
	rest := p.jobs[:moved[0]]
	for n, i := range moved {
		next := len(p.jobs)
		if n+1 < len(moved) {
			next = moved[n+1]
		}
		rest = append(rest, p.jobs[i+1:next]...)
	}
	slices.SortFunc(out, byStart)
	p.out = out
	// Merge from the end, where there is room.
	to := len(p.jobs) - 1
	for i, k := len(rest)-1, len(out)-1; k >= 0; to-- {
		if i >= 0 && byStart(p.jobs[i], out[k]) > 0 {
			p.jobs[to] = p.jobs[i]
			i--
		} else {
			p.jobs[to] = out[k]
			k--
		}
	}
}

// Fill moves each job that can start now to now, in the plan's order, and repeats until a round
// moves no job.
func (p *Plan) Fill() {
	p.refresh()
	now := p.c.Now()
	for moved := true; moved; {
		moved = false
		p.begin()
		for i := range p.jobs {
			e := &p.jobs[i]
			if p.met(); !p.look(i) || e.from > now {
				continue
			}
			if start, at, ok := p.try(e, now+1); ok {
				p.move(e, start, at)
				moved = true
			}
		}
	}
}

// Advance goes once, in the plan's order, through the jobs before j, which itself has no
// reservation yet. It moves each to its earliest start if that is limit or earlier.
func (p *Plan) Advance(j *backfill.Job, limit backfill.Time) {
	p.refresh()
	p.begin()
	for i := range p.position(entry{job: &job{Job: j, key: p.c.Key(j)}}) {
		e := &p.jobs[i]
		if p.met(); !p.look(i) {
			continue
		}
		if start, at, ok := p.try(e, limit+1); ok {
			p.move(e, start, at)
		}
	}
}
