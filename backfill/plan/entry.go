package plan

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// entry is a waiting job with its reservation and its window: the job may be able to start in
// [from, to), or because of growths that its shape noted since the last look, and at no other time
// before its planned start. What a pass needs of every job comes first.
type entry struct {
	shape      *shape
	noted      int           // growths of the shape that have widened the window
	tried      int           // growths of the shape at the last search in vain; -1: there was no search yet
	start, end backfill.Time // planned
	from, to   backfill.Time
	earliest   backfill.Time // the job may not start before, whatever its window

	*backfill.Job
	key float64 // in the queue's order
	at  backfill.Placement
}

// entry returns the entry of a job with its reservation; the job might start as early as from.
func (p *Plan) entry(j *backfill.Job, at backfill.Placement, start, from backfill.Time) *entry {
	s := p.shape(j, at)
	s.waiting++
	tried := s.noted
	if from < start {
		tried = -1
	}
	return &entry{
		shape: s, noted: s.noted, tried: tried, start: start, end: start + j.Estimate, from: from, to: start,
		earliest: j.NotBefore(-backfill.Forever), Job: j, key: p.c.State().Key(j.ID), at: at,
	}
}

// lasts returns the job's estimate.
func (e *entry) lasts() backfill.Time { return e.end - e.start }

// byQueue compares entries by the queue's order, byStart by planned start.
func byQueue(a, b *entry) int {
	if a.key != b.key {
		return cmp.Compare(a.key, b.key)
	}
	return backfill.Compare(a.Job, b.Job)
}

func byStart(a, b *entry) int {
	if a.start != b.start {
		return cmp.Compare(a.start, b.start)
	}
	return backfill.Compare(a.Job, b.Job)
}

// come is look for a pass that comes to the job at index i. Most jobs have no window. Those are not
// met, as they would hardly narrow the windows of jobs behind them, which lack the same growths.
func (p *Plan) come(i int) bool {
	e := p.jobs[i]
	if e.shape.on == noSlot && p.passed(e) || !e.open(p.c.Now()) {
		return false
	}
	p.met(i)
	return p.narrow(i)
}

// look reports whether the job's window holds a start that is not over, after it has learned of
// growths and was narrowed.
func (p *Plan) look(i int) bool { return p.jobs[i].open(p.c.Now()) && p.narrow(i) }

// open widens the window, the starts that may be possible, by the growths since the last look: the
// room that other jobs gave back. It reports whether the window holds a start that is not over.
func (e *entry) open(now backfill.Time) bool {
	if e.start <= now {
		return false
	}
	e.learn()
	return e.left(now)
}

// left reports whether the window holds a start that is not over. If it does not, what was noted so
// far is of no use to the job.
func (e *entry) left(now backfill.Time) bool {
	if e.from < e.to && now < e.to {
		return true
	}
	e.tried = e.noted
	return false
}

// narrow narrows the window by that of another job, see met. It reports whether it still holds a
// start that is not over.
func (p *Plan) narrow(i int) bool {
	e := p.jobs[i]
	if other := p.ahead(i); other != nil && !p.overfull(e.shape) {
		e.follow(other)
	}
	return e.left(p.c.Now())
}

// maxAhead is how many jobs ahead asks.
const maxAhead = 8

// ahead returns the entry of a job that is planned no later than the one at index i, has the same
// request and slot, and lasts no longer; nil if it soon finds none.
func (p *Plan) ahead(i int) *entry {
	start, before := p.jobs[i].start, p.before[i]
	for n := 0; n < maxAhead && before >= 0; n++ {
		if other := p.jobs[before]; other.start <= start {
			return other
		}
		before = p.before[before]
	}
	return nil
}

// learn widens the window by the growths that the shape noted since the last time.
func (e *entry) learn() {
	if e.noted == e.shape.noted {
		return
	}
	from, to := e.shape.since(e.noted)
	e.noted = e.shape.noted
	if from < to && from < e.until() {
		e.widen(from-e.lasts()+1, to)
	}
}

// follow narrows the window by that of another job, which [Plan.ahead] found. At any start before
// its own planned one, that job needs no more than this one does: where it cannot start, this one
// cannot either.
func (e *entry) follow(other *entry) {
	if other.learn(); other.from < other.to {
		e.from = max(e.from, other.from)
	} else {
		e.from = max(e.from, other.start)
	}
}

// until returns the end of the time in which room on a slot or in a row may help the job to start
// earlier: its planned end; its planned start on a single slot, unless too much may be taken of a row.
func (e *entry) until() backfill.Time {
	if s := e.shape; s.on == noSlot || s.request.Takes != nil { // the job itself is rarely in a cache
		return e.end
	}
	return e.start
}

