package profile

import (
	"fmt"
	"slices"
)

// Some slots accept a job only while more is free than the job takes, as they keep some of it for
// others. [Candidates.Least] says how much must be free just before a chunk begins. All that was
// free before may be taken a moment later, so it says nothing of the time in which the job runs:
// only the first second counts. The chunks of a gang begin one after another, and the last one on a
// slot finds the least free: n chunks need n times the chunk in all their time, and in their first
// second the [View.Spare] of one chunk beside that.

// least returns what must be free just before a chunk begins on the i-th candidate; nil: nothing
// but the chunk itself.
func (c *Candidates) least(i int) Vector {
	if c.Least == nil {
		return nil
	}
	return c.Least[i]
}

// LeastOn returns what must be free on a slot just before a chunk begins there; nil: nothing but
// the chunk itself, or the slot is no candidate.
func (c *Candidates) LeastOn(id SlotID) Vector {
	if c.Least == nil {
		return nil
	}
	if i, found := slices.BinarySearch(c.Slots, id); found {
		return c.Least[i]
	}
	return nil
}

// Spare returns what must be free on a slot in the first second of a request beside its chunks there;
// nil: nothing.
func (r *Request) Spare(id SlotID) (spare Vector) {
	for k, least := range r.Candidates.LeastOn(id) {
		if over := least - r.Chunk[k]; over > 0 {
			if spare == nil {
				spare = make(Vector, len(r.Chunk))
			}
			spare[k] = over
		}
	}
	return spare
}

// ValidateLeast returns an error unless what must be free is one amount of each of so many resources,
// for each slot.
func (c *Candidates) ValidateLeast(resources int) error {
	if c.Least == nil {
		return nil
	}
	if len(c.Least) != len(c.Slots) {
		return fmt.Errorf("%d vectors of what must be free for %d slots", len(c.Least), len(c.Slots))
	}
	for i, least := range c.Least {
		if least != nil && len(least) != resources {
			return fmt.Errorf("what must be free on slot %d has %d resources, the pool %d", c.Slots[i], len(least), resources)
		}
		if slices.ContainsFunc(least, func(n int64) bool { return n < 0 }) {
			return fmt.Errorf("what must be free on slot %d is %v: must not be negative", c.Slots[i], least)
		}
	}
	return nil
}

// chunksOf returns how many chunks of the request fit the i-th candidate from start on, at most
// r.Nodes.
func (p *View) chunksOf(i int, r *Request, start Time) int {
	return p.chunksBeside(i, r, start, p.chunksAt(r.Candidates.Slots[i], r, start))
}

// chunksBeside returns how many of n chunks that fit the i-th candidate from start on leave enough
// there.
func (p *View) chunksBeside(i int, r *Request, start Time, n int) int {
	least := r.Candidates.least(i)
	if least == nil || n == 0 {
		return n
	}
	s := &p.slots[r.Candidates.Slots[i]]
	for k, need := range least {
		over := need - r.Chunk[k]
		if over <= 0 {
			continue
		}
		left := s.beside(k, start, over)
		switch {
		case left < r.Chunk[k] || left < 0:
			return 0
		case r.Chunk[k] > 0:
			n = int(min(int64(n), left/r.Chunk[k]))
		}
	}
	return n
}

// earliestOf is [View.earliestOn] for the i-th candidate, with what must be free there.
func (p *View) earliestOf(i int, r *Request, chunks int, from, limit Time) (Time, bool) {
	id := r.Candidates.Slots[i]
	least := r.Candidates.least(i)
	for {
		start, ok := p.earliestOn(id, r, chunks, from, limit)
		if !ok || least == nil {
			return start, ok
		}
		if from, ok = p.enough(id, r, least, chunks, start, limit); !ok {
			return 0, false
		}
		if from == start {
			return start, true
		}
	}
}

// enough returns the first instant from start on at which so many chunks find enough free on a slot in
// their first second; false if there is none before limit.
func (p *View) enough(id SlotID, r *Request, least Vector, chunks int, start, limit Time) (Time, bool) {
	s := &p.slots[id]
	for settled, k := 0, 0; settled < len(least); k = (k + 1) % len(least) {
		settled++
		over := least[k] - r.Chunk[k]
		if over <= 0 {
			continue
		}
		again, found := s.enoughOf(k, start, limit, r.Chunk[k]*int64(chunks), over)
		if !found {
			return 0, false
		}
		if again > start {
			start, settled = again, 1
		}
	}
	return start, true
}

// lessFrom returns the first instant after now, and before next, at which less is free on the i-th
// candidate than so many chunks, which fit now, need in their first second; next if there is none.
func (p *View) lessFrom(i int, r *Request, chunks int, now, next Time) Time {
	s := &p.slots[r.Candidates.Slots[i]]
	for k, need := range r.Candidates.least(i) {
		if over := need - r.Chunk[k]; over > 0 {
			next = s.lessOf(k, now+1, next, r.Chunk[k]*int64(chunks), over)
		}
	}
	return next
}

// misfitLeast returns an error that says where less is free than the chunks of a placement need when
// they begin, or nil.
func (p *View) misfitLeast(r *Request, at Placement, start Time) error {
	if r.Candidates.Least == nil {
		return nil
	}
	for _, c := range at {
		i, found := slices.BinarySearch(r.Candidates.Slots, c.Slot)
		if !found {
			continue
		}
		one := *r
		one.Nodes = c.Count
		if p.chunksOf(i, &one, start) < c.Count {
			return fmt.Errorf("%d chunks of %v may begin on slot %s only while at least %v is free just before each", c.Count,
				r.Chunk, p.slots[c.Slot].name, r.Candidates.least(i))
		}
	}
	return nil
}

// chunksEver returns how many chunks of the request, at most limit, fit the i-th candidate if nothing
// else is there.
func (p *View) chunksEver(i int, r *Request, limit int) int {
	capacity := p.slots[r.Candidates.Slots[i]].capacity
	n := chunksWithin(capacity, r.Chunk, limit)
	for k, need := range r.Candidates.least(i) {
		over := need - r.Chunk[k]
		if over <= 0 {
			continue
		}
		left := capacity[k] - over
		switch {
		case left < r.Chunk[k] || left < 0:
			return 0
		case r.Chunk[k] > 0:
			n = int(min(int64(n), left/r.Chunk[k]))
		}
	}
	return n
}
