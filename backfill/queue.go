package backfill

import (
	"maps"
	"slices"
)

// queue is the waiting jobs in the queue's order, and once more by shape. Jobs of a shape have
// equal requests and candidates and differ in their estimates alone. So whether any of them fits
// now is known from the shortest, and of those that are longer than one that does not fit none
// does: a pass over the queue looks only at jobs that may fit (see [Cycle.Fitting]).
type queue struct {
	order  jobTree
	shapes []shape          // those without jobs are free for others
	index  map[uint64]int32 // by hash, the first shape; the others follow by shape.next
	free   []int32
	owner  *owner
	last   int32 // the shape that was searched for last, mostly the next one too
}

// shape lists the waiting jobs with equal requests and candidates, by estimate: those that have a
// reservation have the length Forever.
type shape struct {
	like  *Job // one that has or had the shape
	jobs  jobTree
	next  int32 // the next shape with the same hash; noShape: none
	least Time  // the least length of a job; Forever: none
	// What a pass asks first, stored here because it asks many shapes: the job's candidate set, and
	// how many cpus it needs.
	candidates int
	cpus       int64
}

const noShape = -1

func newQueue() *queue { return &queue{index: map[uint64]int32{}, owner: new(owner)} }

// Len returns the number of waiting jobs.
func (q *queue) Len() int { return q.order.size }

// Copy returns an independent copy that shares what neither side changes.
func (q *queue) Copy() *queue {
	c := *q
	q.owner, c.owner = new(owner), new(owner)
	c.shapes, c.index, c.free = slices.Clone(q.shapes), maps.Clone(q.index), slices.Clone(q.free)
	return &c
}

// set lists a waiting job, or notes that it got or lost a reservation.
func (q *queue) set(e queued, reserved, known bool) {
	if !known {
		q.order.set(q.owner, listed{queued: e})
	}
	length := e.job.Estimate
	if reserved {
		length = Forever
	}
	s := &q.shapes[q.shape(e.job)]
	s.jobs.set(q.owner, listed{e, length})
	s.least = s.jobs.least()
}

// remove takes a job off the queue.
func (q *queue) remove(e queued) {
	q.order.remove(q.owner, e)
	i := q.shape(e.job)
	s := &q.shapes[i]
	s.jobs.remove(q.owner, e)
	if s.least = s.jobs.least(); s.jobs.size == 0 {
		q.forget(i)
	}
}

// shape returns the index of a job's shape, which it makes if there is none.
func (q *queue) shape(j *Job) int32 {
	if int(q.last) < len(q.shapes) && q.shapes[q.last].jobs.size > 0 && alike(q.shapes[q.last].like, j) {
		return q.last
	}
	hash := j.shapeHash()
	first, known := q.index[hash]
	if !known {
		first = noShape
	}
	for i := first; i != noShape; i = q.shapes[i].next {
		if alike(q.shapes[i].like, j) {
			q.last = i
			return i
		}
	}
	if n := len(q.free); n > 0 {
		q.last, q.free = q.free[n-1], q.free[:n-1]
	} else {
		q.last, q.shapes = int32(len(q.shapes)), append(q.shapes, shape{})
	}
	q.shapes[q.last] = shape{like: j, next: first, least: Forever, candidates: j.Candidates, cpus: j.Width()}
	q.index[hash] = q.last
	return q.last
}

// forget drops a shape that has no jobs.
func (q *queue) forget(i int32) {
	hash := q.shapes[i].like.shapeHash()
	if before := q.index[hash]; before != i {
		for q.shapes[before].next != i {
			before = q.shapes[before].next
		}
		q.shapes[before].next = q.shapes[i].next
	} else if next := q.shapes[i].next; next != noShape {
		q.index[hash] = next
	} else {
		delete(q.index, hash)
	}
	q.shapes[i] = shape{least: Forever}
	q.free = append(q.free, i)
}

// alike reports whether two jobs have the same shape.
func alike(a, b *Job) bool {
	return a.Candidates == b.Candidates && a.Nodes == b.Nodes && a.Whole == b.Whole && slices.Equal(a.Request, b.Request)
}

// shapeHash returns a number that is equal for jobs of the same shape.
func (j *Job) shapeHash() uint64 {
	const prime = 1099511628211 // of the hash FNV-1a
	h := (uint64(j.Candidates)*prime ^ uint64(j.Nodes)) * prime
	for _, amount := range j.Request {
		h = (h ^ h>>29 ^ uint64(amount)) * prime
	}
	return h
}
