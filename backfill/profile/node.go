package profile

// fan is the largest number of changes in a leaf, and of children of an inner node.
const fan = 32

// node is a node of a B+ tree of the changes of a step function. A leaf holds changes. An inner
// node holds children, and for each of them the first instant, the sum of its changes and the
// lowest and highest running sum, so that a search can skip children without a match.
type node struct {
	owner  *owner
	n      int
	at     [fan]Time  // in a leaf: of each change; else of the first change in each child
	change [fan]int64 // in a leaf: the change itself; else the sum of all changes in each child
	inner  *inner     // nil in a leaf
}

type inner struct {
	low, high [fan]int64 // lowest and highest sum of the first one or more changes in each child
	kids      [fan]*node
}

// own returns n itself if its owner is o, so that it may be changed in place, else a copy with
// owner o.
func (n *node) own(o *owner) *node {
	if n.owner == o {
		return n
	}
	c := *n
	c.owner = o
	if n.inner != nil {
		in := *n.inner
		c.inner = &in
	}
	return &c
}

// join makes an inner node with two children, and owner o.
func join(o *owner, left, right *node) *node {
	parent := &node{owner: o, n: 2, inner: new(inner)}
	parent.inner.kids[0], parent.inner.kids[1] = left, right
	parent.refresh(0)
	parent.refresh(1)
	return parent
}

// first returns the earliest change in the subtree: its instant and amount. The subtree is not
// empty.
func (n *node) first() (Time, int64) {
	for n.inner != nil {
		n = n.inner.kids[0]
	}
	return n.at[0], n.change[0]
}

// passed reports whether all changes in child i are before t: there is a next child, and its first
// change is at t or earlier.
func (n *node) passed(i int, t Time) bool { return i+1 < n.n && n.at[i+1] <= t }

// value returns v plus all changes up to and including t.
func (n *node) value(v int64, t Time) int64 {
	for n.inner != nil {
		i := 0
		for n.passed(i, t) {
			v += n.change[i]
			i++
		}
		n = n.inner.kids[i]
	}
	for i := 0; i < n.n && n.at[i] <= t; i++ {
		v += n.change[i]
	}
	return v
}

// bounds lowers low and raises high to the values during [from, to), where v is the value before the
// subtree's first change, and the value at from if that is before it.
func (n *node) bounds(v int64, from, to Time, low, high *int64) {
	i := 0
	if n.inner == nil {
		for ; i < n.n && n.at[i] <= from; i++ {
			v += n.change[i]
		}
		*low, *high = min(*low, v), max(*high, v)
		for ; i < n.n && n.at[i] < to; i++ {
			v += n.change[i]
			*low, *high = min(*low, v), max(*high, v)
		}
		return
	}
	for ; n.passed(i, from); i++ {
		v += n.change[i]
	}
	for first := true; i < n.n && (first || n.at[i] < to); i++ {
		if !first && n.passed(i, to) {
			*low, *high = min(*low, v+n.inner.low[i]), max(*high, v+n.inner.high[i])
		} else {
			n.inner.kids[i].bounds(v, from, to, low, high)
		}
		v, first = v+n.change[i], false
	}
}

// firstBelow returns the instant of the first change after from that leaves the value below need,
// where v is the value before the subtree's first change. It returns false if there is none.
func (n *node) firstBelow(v int64, from Time, need int64) (Time, bool) {
	if n.inner == nil {
		for i := range n.n {
			if v += n.change[i]; v < need && n.at[i] > from {
				return n.at[i], true
			}
		}
		return 0, false
	}
	for i := range n.n {
		if v+n.inner.low[i] < need && !n.passed(i, from) {
			if t, ok := n.inner.kids[i].firstBelow(v, from, need); ok {
				return t, true
			}
		}
		v += n.change[i]
	}
	return 0, false
}

// lastBelow returns the instant of the last change before to that leaves the value below need,
// where v is the value before the subtree's first change. It leaves out changes that others at or
// before from follow, and returns false if no such change is left. If another change follows before to, which
// thus leaves the value at need or more, again is its instant, else Forever.
func (n *node) lastBelow(v int64, from, to Time, need int64) (last, again Time, ok bool) {
	i := 0
	for ; i < n.n && n.at[i] < to; i++ {
		v += n.change[i]
	}
	again = Forever
	for i--; i >= 0; i-- {
		after := v
		v -= n.change[i]
		if n.inner == nil && after < need {
			return n.at[i], again, true
		}
		if n.inner != nil && v+n.inner.low[i] < need {
			if last, next, ok := n.inner.kids[i].lastBelow(v, from, to, need); ok {
				return last, min(next, again), true
			}
		}
		if again = n.at[i]; again <= from {
			break
		}
	}
	return 0, 0, false
}

// firstAtLeast is [node.firstBelow] for the first change that leaves the value at need or more.
func (n *node) firstAtLeast(v int64, from Time, need int64) (Time, bool) {
	if n.inner == nil {
		for i := range n.n {
			if v += n.change[i]; v >= need && n.at[i] > from {
				return n.at[i], true
			}
		}
		return 0, false
	}
	for i := range n.n {
		if v+n.inner.high[i] >= need && !n.passed(i, from) {
			if t, ok := n.inner.kids[i].firstAtLeast(v, from, need); ok {
				return t, true
			}
		}
		v += n.change[i]
	}
	return 0, false
}

