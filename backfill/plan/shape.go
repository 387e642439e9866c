package plan

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// shape is a request that one or more planned jobs share. It notes the growths that may help these
// jobs.
type shape struct {
	candidates int             // ID of the set
	request    profile.Request // but for the duration
	need       backfill.Vector // of all chunks on one slot; nil: all that it has
	on         backfill.SlotID // the only slot that may be used, and is; else noSlot

	waiting int // how many jobs
	noted   int // how many growths
	// Those that begin before all later ones, and those that end after them.
	earliest, latest []growth
	// The last ones, where there are more slots.
	last []growth

	// Its jobs' indices in the plan, and the latest instant that matters to those
	// up to each: jobs only move forward, so that it is a bound.
	listed []int
	until  []backfill.Time
}

const noSlot backfill.SlotID = -1

// shape finds or makes the shape of a job with its place.
func (p *Plan) shape(j *backfill.Job, at backfill.Placement) *shape {
	request, need, on := p.c.Request(j), j.Total(), noSlot
	if j.Whole {
		need = nil
	}
	if slots := request.Candidates.Slots; len(slots) == 1 && len(at) == 1 && at[0].Slot == slots[0] {
		on = slots[0]
	}
	for _, s := range p.shapes {
		if s.candidates == j.Candidates && s.on == on && s.request.Nodes == j.Nodes &&
			s.request.Whole == request.Whole && slices.Equal(s.request.Chunk, request.Chunk) {
			return s
		}
	}
	s := &shape{candidates: j.Candidates, request: request, need: need, on: on}
	p.shapes = append(p.shapes, s)
	return s
}

// growth is room that was given back, the number-th that may help a shape.
type growth struct {
	number   int
	slot     backfill.SlotID
	from, to backfill.Time
}

// grow notes the place that a job gave back for the shapes that it may help. It returns a job
// before which none can move into the place. Without a job it is not known what was free there
// before.
func (p *Plan) grow(at backfill.Chunks, by *backfill.Job, from, to backfill.Time) (first int) {
	first = len(p.jobs)
	if from >= to || p.stale || len(p.jobs) == 0 {
		return first
	}
	// Low is the least that was free there before, high the most that is now.
	p.c.Profile().Bounds(at.Slot, from, to, p.low, p.high)
	if by != nil {
		p.low.AddScaled(p.c.State().Chunk(by, at.Slot), -int64(at.Count))
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

// first returns the first of the shape's jobs, before limit, to which time after the instant
// matters.
func (s *shape) first(from backfill.Time, limit int) int {
	i, _ := slices.BinarySearch(s.until, from+1)
	if i == len(s.listed) {
		return limit
	}
	return min(limit, s.listed[i])
}

// helps reports whether jobs of the shape may be able to move for room on a slot that now has up to
// p.high free and had as little as p.low before. A no is certain.
func (p *Plan) helps(s *shape, slot backfill.SlotID) bool {
	if s.request.Whole {
		all := p.c.State().Slots()[slot].Capacity
		return fits(all, p.high) && !fits(all, p.low) && p.c.Profile().MayUse(s.request, slot)
	}
	if s.on != noSlot {
		return s.on == slot && fits(s.need, p.high) && !fits(s.need, p.low)
	}
	return fits(s.request.Chunk, p.high) && !fits(s.need, p.low) && s.request.Candidates.Has(slot)
}

// fits reports whether there is enough of every resource that is needed. Others may be
// overcommitted.
func fits(need, free backfill.Vector) bool {
	for k, n := range need {
		if n > 0 && n > free[k] {
			return false
		}
	}
	return true
}

// note adds a growth, and drops those that are over.
func (s *shape) note(g growth, now backfill.Time) {
	s.noted++
	g.number = s.noted
	if s.on == noSlot {
		if len(s.last) == maxLast {
			s.last = slices.Delete(s.last, 0, maxLast/2)
		}
		s.last = append(s.last, g)
	}
	if len(s.latest) > 0 && s.latest[0].to <= now {
		s.latest = s.latest[:0]
	}
	for len(s.latest) > 0 && s.latest[len(s.latest)-1].to <= g.to {
		s.latest = s.latest[:len(s.latest)-1]
	}
	s.latest = append(s.latest, g)
	for len(s.earliest) > 0 && s.earliest[len(s.earliest)-1].from >= g.from {
		s.earliest = s.earliest[:len(s.earliest)-1]
	}
	over := 0
	for over < len(s.earliest) && s.earliest[over].to <= now {
		over++
	}
	s.earliest = append(slices.Delete(s.earliest, 0, over), g)
}

// since returns the span of what grew after the first noted growths; it is empty if all of that is
// over.
func (s *shape) since(noted int) (from, to backfill.Time) {
	from = after(s.earliest, noted).from
	return from, max(from, after(s.latest, noted).to)
}

// maxLast is how many growths are remembered one by one.
const maxLast = 512

// grown lists the growths after the first noted ones. It is false if there were too many to
// remember.
func (s *shape) grown(noted int) ([]growth, bool) {
	n := s.noted - noted
	if n > len(s.last) {
		return nil, false
	}
	return s.last[len(s.last)-n:], true
}

// after is the first growth of a number beyond noted, or none.
func after(row []growth, noted int) growth {
	if n := len(row); n > 1 && row[n-2].number <= noted { // mostly it is the last
		row = row[n-1:]
	}
	i, _ := slices.BinarySearchFunc(row, noted+1, func(g growth, number int) int { return g.number - number })
	if i == len(row) {
		return growth{}
	}
	return row[i]
}
