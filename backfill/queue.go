package backfill

import (
	"maps"
	"slices"
)

// queue is the waiting jobs in the queue's order, and once more by shape. Jobs of a shape have
// equal requests and candidates, take the same of rows, and differ in their estimates alone. So whether any of them fits
// now is known from the shortest, and of those that are longer than one that does not fit none
// does: a pass over the queue looks only at jobs that may fit (see [Fast.Fitting]).
//
// While keys move along lines (see moving.go), shapes list their jobs as [leaders], and the order
// lists them only once somebody walks the whole queue at an instant.
type queue struct {
	order  jobTree
	size   int
	moving bool
	bare   bool // of some job no line is known
	sorted bool // the order lists all jobs
	now    Time // of the cycle
	steps  int  // jobs that were looked for one by one at this instant
	old    *Job // one of the first in the order of jobs, see [queue.before]; nil: not known
	oldest bool // no job is before it

	shapes []shape          // those without jobs are free for others
	index  map[uint64]int32 // by hash, the first shape; the others follow by shape.next
	free   []int32
	owner  *owner
	last   int32 // the shape that was searched for last, mostly the next one too
	// joined are jobs without a reservation that joined the queue in the open cycle and are not listed by
	// shape yet: many start before anybody asks for them by shape.
	joined []place

	// A sweep is a pass of [Fast.Fitting] over the queue that went to its end. If swept is set, a
	// job without a reservation did not fit at the last sweep unless its shape is fresh. It can fit
	// now only if room was given back in a row that it takes of, or with a chunk on one of the slots in
	// grown, where a job or a reservation was since:
	// what is free changes with time only when a job is expected to end or a reservation is due, and
	// then the job ends or is expected to end later.
	swept bool
	grown []SlotID

	given []int // by row: counts when room was given back in it

	plans bool // the shapes list the jobs with reservations, see [plannedJobs]
}

// maxGrown is how many entries of [queue.grown] are kept before the queue forgets its last sweep.
const maxGrown = 2048

// shape lists the waiting jobs with equal requests, candidates and takes of rows, by estimate: those that have a
// reservation, or may not start yet, have the length Forever.
type shape struct {
	like  *Job // one that has or had the shape
	jobs  listing
	next  int32  // the next shape with the same hash; noShape: none
	least Time   // the least length of a job; Forever: none
	need  Vector // of all chunks
	fresh bool   // a job may have come, or lost its reservation, since the last sweep
	gave  int    // gives at the last sweep

	longest   Time // no job of the shape has a longer estimate
	planned   plannedJobs
	startless startless
}

const noShape = -1

func newQueue() *queue { return &queue{index: map[uint64]int32{}, owner: new(owner), sorted: true} }

// place is a waiting job's entry in the queue, with the line of its key if it has one.
type place struct {
	queued
	line *line
}

// place returns the entry of the record's job.
func (r *record) place() place { return place{queued{r.key, r.job}, r.line} }

// Len returns the number of waiting jobs.
func (q *queue) Len() int { return q.size }

// Copy returns an independent copy that shares what neither side changes.
func (q *queue) Copy() *queue {
	c := *q
	q.owner, c.owner = new(owner), new(owner)
	c.shapes, c.index, c.free = slices.Clone(q.shapes), maps.Clone(q.index), slices.Clone(q.free)
	c.grown, c.joined, c.given = slices.Clone(q.grown), slices.Clone(q.joined), slices.Clone(q.given)
	for i := range c.shapes {
		for _, l := range c.shapes[i].listings() {
			if l.moving != nil {
				l.moving = &leaders{packs: slices.Clone(l.moving.packs), size: l.moving.size}
			}
		}
	}
	return &c
}

// grow notes that a job or a reservation was on the slots of a placement and may have left them.
func (q *queue) grow(at Placement) {
	if !q.swept {
		return
	}
	if len(q.grown)+len(at) > maxGrown {
		q.forgetSweep()
		return
	}
	for _, chunks := range at {
		q.grown = append(q.grown, chunks.Slot)
	}
}

// forgetSweep makes the next pass look at all shapes and slots.
func (q *queue) forgetSweep() { q.swept, q.grown = false, q.grown[:0] }

// add lists a waiting job.
func (q *queue) add(e place, aside bool) {
	q.size++
	q.bare = q.bare || e.line == nil
	q.comes(e.job)
	if q.sorted {
		q.order.set(q.owner, listed{queued: q.standing(e)})
	}
	if aside || len(q.joined) == maxJoined {
		q.reserve(e, aside)
	} else {
		q.joined = append(q.joined, e)
	}
}

// comes and leaves follow which job is old.
func (q *queue) comes(j *Job) {
	if q.oldest && (q.old == nil || Compare(j, q.old) < 0) {
		q.old = j
	}
}