// shift raises the function by amount during [from, to): it adds amount to the change at from and, unless
// to is Forever, subtracts it from that at to. If the node has no room for a new change, shift splits the node
// and returns its new right neighbour. A change that becomes 0 is removed, so the node may be empty afterwards.
func (n *node) shift(o *owner, from, to Time, amount int64) (right *node) {
	if n.inner == nil {
		right = n.shiftLeaf(o, from, amount)
		if to < Forever {
			right = n.shiftEnd(o, right, to, amount)
		}
		return right
	}
	i := 0
	for n.passed(i, from) {
		i++
	}
	if to < Forever && n.passed(i, to) { // the ends are in different children
		return n.shiftEnd(o, n.shift(o, from, Forever, amount), to, amount)
	}
	kid := n.inner.kids[i].own(o)
	n.inner.kids[i] = kid
	split := kid.shift(o, from, to, amount)
	switch {
	case kid.n == 0:
		n.remove(i)
		return nil
	case split == nil:
		n.refresh(i)
		n.merge(o, i)
		return nil
	}
	n.refresh(i)
	if n.n == fan {
		if right = n.split(o); i >= n.n {
			right.insert(i-n.n+1, split)
			return right
		}
	}
	n.insert(i+1, split)
	return right
}

// shiftEnd is the second half of [node.shift], after the first has returned right. Of the two at most one
// splits the node: there is room then.
func (n *node) shiftEnd(o *owner, right *node, to Time, amount int64) *node {
	half := n
	if right != nil && right.at[0] <= to {
		half = right
	}
	var split *node
	if half.inner == nil {
		split = half.shiftLeaf(o, to, -amount)
	} else {
		split = half.shift(o, to, Forever, -amount)
	}
	if split != nil {
		return split
	}
	return right
}

func (n *node) shiftLeaf(o *owner, at Time, amount int64) (right *node) {
	i := 0
	for i < n.n && n.at[i] < at {
		i++
	}
	if i < n.n && n.at[i] == at {
		if n.change[i] += amount; n.change[i] == 0 {
			n.remove(i)
		}
		return nil
	}
	to := n
	if n.n == fan {
		if right = n.split(o); i >= n.n {
			to, i = right, i-n.n
		}
	}
	to.room(i)
	to.at[i], to.change[i] = at, amount
	return right
}

// split moves the upper half of a full node to a new node and returns that.
func (n *node) split(o *owner) *node {
	const half = fan / 2
	right := &node{owner: o, n: fan - half}
	copy(right.at[:], n.at[half:])
	copy(right.change[:], n.change[half:])
	if n.inner != nil {
		right.inner = new(inner)
		copy(right.inner.low[:], n.inner.low[half:])
		copy(right.inner.high[:], n.inner.high[half:])
		copy(right.inner.kids[:], n.inner.kids[half:])
		clear(n.inner.kids[half:])
	}
	n.n = half
	return right
}

// room makes room for an entry at index i: it moves the entries from there on up by one.
func (n *node) room(i int) {
	copy(n.at[i+1:n.n+1], n.at[i:n.n])
	copy(n.change[i+1:n.n+1], n.change[i:n.n])
	if in := n.inner; in != nil {
		copy(in.low[i+1:n.n+1], in.low[i:n.n])
		copy(in.high[i+1:n.n+1], in.high[i:n.n])
		copy(in.kids[i+1:n.n+1], in.kids[i:n.n])
	}
	n.n++
}

// insert makes kid the child at index i.
func (n *node) insert(i int, kid *node) {
	n.room(i)
	n.inner.kids[i] = kid
	n.refresh(i)
}

// remove deletes the entry at index i.
func (n *node) remove(i int) {
	n.n--
	copy(n.at[i:n.n], n.at[i+1:])
	copy(n.change[i:n.n], n.change[i+1:])
	if in := n.inner; in != nil {
		copy(in.low[i:n.n], in.low[i+1:])
		copy(in.high[i:n.n], in.high[i+1:])
		copy(in.kids[i:n.n], in.kids[i+1:])
		in.kids[n.n] = nil
	}
}

// merge joins child i with its right neighbour if both together fill at most half a node, so that
// the tree shrinks when its content does.
func (n *node) merge(o *owner, i int) {
	if i+1 == n.n && i > 0 {
		i--
	}
	if i+1 >= n.n {
		return
	}
	left, right := n.inner.kids[i], n.inner.kids[i+1]
	if left.n+right.n > fan/2 {
		return
	}
	left = left.own(o)
	n.inner.kids[i] = left
	copy(left.at[left.n:], right.at[:right.n])
	copy(left.change[left.n:], right.change[:right.n])
	if in := left.inner; in != nil {
		copy(in.low[left.n:], right.inner.low[:right.n])
		copy(in.high[left.n:], right.inner.high[:right.n])
		copy(in.kids[left.n:], right.inner.kids[:right.n])
	}
	left.n += right.n
	n.remove(i + 1)
	n.refresh(i)
}

// refresh recomputes what n stores about child i: its first instant, its sum, and its lowest and
// highest running sum.
func (n *node) refresh(i int) {
	kid := n.inner.kids[i]
	n.at[i] = kid.at[0]
	sum := int64(0)
	if kid.inner == nil {
		sum = kid.change[0]
		low, high := sum, sum
		for _, change := range kid.change[1:kid.n] {
			sum += change
			low, high = min(low, sum), max(high, sum)
		}
		n.change[i], n.inner.low[i], n.inner.high[i] = sum, low, high
		return
	}
	low, high := kid.inner.low[0], kid.inner.high[0]
	for k, change := range kid.change[:kid.n] {
		low, high = min(low, sum+kid.inner.low[k]), max(high, sum+kid.inner.high[k])
		sum += change
	}
	n.change[i], n.inner.low[i], n.inner.high[i] = sum, low, high
}
