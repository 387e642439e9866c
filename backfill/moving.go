package backfill

import "slices"

// fewMoving and manyMoving are from how many waiting jobs on the queue follows keys that move along
// lines: under a policy that looks at its first jobs alone, or at what may fit, and under one that
// walks all of it in most rounds. A shorter one is sorted sooner. A queue that follows them does so
// until it has fewer than half as many.
const (
	fewMoving  = 16
	manyMoving = 1000
)

// mostWalks is at how many more rounds in which the policy walked the whole queue than others it
// counts as one that does: for such a policy a short queue is sorted by keys that are asked for.
const mostWalks = 32

// fewSteps is how many jobs are looked for one by one at an instant, before the queue is sorted.
const fewSteps = 16

// movesAlong reports whether the queue follows keys along lines in this round, so that nobody asks for
// those of all waiting jobs. Plugins and records are told all keys, so with them it does not.
func (h *Host) movesAlong() bool {
	least := h.long
	if h.walks < mostWalks {
		least = min(least, fewMoving)
	}
	if h.State.queue.moving {
		least /= 2
	}
	return h.keyed && h.lines && !h.bare && h.untold() && h.State.queue.Len() >= least &&
		(!h.spec.Guarantees || !h.follows(h.State.planning).Reorder) && h.State.haveLines()
}

// noteWalk counts whether the policy walked the whole queue in a round in which keys moved along
// lines.
func (h *Host) noteWalk() {
	switch q := h.State.queue; {
	case !q.moving || h.walks == mostWalks:
	case q.sorted:
		h.walks++
	default:
		h.walks = max(0, h.walks-1)
	}
}

// listing lists jobs of a shape: by key, or as leaders while keys move along lines.
type listing struct {
	fixed  jobTree
	moving *leaders // nil: it has no jobs, or is listed by key
}

// listings returns the lists of a shape.
func (s *shape) listings() [3]*listing {
	return [...]*listing{&s.jobs, &s.planned.byEstimate, &s.planned.byStart}
}

// put adds a job to a list, with a length that it is not listed with yet.
func (q *queue) put(l *listing, e place, length Time) {
	if q.moving {
		l.lead()
		l.moving.set(q.owner, newMover(e.job, e.along(), length), q.now)
	} else {
		l.fixed.set(q.owner, listed{e.queued, length})
	}
}

// lead makes the list one of leaders.
func (l *listing) lead() {
	if l.moving == nil {
		l.moving = new(leaders)
	}
}

// take takes a job off a list, in which it has one of the lengths.
func (q *queue) take(l *listing, e queued, lengths ...Time) {
	if !q.moving {
		l.fixed.remove(q.owner, e)
		return
	}
	for _, length := range lengths {
		if l.moving.remove(q.owner, e.job, length) {
			return
		}
	}
}

// next returns a list's first entry behind a place, see [jobTree.next].
func (q *queue) next(l *listing, behind *queued, limit Time) (listed, bool) {
	if q.moving {
		return l.moving.next(q.owner, q.now, behind, limit)
	}
	return l.fixed.next(behind, limit)
}

// least returns the least length in a list, or Forever if it is empty.
func (q *queue) least(l *listing) Time {
	if q.moving {
		return l.moving.least()
	}
	return l.fixed.least()
}

// keyOf returns a job's key in the queue's order. While keys move along lines, that of a waiting job is
// not in its record.
func (v *View) keyOf(r *record) float64 {
	if v.queue.moving && r.in(waiting) && r.line != nil {
		return r.line.Key(v.now)
	}
	return r.key
}

// along returns the line along which a job's key moves; one on which it stays if there is none.
func (e *place) along() *line {
	if e.line == nil {
		return &line{Curve: Curve{scale: e.key}}
	}
	return e.line
}

// standing returns the place of a job in the queue's order.
func (q *queue) standing(e place) queued {
	if q.moving {
		e.key = e.along().Key(q.now)
	}
	return e.queued
}

// pass sets the instant at which keys are asked for.
func (q *queue) pass(now Time) {
	if q.moving && q.now != now {
		q.unsort()
	}
	q.now = now
}

// unsort forgets the order of the queue, while keys move along lines.
func (q *queue) unsort() { q.order, q.sorted, q.steps = jobTree{}, false, 0 }

// follow has keys move along their lines from an instant on, or stay. Those of the instant do not change.
func (s *State) follow(moving bool, now Time) {
	q := s.queue
	if q.moving == moving {
		return
	}
	q.list()
	if q.pass(now); !moving {
		q.sort()
		s.settleKeys()
	}
	for i := range q.shapes {
		for _, l := range q.shapes[i].listings() {
			s.relay(l, moving)
		}
	}
	q.moving, q.bare = moving, false
}

