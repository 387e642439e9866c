package profile

// The sums of a pool are what is free of each resource on all of its slots together. They say when a
// request would fit if its chunks could be cut as one likes: on a pool of slots that are all alike, with
// chunks of one cpu, that is when it fits once others are moved to other slots.

// sums are kept from the first question on; nil: nobody has asked, or slots came or went since.
type sums []steps

// Sums answers questions about what all slots that are up have together.
type Sums struct{ p *View }

// SumsOf returns what all slots that are up have together. The sums are kept from then on.
func SumsOf(p *View) Sums {
	if p.sums == nil {
		p.addUp()
	}
	return Sums{p}
}

// FreeUntil is [View.FreeUntil] of all slots together.
func (s Sums) FreeUntil(need Vector, from Time) Time { return freeUntil(s.p.sums, need, from) }

// Earliest returns the first instant in [from, limit) from which at least the given amounts are free of
// all slots together for so long; false if there is none.
func (s Sums) Earliest(need Vector, lasts, from, limit Time) (Time, bool) {
	s.p.GoOn()
	return s.p.earliestIn(s.p.sums, -1, &Request{Chunk: need, Duration: lasts}, 1, from, limit)
}

// addUp computes the sums.
func (p *View) addUp() {
	p.sums = sums{}
	for id := range p.slots {
		s := &p.slots[id]
		if len(p.sums) < len(s.free) { // also if no slot is up
			p.sums = append(p.sums, make(sums, len(s.free)-len(p.sums))...)
		}
		if !s.up {
			continue
		}
		for k := range s.free {
			sum := &p.sums[k]
			sum.base += s.free[k].base
			s.free[k].root.each(func(at Time, change int64) { sum.change(p.owner, at, Forever, change) })
		}
	}
}

// addToSums adds amounts to the sums during [start, end), if they are kept.
func (p *Profile) addToSums(amounts Vector, chunks int64, start, end Time) {
	for k := range p.sums {
		if amount := amounts[k] * chunks; amount != 0 {
			p.sums[k].forget(p.owner, p.past)
			p.sums[k].shiftSpan(p.owner, p.past, start, end, amount)
		}
	}
}

// each calls the callback with each change in the subtree, by time.
func (n *node) each(yield func(at Time, change int64)) {
	if n == nil {
		return
	}
	for i := range n.n {
		if n.inner != nil {
			n.inner.kids[i].each(yield)
		} else {
			yield(n.at[i], n.change[i])
		}
	}
}
