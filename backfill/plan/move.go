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
		e, may := p.jobs[i], p.look(i)
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
		e := p.jobs[i]
		if !p.come(i) {
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
// moved, all to earlier starts. It writes only to the part of the list from the first new place to
// the last old one.
func (p *Plan) resort(moved []int) {
	if len(moved) == 0 {
		return
	}
	out := p.out[:0]
	for _, i := range moved {
		out = append(out, p.jobs[i])
	}
	slices.SortFunc(out, byStart)
	p.out = out
	// Close the gaps that the moved jobs leave, towards the end of the list.
	first, _ := slices.BinarySearchFunc(p.jobs[:moved[0]], out[0], byStart)
	end := moved[len(moved)-1] + 1
	rest := end
	for n, i := range slices.Backward(moved) {
		after := first
		if n > 0 {
			after = moved[n-1] + 1
		}
		rest -= i - after
		copy(p.jobs[rest:], p.jobs[after:i])
	}
	// Merge from the front, where there is room now.
	to := first
	for _, e := range out {
		before, _ := slices.BinarySearchFunc(p.jobs[rest:end], e, byStart)
		to += copy(p.jobs[to:], p.jobs[rest:rest+before])
		p.jobs[to] = e
		to, rest = to+1, rest+before
	}
}

// Fill moves each job that can start now to now, in the plan's order, and repeats until a round
// moves no job. [Plan.Start] does so again where a job that it starts leaves room.
func (p *Plan) Fill() {
	p.refresh()
	p.filled = true
	now := p.c.Now()
	for moved := true; moved; {
		moved = false
		p.begin()
		for i := range p.jobs {
			e := p.jobs[i]
			if !p.come(i) || e.from > now {
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
	for i := range p.position(&entry{Job: j, key: p.c.State().Key(j.ID)}) {
		e := p.jobs[i]
		if !p.come(i) {
			continue
		}
		if start, at, ok := p.try(e, limit+1); ok {
			p.move(e, start, at)
		}
	}
}
