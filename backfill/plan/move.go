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
			i = min(i, p.move(p.jobs[i-1:i], start, at))
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
	for i := 0; i < len(p.jobs); i++ {
		e := p.jobs[i]
		if !p.come(i) {
			continue
		}
		if start, at, ok := p.try(e, e.to); ok {
			abreast := p.jobs[i : i+p.abreast(i, start)]
			p.move(abreast, start, at)
			for range abreast {
				moved = append(moved, i)
				i++
			}
			i--
		}
	}
	p.moved = moved
	p.resort(moved)
	p.settle() // what a job left begins at its place, too late for those before it
}

// abreast returns how many jobs from index i on move to the same start, one after the other, as the
// first of them can. That is known without a search for jobs that are planned for the same time on
// the same slot: none can start before the first one does, and what it leaves behind begins at
// their own planned start or later.
func (p *Plan) abreast(i int, start backfill.Time) int {
	e, now, n := p.jobs[i], p.c.Now(), 0
	for i+n < len(p.jobs) && e.alike(p.jobs[i+n]) && p.jobs[i+n].earliest <= now {
		n++
	}
	r := &e.shape.request
	if n < 2 || e.shape.on == noSlot || r.Whole || r.Takes != nil || r.Candidates.Least != nil {
		return 1
	}
	p.c.State().Profile().Bounds(e.shape.on, start, min(start+e.lasts(), e.start), p.low, p.high)
	for k, need := range e.shape.need {
		if need > 0 {
			n = min(n, int(p.low[k]/need))
		}
	}
	return max(1, n)
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
				p.move(p.jobs[i:i+1], start, at)
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
			p.move(p.jobs[i:i+1], start, at)
		}
	}
}
