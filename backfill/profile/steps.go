package profile

import "math"

// steps is a step function of time: the free amount of one resource on one slot. It is a base value
// and a tree of changes ("at this instant the value rises or falls by so much"). A span is two
// changes, however many others lie between them. Queries leave the tree as it is, and equal
// neighbours merge by themselves: a change of zero is not stored.
//
// Each tree node has an owner. A step function of another owner copies the node before it changes
// it, so clones cost nothing.
type steps struct {
	base int64 // the value before the first change
	root *node // nil: there are no changes

	// The last query's instant and answer. Most queries are for the present value.
	asked      Time
	answer     int64
	isAnswered bool
}

// owner marks the tree nodes that a profile may change in place. It has a size, as two pointers to
// types without size may be equal.
type owner struct{ _ byte }

// add raises the function by amount during [from, to).
func (s *steps) add(o *owner, from, to Time, amount int64) {
	if from >= to || amount == 0 {
		return
	}
	s.isAnswered = false
	s.change(o, from, to, amount)
}

// change adds amount to the change at an instant and, unless to is Forever, subtracts it from that at to. Then
// it removes a root that is empty or has only one child.
func (s *steps) change(o *owner, from, to Time, amount int64) {
	if s.root == nil {
		s.root = &node{owner: o}
	}
	s.root = s.root.own(o)
	if right := s.root.shift(o, from, to, amount); right != nil {
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

// value returns the function's value at t.
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

// min returns the lowest value during [from, to).
func (s *steps) min(from, to Time) int64 {
	low, _ := s.bounds(from, to)
	return low
}

// bounds returns the lowest and the highest value during [from, to), and that at from.
func (s *steps) bounds(from, to Time) (low, high int64) {
	if s.root == nil {
		return s.base, s.base
	}
	low, high = math.MaxInt64, math.MinInt64
	s.root.bounds(s.base, from, to, &low, &high)
	return low, high
}

// firstBelow returns the first instant, from or later, at which the value is less than need; false
// if there is none.
func (s *steps) firstBelow(from Time, need int64) (Time, bool) {
	if s.value(from) < need {
		return from, true
	}
	if s.root == nil {
		return 0, false
	}
	return s.root.firstBelow(s.base, from, need)
}

// lastBelow returns an instant in the last stretch of [from, to) in which the value is less than
// need; false if there is none. It also returns when that stretch ends if that is before to, else Forever.
func (s *steps) lastBelow(from, to Time, need int64) (short, again Time, ok bool) {
	if from >= to {
		return 0, 0, false
	}
	if s.root == nil {
		return from, Forever, s.base < need
	}
	if short, again, ok = s.root.lastBelow(s.base, from, to, need); ok {
		return max(short, from), again, true
	}
	switch first, _ := s.root.first(); {
	case first <= from:
		return 0, 0, false
	case first < to:
		return from, first, s.base < need
	}
	return from, Forever, s.base < need
}

// nextAtLeast returns the first instant later than from at which the value changes and is need or
// more; false if there is none.
func (s *steps) nextAtLeast(from Time, need int64) (Time, bool) {
	if s.root == nil {
		return 0, false
	}
	return s.root.firstAtLeast(s.base, from, need)
}

// forget drops the changes at or before t. From then on the function has the value at t at all
// instants before t.
func (s *steps) forget(o *owner, t Time) {
	for s.root != nil {
		at, change := s.root.first()
		if at > t {
			return
		}
		s.isAnswered = false
		s.base += change
		s.change(o, at, Forever, -change)
	}
}

// Bounds stores in low and high the least and the most that is free of each resource on the slot
// during [from, to).
func (p *View) Bounds(id SlotID, from, to Time, low, high Vector) {
	for k := range p.slots[id].free {
		low[k], high[k] = p.slots[id].free[k].bounds(from, to)
	}
}
