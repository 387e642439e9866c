package backfill

import "slices"

// queued is a job's entry in the queue.
type queued struct {
	key float64
	job *Job
}

// compare compares two entries by the queue's order.
func (q *queued) compare(o *queued) int {
	switch {
	case q.key < o.key:
		return -1
	case q.key > o.key:
		return 1
	case q.job == o.job:
		return 0
	default:
		return Compare(q.job, o.job)
	}
}

// listed is an entry of a [jobTree]. Its length is what a search goes by: that of a job is chosen
// by whoever lists it, that of a child of an inner node is the least in the child.
type listed struct {
	queued
	length Time
}

// jobTree lists jobs by key, then in the order of jobs. It is a B+ tree in which each child knows
// its least length, so the next job that is shorter than a limit is found without a look at those
// that are not. Each node has an owner, and whoever is not it copies the node before a change:
// copies of a tree share their nodes.
type jobTree struct {
	root *jobNode // nil: the tree is empty
	size int
}

// jobFan is the largest number of entries of a node.
const jobFan = 32

type jobNode struct {
	owner   *owner
	entries []listed   // ascending; of an inner node: the first entry of each child
	kids    []*jobNode // nil in a leaf
	below   int        // of an inner node: how many entries the leaves below it have
}

// first returns the first entry, or nil.
func (t *jobTree) first() *queued {
	if t.root == nil {
		return nil
	}
	return &t.root.entries[0].queued
}

// last returns the last entry, or nil.
func (t *jobTree) last() *queued {
	n := t.root
	if n == nil {
		return nil
	}
	for n.kids != nil {
		n = n.kids[len(n.kids)-1]
	}
	return &n.entries[len(n.entries)-1].queued
}

// least returns the least length in the tree, or Forever if it is empty.
func (t *jobTree) least() Time {
	if t.root == nil {
		return Forever
	}
	return t.root.summary().length
}

// has reports whether the entry is in the tree.
func (t *jobTree) has(q queued) bool {
	n := t.root
	if n == nil {
		return false
	}
	for n.kids != nil {
		n = n.kids[n.child(&q)]
	}
	i := n.upTo(&q)
	return i > 0 && n.entries[i-1].job == q.job
}

// set lists a job, or changes its length.
func (t *jobTree) set(o *owner, e listed) {
	if t.root == nil {
		t.root = &jobNode{owner: o}
	}
	t.root = t.root.own(o)
	right, added := t.root.set(o, e)
	if right != nil {
		t.root = &jobNode{
			owner: o, entries: []listed{t.root.summary(), right.summary()}, kids: []*jobNode{t.root, right},
		}
		t.root.recount()
	}
	if added {
		t.size++
	}
}

// remove takes an entry, which is in the tree, off the list.
func (t *jobTree) remove(o *owner, q queued) {
	t.root = t.root.own(o)
	t.root.remove(o, &q)
	t.size--
	for t.root != nil && t.root.kids != nil && len(t.root.kids) == 1 {
		t.root = t.root.kids[0]
	}
	if len(t.root.entries) == 0 {
		t.root = nil
	}
}

// next returns the first entry behind a place, or from the beginning if it is nil, that is shorter
// than the limit; false if there is none.
func (t *jobTree) next(behind *queued, limit Time) (listed, bool) {
	if t.root == nil {
		return listed{}, false
	}
	if e := t.root.next(behind, limit); e != nil {
		return *e, true
	}
	return listed{}, false
}

// ascend calls the callback with each entry behind a place, or with all if it is nil, until the
// callback returns false.
func (t *jobTree) ascend(behind *queued, yield func(queued) bool) {
	if t.root != nil {
		t.root.ascend(behind, yield)
	}
}

// before returns how many entries are before a place.
func (t *jobTree) before(q *queued) (count int) {
	n := t.root
	if n == nil {
		return 0
	}
	for n.kids != nil {
		i := n.child(q)
		for _, kid := range n.kids[:i] {
			count += kid.count()
		}
		n = n.kids[i]
	}
	i := n.upTo(q)
	if i > 0 && n.entries[i-1].job == q.job {
		i--
	}
	return count + i
}

// count returns how many entries the leaves below the node have.
func (n *jobNode) count() int {
	if n.kids == nil {
		return len(n.entries)
	}
	return n.below
}

// recount counts anew what an inner node has below it.
func (n *jobNode) recount() {
	n.below = 0
	for _, kid := range n.kids {
		n.below += kid.count()
	}
}

// own returns the node itself if its owner is o, so that it may be changed in place, else a copy
// with owner o.
func (n *jobNode) own(o *owner) *jobNode {
	if n.owner == o {
		return n
	}
	return &jobNode{owner: o, entries: slices.Clone(n.entries), kids: slices.Clone(n.kids), below: n.below}
}

