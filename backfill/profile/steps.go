package profile

// steps is a step function of time: the free amount of one resource on one
// slot. It is kept as a base value and a treap of changes ("at this instant it
// rises or falls by so much"), each node knowing the sum of its subtree and the
// lowest and highest running sum within it. A span is two changes, so nothing
// is ever pushed down, queries change nothing, and equal neighbours merge by
// themselves: a change of zero is no node.
//
// A node's priority is a hash of its instant, so the tree's shape depends on
// its content alone. Nodes carry an owner; a step function that meets a node of
// another owner copies it before changing it, which makes clones free.
type steps struct {
	base int64 // the value before the first change
	root *node

	// The value that was asked for last: mostly it is the one of now, time and again.
	asked      Time
	answer     int64
	isAnswered bool
}

// owner marks nodes that may be changed in place. It has a size so that two
// owners never share an address.
type owner struct{ _ byte }

type node struct {
	at          Time
	priority    uint64
	left, right *node
	owner       *owner
	change      int64
	sum         int64 // of all changes in the subtree
	low, high   int64 // lowest and highest running sum in the subtree, each of at least one change
}

// add raises the function by amount during [from, to).
func (s *steps) add(o *owner, from, to Time, amount int64) {
	if from >= to || amount == 0 {
		return
	}
	s.isAnswered = false
	s.root = s.root.shift(o, from, amount)
	if to < Forever {
		s.root = s.root.shift(o, to, -amount)
	}
}

// value is the function at t.
func (s *steps) value(t Time) int64 {
	if s.isAnswered && s.asked == t {
		return s.answer
	}
	v := s.base
	for n := s.root; n != nil; {
		if n.at <= t {
			v += n.left.total() + n.change
			n = n.right
		} else {
			n = n.left
		}
	}
	s.asked, s.answer, s.isAnswered = t, v, true
	return v
}

// min is the lowest value during [from, to).
func (s *steps) min(from, to Time) int64 {
	return min(s.value(from), s.root.lowest(s.base, from, to))
}

// firstBelow is the first instant from or later at which the value is less
// than need.
func (s *steps) firstBelow(from Time, need int64) (Time, bool) {
	if s.value(from) < need {
		return from, true
	}
	return s.root.firstBelow(s.base, from, need)
}

// firstAtLeast is the first instant from or later at which the value is need
// or more.
func (s *steps) firstAtLeast(from Time, need int64) (Time, bool) {
	if s.value(from) >= need {
		return from, true
	}
	return s.root.firstAtLeast(s.base, from, need)
}

// forget drops the changes at or before t: from then on the past has the value
// at t.
func (s *steps) forget(o *owner, t Time) {
	for s.root != nil {
		first := s.root
		for first.left != nil {
			first = first.left
		}
		if first.at > t {
			return
		}
		s.isAnswered = false
		s.base += first.change
		s.root = s.root.shift(o, first.at, -first.change)
	}
}

func (n *node) total() int64 {
	if n == nil {
		return 0
	}
	return n.sum
}

// shift adds amount to the change at instant at, and returns the new root.
func (n *node) shift(o *owner, at Time, amount int64) *node {
	if n == nil {
		return &node{at: at, priority: mix(at), owner: o, change: amount, sum: amount, low: amount, high: amount}
	}
	n = n.own(o)
	switch {
	case at < n.at:
		n.left = n.left.shift(o, at, amount)
		if l := n.left; l != nil && l.priority > n.priority {
			n.left, l.right = l.right, n
			n.update()
			n = l
		}
	case at > n.at:
		n.right = n.right.shift(o, at, amount)
		if r := n.right; r != nil && r.priority > n.priority {
			n.right, r.left = r.left, n
			n.update()
			n = r
		}
	default:
		n.change += amount
		if n.change == 0 {
			return join(o, n.left, n.right)
		}
	}
	n.update()
	return n
}

// join makes one tree of two, all of a earlier than all of b.
func join(o *owner, a, b *node) *node {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.priority > b.priority:
		a = a.own(o)
		a.right = join(o, a.right, b)
		a.update()
		return a
	default:
		b = b.own(o)
		b.left = join(o, a, b.left)
		b.update()
		return b
	}
}

// own returns n itself if o may change it, else a copy that o may change.
func (n *node) own(o *owner) *node {
	if n.owner == o {
		return n
	}
	c := *n
	c.owner = o
	return &c
}

// update recomputes what a node knows of its subtree.
func (n *node) update() {
	here := n.left.total() + n.change
	n.sum, n.low, n.high = here, here, here
	if l := n.left; l != nil {
		n.low, n.high = min(n.low, l.low), max(n.high, l.high)
	}
	if r := n.right; r != nil {
		n.sum += r.sum
		n.low, n.high = min(n.low, here+r.low), max(n.high, here+r.high)
	}
}

// lowest is the lowest value set by a change within (from, to), given the value
// before the subtree; Forever-like when there is none.
func (n *node) lowest(before int64, from, to Time) int64 {
	lowest := int64(Forever)
	for n != nil {
		here := before + n.left.total() + n.change
		switch {
		case n.at <= from:
			before, n = here, n.right
		case n.at >= to:
			n = n.left
		default:
			lowest = min(lowest, here, n.left.lowestAfter(before, from), n.right.lowestBefore(here, to))
			return lowest
		}
	}
	return lowest
}

func (n *node) lowestAfter(before int64, from Time) int64 {
	lowest := int64(Forever)
	for n != nil {
		here := before + n.left.total() + n.change
		if n.at <= from {
			before, n = here, n.right
			continue
		}
		lowest = min(lowest, here)
		if n.right != nil {
			lowest = min(lowest, here+n.right.low)
		}
		n = n.left
	}
	return lowest
}

func (n *node) lowestBefore(before int64, to Time) int64 {
	lowest := int64(Forever)
	for n != nil {
		if n.at >= to {
			n = n.left
			continue
		}
		here := before + n.left.total() + n.change
		lowest = min(lowest, here)
		if n.left != nil {
			lowest = min(lowest, before+n.left.low)
		}
		before, n = here, n.right
	}
	return lowest
}

// firstBelow finds the first change later than from after which the value is
// below need, given the value before the subtree.
func (n *node) firstBelow(before int64, from Time, need int64) (Time, bool) {
	if n == nil || before+n.low >= need {
		return 0, false
	}
	here := before + n.left.total() + n.change
	if n.at <= from {
		return n.right.firstBelow(here, from, need)
	}
	if t, ok := n.left.firstBelow(before, from, need); ok {
		return t, true
	}
	if here < need {
		return n.at, true
	}
	return n.right.firstBelow(here, from, need)
}

// firstAtLeast is the mirror image of firstBelow.
func (n *node) firstAtLeast(before int64, from Time, need int64) (Time, bool) {
	if n == nil || before+n.high < need {
		return 0, false
	}
	here := before + n.left.total() + n.change
	if n.at <= from {
		return n.right.firstAtLeast(here, from, need)
	}
	if t, ok := n.left.firstAtLeast(before, from, need); ok {
		return t, true
	}
	if here >= need {
		return n.at, true
	}
	return n.right.firstAtLeast(here, from, need)
}

// mix spreads instants into priorities (the finaliser of splitmix64).
func mix(t Time) uint64 {
	x := uint64(t) + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