// turn lists a waiting job with another line, which its record has already.
func (q *queue) turn(r *record) {
	s := &q.shapes[q.shape(r.job)]
	length := r.job.Estimate
	if r.aside() {
		length = Forever
	}
	q.put(&s.jobs, r.place(), length)
	if q.plans && r.reserved() {
		q.put(&s.planned.byEstimate, r.place(), r.job.Estimate)
		q.put(&s.planned.byStart, r.place(), r.start)
	}
}

// settleKeys enters the keys of the waiting jobs in their records.
func (s *State) settleKeys() {
	for i := range s.queue.shapes {
		for _, p := range s.queue.shapes[i].jobs.moving.all() {
			for k := range p.jobs {
				m := &p.jobs[k]
				s.jobs.Put(m.job.ID).key = m.line.Key(s.queue.now)
			}
		}
	}
}

// relay makes a list one by key or one of leaders.
func (s *State) relay(l *listing, moving bool) {
	q := s.queue
	if moving {
		for e, more := l.fixed.next(nil, Forever+1); more; e, more = l.fixed.next(&e.queued, Forever+1) {
			l.lead()
			l.moving.set(q.owner, newMover(e.job, s.jobs.Find(e.job.ID).line, e.length), q.now)
		}
		l.fixed = jobTree{}
		return
	}
	for _, e := range l.moving.inOrder(q.now, nil) {
		l.fixed.set(q.owner, e)
	}
	l.moving = nil
}

// inOrder appends the jobs to a list, and sorts it by the keys of an instant.
func (l *leaders) inOrder(now Time, list []listed) []listed {
	for _, p := range l.all() {
		for k := range p.jobs {
			list = append(list, p.jobs[k].listed(now))
		}
	}
	slices.SortFunc(list, func(a, b listed) int { return a.compare(&b.queued) })
	return list
}

// inOrder lists the jobs in the queue's order, which keys that move along lines give it now.
func (q *queue) inOrder() (list []listed) {
	for i := range q.shapes {
		list = append(list, q.shapes[i].jobs.moving.inOrder(q.now, nil)...)
	}
	slices.SortFunc(list, func(a, b listed) int { return a.compare(&b.queued) })
	return list
}

// sort lists all jobs by key.
func (q *queue) sort() {
	if q.sorted {
		return
	}
	q.list()
	for _, e := range q.inOrder() {
		q.order.set(q.owner, listed{queued: e.queued})
	}
	q.sorted = true
}

// oneByOne reports whether the next jobs in the queue's order are looked for one by one, as the queue is
// not sorted yet.
func (q *queue) oneByOne() bool { return !q.sorted && q.steps < fewSteps }

// first returns the first job, or nil.
func (q *queue) first() *queued {
	if q.sorted {
		return q.order.first()
	}
	return q.following(nil)
}

// following returns the first job behind a place, or the first of all if that is nil; nil if there is none.
func (q *queue) following(behind *queued) (first *queued) {
	q.list()
	for i := range q.shapes {
		if e, found := q.next(&q.shapes[i].jobs, behind, Forever+1); found && (first == nil || e.compare(first) < 0) {
			first = &e.queued
		}
	}
	return first
}

// ascend calls the callback with each job behind a place in the queue's order, or with all if that is nil,
// until the callback returns false.
func (q *queue) ascend(behind *queued, yield func(queued) bool) {
	for q.oneByOne() {
		q.steps++
		next := q.following(behind)
		if next == nil || !yield(*next) {
			return
		}
		behind = next
	}
	q.sort()
	q.order.ascend(behind, yield)
}

// allAt reports whether it is known that the keys of all jobs are the given one.
func (q *queue) allAt(key float64) bool {
	if q.moving {
		return false
	}
	first, last := q.order.first(), q.order.last()
	return first == nil || first.key == key && last.key == key
}

// some reports whether the callback returns true for some job.
func (q *queue) some(has func(*Job) bool) (found bool) {
	if q.sorted {
		q.order.ascend(nil, func(e queued) bool { found = has(e.job); return !found })
		return found
	}
	q.list()
	for i := range q.shapes {
		for _, p := range q.shapes[i].jobs.moving.all() {
			if slices.ContainsFunc(p.jobs, func(m mover) bool { return has(m.job) }) {
				return true
			}
		}
	}
	return false
}

// before returns a waiting job that comes before another one in the order of jobs; nil if none does.
// Under most orders a job that came early waits while many others start, so the last answer is
// remembered.
func (q *queue) before(j *Job) *Job {
	comesBefore := q.old != nil && Compare(q.old, j) < 0
	if !comesBefore && !q.oldest {
		q.old = nil
		comesBefore = q.some(func(other *Job) bool {
			if q.old == nil || Compare(other, q.old) < 0 {
				q.old = other
			}
			return Compare(other, j) < 0
		})
		q.oldest = !comesBefore
	}
	if comesBefore {
		return q.old
	}
	return nil
}

// haveLines reports whether lines are known of all waiting jobs.
func (s *State) haveLines() bool {
	if s.queue.moving {
		return !s.queue.bare
	}
	return !s.queue.some(func(j *Job) bool { return s.jobs.Find(j.ID).line == nil })
}
