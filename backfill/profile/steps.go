package profile

// steps is a step function of time: the free amount of one resource on one
// slot. It is kept as a base value and a tree of changes ("at this instant it
// rises or falls by so much"). A span is two changes, so nothing is ever pushed
// down, queries change nothing, and equal neighbours merge by themselves: a
// change of zero is not kept.
//
// Nodes carry an owner; a step function that meets a node of another owner
// copies it before changing it, which makes clones free.
type steps struct {
	base int64 // the value before the first change
	root *node // nil: there are no changes

	// The value that was asked for last: mostly it is the one of now, time and again.
	asked      Time
	answer     int64
	isAnswered bool
}

// owner marks nodes that may be changed in place. It has a size so that two
// owners never share an address.
type owner struct{ _ byte }

// add raises the function by amount during [from, to).
func (s *steps) add(o *owner, from, to Time, amount int64) {
	if from >= to || amount == 0 {
		return
	}
	s.isAnswered = false
	s.change(o, from, amount)
	if to < Forever {
		s.change(o, to, -amount)
	}
}

// change adds amount to the change at an instant.
func (s *steps) change(o *owner, at Time, amount int64) {
	if s.root == nil {
		s.root = &node{owner: o}
	}
	s.root = s.root.own(o)
	if right := s.root.shift(o, at, amount); right != nil {
		s.root = join(o, s.root, right)
	}
	for s.root != nil && s.root.n < 2 && (s.root.inner != nil || s.root.n == 0) {
		if s.root.n == 0 {
			s.root = nil
			return
		}
		s.root = s.root.inner.kids[0]
	}
}

// value is the function at t.
func (s *steps) value(t Time) int64 {
	if s.isAnswered && s.asked == t {
		return s.answer
	}
	v := s.base
	if s.root != nil {
		v = s.root.value(v, t)
	}
	s.asked, s.answer, s.isAnswered = t, v, true
	return v
}

// min is the lowest value during [from, to).
func (s *steps) min(from, to Time) int64 {
	v := s.value(from)
	if s.root == nil {
		return v
	}
	return min(v, s.root.lowest(s.base, from, to))
}

// firstBelow is the first instant from or later at which the value is less
// than need.
func (s *steps) firstBelow(from Time, need int64) (Time, bool) {
	if s.value(from) < need {
		return from, true
	}
	if s.root == nil {
		return 0, false
	}
	return s.root.firstBelow(s.base, from, need)
}

// nextAtLeast is the first instant later than from at which the value rises to
// need or more.
func (s *steps) nextAtLeast(from Time, need int64) (Time, bool) {
	if s.root == nil {
		return 0, false
	}
	return s.root.firstAtLeast(s.base, from, need)
}

// forget drops the changes at or before t: from then on the past has the value
// at t.
func (s *steps) forget(o *owner, t Time) {
	for s.root != nil {
		at, change := s.root.first()
		if at > t {
			return
		}
		s.isAnswered = false
		s.base += change
		s.change(o, at, -change)
	}
}

// Bounds is the least and the most that is free of each resource on the slot
// during [from, to); it fills in low and high.
func (p *View) Bounds(id SlotID, from, to Time, low, high Vector) {
	for k := range p.slots[id].free {
		free := &p.slots[id].free[k]
		at := free.value(from)
		low[k], high[k] = at, at
		if free.root != nil {
			low[k], high[k] = min(at, free.root.lowest(free.base, from, to)), max(at,
				free.root.highest(free.base, from, to))
		}
	}
}
