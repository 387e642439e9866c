package profile

import (
	"fmt"
	"slices"
)

// Free returns the amount of each resource that is free on the slot at t. It may be negative, for
// example if jobs run longer than planned or the slot has shrunk.
func (p *View) Free(id SlotID, t Time) Vector {
	free := make(Vector, len(p.slots[id].free))
	for k := range free {
		free[k] = p.slots[id].free[k].value(t)
	}
	return free
}

// FreeOf is [View.Free] for one resource.
func (p *View) FreeOf(id SlotID, resource int, t Time) int64 {
	return p.slots[id].free[resource].value(t)
}

// FreeUntil returns until when the slot has at least the given amounts free from an instant on: the
// instant itself if it has less, Forever if it always has that much. Resources of which nothing is
// needed do not count.
func (p *View) FreeUntil(id SlotID, need Vector, from Time) Time {
	return freeUntil(p.slots[id].free, need, from)
}

// freeUntil is [View.FreeUntil] of step functions by resource.
func freeUntil(free []steps, need Vector, from Time) Time {
	until := Forever
	for k, n := range need {
		if n == 0 {
			continue
		}
		if short, ok := free[k].firstBelow(from, n); ok {
			if until = min(until, short); until <= from {
				return from
			}
		}
	}
	return until
}

// Overfull reports whether at some instant from t on more than the slot's capacity is occupied.
func (p *View) Overfull(id SlotID, t Time) bool {
	for k := range p.slots[id].free {
		if p.slots[id].free[k].min(t, Forever) < 0 {
			return true
		}
	}
	return false
}

// Fits reports whether the placement satisfies the request and is free from start until
// [View.End]. It satisfies the request if all its slots are up and candidates with a window
// that contains start, no slot occurs twice and the number of chunks is right; or, for a job that
// takes a bundle, if it is exactly one candidate bundle with such a window. What the request takes of
// rows must be free as long.
func (p *View) Fits(r Request, at Placement, start Time) bool {
	return p.Misfit(r, at, start) == nil
}

// Misfit returns an error that says why the placement does not fit, or nil if it does; see
// [View.Fits].
func (p *View) Misfit(r Request, at Placement, start Time) error {
	if err := p.misfitRows(&r, start); err != nil {
		return err
	}
	if r.Whole {
		return p.misfitWhole(r, at, start)
	}
	count, end := 0, p.Ends().Run(r, at, start)
	for i, c := range at {
		switch {
		case !p.Up(c.Slot):
			return fmt.Errorf("slot %d is not there", c.Slot)
		case c.Count <= 0 || c.Count > r.Nodes:
			return fmt.Errorf("%d chunks on slot %s: the job has %d", c.Count, p.slots[c.Slot].name, r.Nodes)
		case !r.Candidates.Has(c.Slot):
			return fmt.Errorf("slot %s is no candidate of the job", p.slots[c.Slot].name)
		case r.Candidates.Windows != nil && !r.Candidates.opens(c.Slot, start):
			return fmt.Errorf("on slot %s the job may not begin at %d", p.slots[c.Slot].name, start)
		case slices.ContainsFunc(at[:i], func(o Chunks) bool { return o.Slot == c.Slot }):
			return fmt.Errorf("slot %s is named twice", p.slots[c.Slot].name)
		case !p.slots[c.Slot].hosts(r.Chunk, c.Count, start, end):
			return fmt.Errorf("%d chunks of %v are not free on slot %s during [%d, %d)", c.Count, r.Chunk,
				p.slots[c.Slot].name, start, end)
		}
		count += c.Count
	}
	if count != r.Nodes {
		return fmt.Errorf("%d chunks are placed, the job has %d", count, r.Nodes)
	}
	return p.misfitLeast(&r, at, start)
}

// EverFits reports whether the request would fit if nothing else were placed in the pool, its
// candidates were open at all times, and no slot ended.
func (p *View) EverFits(r Request) bool {
	if _, low := p.Rows().TooLow(r.Takes); low {
		return false
	}
	if r.Whole {
		return slices.ContainsFunc(r.Candidates.Bundles, p.bundleUp)
	}
	chunks := 0
	for i, id := range r.Candidates.Slots {
		if p.Up(id) {
			chunks += p.chunksEver(i, &r, r.Nodes-chunks)
		}
		if chunks == r.Nodes { // mostly the first slot will do
			return true
		}
	}
	return false
}