// summary returns what an inner node lists of a child: its first entry, with the least length.
func (n *jobNode) summary() listed {
	s := n.entries[0]
	for i := range n.entries {
		s.length = min(s.length, n.entries[i].length)
	}
	return s
}

// upTo returns the number of entries up to and including the place.
func (n *jobNode) upTo(q *queued) int {
	low, high := 0, len(n.entries)
	for low < high {
		if middle := (low + high) / 2; n.entries[middle].compare(q) <= 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// child returns the index of the child that lists the entry, or would.
func (n *jobNode) child(q *queued) int { return max(0, n.upTo(q)-1) }

// set is [jobTree.set] for a node. If the node has no room, set splits it and returns its new right
// neighbour.
func (n *jobNode) set(o *owner, e listed) (right *jobNode, added bool) {
	if n.kids == nil {
		i := n.upTo(&e.queued)
		if i > 0 && n.entries[i-1].job == e.job {
			n.entries[i-1].length = e.length
			return nil, false
		}
		return n.insert(o, i, e, nil), true
	}
	i := n.child(&e.queued)
	kid := n.kids[i].own(o)
	n.kids[i] = kid
	split, added := kid.set(o, e)
	n.entries[i] = kid.summary()
	switch {
	case split != nil:
		if right = n.insert(o, i+1, split.summary(), split); right != nil {
			right.recount()
		}
		n.recount()
	case added:
		n.below++
	}
	return right, added
}

// insert adds an entry, in an inner node with its child, at an index. It returns the new right
// neighbour if the node is split. What is added behind all others leaves a full node as it is,
// since jobs mostly come in the order of the queue.
func (n *jobNode) insert(o *owner, i int, e listed, kid *jobNode) (right *jobNode) {
	to := n
	if len(n.entries) == jobFan {
		half := jobFan / 2
		if i == jobFan {
			half = jobFan
		}
		right = &jobNode{owner: o, entries: slices.Clone(n.entries[half:])}
		n.entries = n.entries[:half]
		if n.kids != nil {
			right.kids = append(make([]*jobNode, 0, 1), n.kids[half:]...)
			clear(n.kids[half:])
			n.kids = n.kids[:half]
		}
		if i > half || half == jobFan {
			to, i = right, i-half
		}
	}
	to.entries = slices.Insert(to.entries, i, e)
	if kid != nil {
		to.kids = slices.Insert(to.kids, i, kid)
	}
	return right
}

// remove is [jobTree.remove] for a node, which may be empty afterwards.
func (n *jobNode) remove(o *owner, q *queued) {
	if n.kids == nil {
		i := n.upTo(q) - 1
		n.entries = slices.Delete(n.entries, i, i+1)
		return
	}
	n.below--
	i := n.child(q)
	kid := n.kids[i].own(o)
	n.kids[i] = kid
	if kid.remove(o, q); len(kid.entries) == 0 {
		n.drop(i)
		return
	}
	n.entries[i] = kid.summary()
	n.merge(o, min(i, len(n.kids)-2))
}

// drop deletes the child at an index.
func (n *jobNode) drop(i int) {
	n.entries = slices.Delete(n.entries, i, i+1)
	n.kids = slices.Delete(n.kids, i, i+1)
}

// merge joins a child with its right neighbour if both together fill at most half a node.
func (n *jobNode) merge(o *owner, i int) {
	if i < 0 || len(n.kids[i].entries)+len(n.kids[i+1].entries) > jobFan/2 {
		return
	}
	left, right := n.kids[i].own(o), n.kids[i+1]
	left.entries = append(left.entries, right.entries...)
	left.kids = append(left.kids, right.kids...)
	left.below += right.below
	n.kids[i] = left
	n.drop(i + 1)
	n.entries[i] = left.summary()
}

// next is [jobTree.next] for a node.
func (n *jobNode) next(behind *queued, limit Time) *listed {
	i := 0
	if behind != nil {
		i = n.upTo(behind)
	}
	if n.kids != nil && i > 0 {
		if n.entries[i-1].length < limit { // the child may have entries behind the place
			if e := n.kids[i-1].next(behind, limit); e != nil {
				return e
			}
		}
	}
	for ; i < len(n.entries); i++ {
		switch {
		case n.entries[i].length >= limit:
		case n.kids == nil:
			return &n.entries[i]
		default:
			return n.kids[i].next(nil, limit)
		}
	}
	return nil
}

// ascend is [jobTree.ascend] for a node; it returns false if the callback did.
func (n *jobNode) ascend(behind *queued, yield func(queued) bool) bool {
	i := 0
	if behind != nil {
		i = n.upTo(behind)
	}
	if n.kids != nil && i > 0 && !n.kids[i-1].ascend(behind, yield) {
		return false
	}
	for ; i < len(n.entries); i++ {
		if n.kids == nil && !yield(n.entries[i].queued) || n.kids != nil && !n.kids[i].ascend(nil, yield) {
			return false
		}
	}
	return true
}