// widen adds the starts in [from, to) that are before the planned start to the window.
func (e *entry) widen(from, to backfill.Time) {
	to = min(to, e.start)
	switch {
	case from >= to:
	case e.from >= e.to:
		e.from, e.to = from, to
	default:
		e.from, e.to = min(e.from, from), max(e.to, to)
	}
}

// try looks for the job's earliest start in its window, the starts that may be possible, and before
// limit; ok is false if there is none. It narrows the window to the starts that remain possible.
func (p *Plan) try(e *entry, limit backfill.Time) (start backfill.Time, at backfill.Placement, ok bool) {
	e.from = max(e.from, p.c.Now(), e.earliest)
	limit = min(limit, e.to)
	if e.from >= limit {
		return 0, nil, false
	}
	if e.shape.on == noSlot {
		start, at, ok = p.tryMany(e, limit)
		if limit == e.to {
			e.tried = e.noted
		}
	} else {
		request := e.shape.request
		request.Duration = e.lasts()
		start, ok = p.c.State().Profile().EarliestAhead(request, e.start, e.from, limit)
		if at = e.at; ok && request.Takes != nil { // its own place may be in a row of which too much is taken
			start, at, ok = p.c.Fast().EarliestBefore(e.Job, start, limit)
		}
	}
	if e.from = limit; ok {
		e.from = start
	}
	return start, at, ok
}

// tryMany is try for a job that is not bound to a single slot. The job can move only to a start at
// which it has a chunk on a slot that has grown, where room was given back, since the last search.
func (p *Plan) tryMany(e *entry, limit backfill.Time) (backfill.Time, backfill.Placement, bool) {
	from := e.from
	if e.tried >= 0 {
		if first, known := e.shape.unseen(e.tried); known && e.shape.rowGrown <= e.tried {
			if from = p.earliestOn(e, first, limit); from == limit {
				return 0, nil, false
			}
			if e.Nodes == 1 && !e.Whole && e.Takes == nil { // the one chunk fits there
				at, ok := p.c.Fast().PlaceAt(e.Job, from)
				return from, at, ok
			}
		}
	}
	if e.Whole || e.Takes != nil { // mostly there is no start; this finds out without a change of the profile
		request := e.shape.request
		request.Duration = e.Estimate
		var ok bool
		if from, ok = p.c.State().Profile().EarliestAhead(request, e.start, from, limit); !ok {
			return 0, nil, false
		}
	}
	return p.c.Fast().EarliestBefore(e.Job, from, limit)
}

// alike reports whether two jobs have the same request and estimate, and are planned for the same time.
func (e *entry) alike(o *entry) bool {
	return e.shape == o.shape && e.start == o.start && e.end == o.end
}

// move reserves the given start and placement for the job, or for each of several that are
// [entry.alike] on a single slot. The room that they leave may let others move: move returns the
// index of a job before which that is impossible, see grow.
func (p *Plan) move(all []*entry, start backfill.Time, at backfill.Placement) (first int) {
	e := all[0]
	if len(all) == 1 {
		p.c.Reserve(e.Job, start, at)
	} else {
		p.c.Fast().ReserveTogether(p.listed(all), start, at)
	}
	from, end, left := e.start, e.end, e.at
	for _, e := range all {
		e.start, e.end, e.from, e.to, e.at = start, start+e.Estimate, start, start, at
	}
	ends := p.c.State().Profile().Ends().Run(p.c.State().Request(e.Job), at, start)
	first = len(p.jobs)
	for _, gone := range left {
		grown := from
		if e.covers(gone) && e.shape.request.Candidates.Least == nil {
			grown = max(from, ends)
		}
		gone.Count *= len(all)
		first = min(first, p.grow(gone, e.Job, grown, end))
	}
	for _, t := range e.Takes {
		first = min(first, p.growRow(t, max(from, ends), end))
	}
	for _, e := range all {
		e.noted, e.tried = e.shape.noted, e.shape.noted // the room that they left cannot help them
	}
	return first
}

// listed lists the jobs of entries.
func (p *Plan) listed(all []*entry) []*backfill.Job {
	p.alike = p.alike[:0]
	for _, e := range all {
		p.alike = append(p.alike, e.Job)
	}
	return p.alike
}

// covers reports whether the job's placement has at least as many chunks on the slot.
func (e *entry) covers(at backfill.Chunks) bool {
	return slices.ContainsFunc(e.at, func(o backfill.Chunks) bool { return o.Slot == at.Slot && o.Count >= at.Count })
}
