package profile

import (
	"math/bits"
	"slices"
)

// A slot is idle if all its capacity is free from the origin on. What an idle slot can host, and
// what it then leaves free, does not depend on the time. So if many slots are idle, only those that
// the rule prefers are examined.

// idleOrder lists the candidates of a [reach] in the order in which the placement rule prefers them
// when they are idle. Candidates too small for one chunk are left out.
type idleOrder struct {
	order []int32  // candidates
	place []int32  // by candidate: its index in order; -1 if it is left out
	maybe []uint64 // a bit for each index in order; set for all idle slots, and perhaps for others
	first int      // words of maybe before this one are zero
}

// newIdleOrder computes the order in which the rule prefers the candidates for a chunk while they
// are idle, that is free for all time.
func (p *View) newIdleOrder(c *Candidates, chunk Vector) *idleOrder {
	o := &idleOrder{place: make([]int32, len(c.Slots)), order: make([]int32, 0, len(c.Slots))}
	hosts := make([]host, len(c.Slots))
	for i, id := range c.Slots {
		o.place[i] = -1
		if chunksWithin(p.slots[id].capacity, chunk, 1) == 0 {
			continue
		}
		hosts[i] = p.newHost(c, i)
		for k, total := range p.slots[id].capacity {
			if hosts[i].leaves(total-chunk[k], total); chunk[k] <= 0 && total > 0 {
				hosts[i].spare++
			}
		}
		o.order = append(o.order, int32(i))
	}
	slices.SortFunc(o.order, func(a, b int32) int { return p.rule.compare(&hosts[a], &hosts[b]) })
	for place, i := range o.order {
		o.place[i] = int32(place)
	}
	o.maybe = make([]uint64, (len(o.order)+63)/64)
	o.seeAll()
	return o
}

// see marks a candidate as possibly idle.
func (o *idleOrder) see(candidate int) {
	if place := int(o.place[candidate]); place >= 0 {
		o.maybe[place/64] |= 1 << (place % 64)
		o.first = min(o.first, place/64)
	}
}

// seeAll marks all candidates as possibly idle.
func (o *idleOrder) seeAll() {
	for _, i := range o.order {
		o.see(int(i))
	}
}

// firstIdle appends to list the indices of the n candidates of the reach that the rule prefers most
// among the idle ones, or of all idle ones if there are fewer.
func (p *View) firstIdle(x *reach, n int, list []int32) []int32 {
	o := x.idle
	end := len(list) + n
	for word := o.first; word < len(o.maybe); word++ {
		for rest := o.maybe[word]; rest != 0; rest &= rest - 1 {
			i := o.order[word*64+bits.TrailingZeros64(rest)]
			if !p.isIdle(x.candidates.Slots[i]) {
				o.maybe[word] &^= rest & -rest
				continue
			}
			if list = append(list, i); len(list) == end {
				return list
			}
		}
		if o.first == word && o.maybe[word] == 0 {
			o.first++
		}
	}
	return list
}

// onIdle returns how many chunks of the request fit together on the candidates of the reach that
// are idle, that is free for all time; at most r.Nodes.
func (p *View) onIdle(x *reach, r *Request) (chunks int) {
	p.looked = p.firstIdle(x, r.Nodes, p.looked[:0])
	for _, i := range p.looked {
		chunks += chunksWithin(p.slots[x.candidates.Slots[i]].capacity, r.Chunk, r.Nodes-chunks)
	}
	return chunks
}

// isIdle reports whether the slot is marked as idle: all of it is free for all time. No slot is
// marked unless watch was called.
func (p *View) isIdle(id SlotID) bool { return int(id) < len(p.idle) && p.idle[id] }

// watch marks each slot that is idle: all of it is free for all time. From then on, look keeps the
// marks current.
func (p *View) watch() {
	if p.idle != nil {
		return
	}
	p.idle = make([]bool, len(p.slots))
	for id := range p.slots {
		p.idle[id] = p.allFree(SlotID(id))
	}
}

// look updates the idle mark of a slot that has changed. It does nothing unless watch was called.
func (p *View) look(id SlotID) {
	if p.idle == nil {
		return
	}
	if idle := p.allFree(id); idle != p.idle[id] {
		p.idle[id] = idle
		p.grew(id, p.past)
	}
}

// allFree reports whether the slot is up and all of it is free for all time, except before p.past.
func (p *View) allFree(id SlotID) bool {
	s := &p.slots[id]
	for k := range s.free {
		free := &s.free[k]
		if free.forget(p.owner, p.past); free.root != nil || free.base != s.capacity[k] {
			return false
		}
	}
	return s.up && s.end == Forever
}