func (q *queue) leaves(j *Job) {
	if j == q.old {
		q.old, q.oldest = nil, false
	}
}

// maxJoined bounds [queue.joined], which is searched from one end to the other.
const maxJoined = 16

// list lists by shape the jobs that are not yet.
func (q *queue) list() {
	joined := q.joined
	q.joined = joined[:0]
	for _, e := range joined {
		q.reserve(e, false)
	}
}

// unlisted takes a job from those that are not listed by shape, and reports whether it was one.
func (q *queue) unlisted(j *Job) bool {
	i := slices.IndexFunc(q.joined, func(e place) bool { return e.job == j })
	if i >= 0 {
		q.joined = slices.Delete(q.joined, i, i+1)
	}
	return i >= 0
}

// reserve notes whether a waiting job has a reservation or may not start yet.
func (q *queue) reserve(e place, aside bool) {
	listedYet := !q.unlisted(e.job)
	length := e.job.Estimate
	if aside {
		length = Forever
	}
	s := &q.shapes[q.shape(e.job)]
	if q.moving && listedYet {
		q.take(&s.jobs, e.queued, e.job.Estimate, Forever)
	}
	q.put(&s.jobs, e, length)
	s.least, s.fresh, s.longest = q.least(&s.jobs), s.fresh || !aside, max(s.longest, e.job.Estimate)
}

// rekey gives a waiting job another place in the queue's order.
func (q *queue) rekey(old, now place, aside bool) {
	q.list()
	s := &q.shapes[q.shape(now.job)]
	fresh := s.fresh
	q.take(&s.jobs, old.queued, old.job.Estimate, Forever)
	q.leaves(old.job)
	q.comes(now.job)
	if q.sorted {
		q.order.remove(q.owner, q.standing(old))
		q.order.set(q.owner, listed{queued: q.standing(now)})
	}
	q.reserve(now, aside)
	s.fresh = fresh
}

// remove takes a job off the queue.
func (q *queue) remove(e place) {
	q.size--
	q.leaves(e.job)
	if q.sorted {
		q.order.remove(q.owner, q.standing(e))
	}
	if q.unlisted(e.job) {
		return
	}
	i := q.shape(e.job)
	s := &q.shapes[i]
	q.take(&s.jobs, e.queued, e.job.Estimate, Forever)
	if s.least = q.least(&s.jobs); s.jobs.fixed.size == 0 && len(s.jobs.moving.all()) == 0 {
		q.forget(i)
	}
}

// shape returns the index of a job's shape, which it makes if there is none.
func (q *queue) shape(j *Job) int32 {
	if int(q.last) < len(q.shapes) && q.shapes[q.last].like != nil && alike(q.shapes[q.last].like, j) {
		return q.last
	}
	hash := j.shapeHash()
	if i := q.find(j, hash); i != noShape {
		q.last = i
		return i
	}
	if n := len(q.free); n > 0 {
		q.last, q.free = q.free[n-1], q.free[:n-1]
	} else {
		q.last, q.shapes = int32(len(q.shapes)), append(q.shapes, shape{})
	}
	next := int32(noShape)
	if first, known := q.index[hash]; known {
		next = first
	}
	q.shapes[q.last] = shape{like: j, next: next, least: Forever, need: j.Total(), planned: noPlans()}
	q.index[hash] = q.last
	return q.last
}

// find returns the index of a job's shape, whose hash is given; noShape if no waiting job has it.
func (q *queue) find(j *Job, hash uint64) int32 {
	i, known := q.index[hash]
	if !known {
		return noShape
	}
	for i != noShape && !alike(q.shapes[i].like, j) {
		i = q.shapes[i].next
	}
	return i
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
	q.shapes[i] = shape{least: Forever, planned: noPlans()}
	q.free = append(q.free, i)
}

// alike reports whether two jobs have the same shape.
func alike(a, b *Job) bool {
	return a.Candidates == b.Candidates && a.Nodes == b.Nodes && a.Whole == b.Whole &&
		a.Unestimated == b.Unestimated && slices.Equal(a.Request, b.Request) && sameTakes(a.Takes, b.Takes)
}

// shapeHash returns a number that is equal for jobs of the same shape.
func (j *Job) shapeHash() uint64 {
	const prime = 1099511628211 // of the hash FNV-1a
	h := (uint64(j.Candidates)*prime ^ uint64(j.Nodes)) * prime
	if j.Unestimated {
		h++
	}
	for _, amount := range j.Request {
		h = (h ^ h>>29 ^ uint64(amount)) * prime
	}
	for _, t := range j.Takes {
		h = ((h^h>>29^uint64(t.Row))*prime ^ uint64(t.Amount)) * prime
	}
	return h
}
