package plan

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// entry is a waiting job with its reservation. It might start in [from, to)
// instead, and at no other time before start. Entries are small, as every growth
// passes by all of them.
type entry struct {
	*job
	start, end backfill.Time // planned
	from, to   backfill.Time
	width      int64           // need[0]
	on         backfill.SlotID // the only slot that it may use, and stands on; else noSlot
}

// job is what is less often asked of an entry.
type job struct {
	*backfill.Job
	request profile.Request
	need    backfill.Vector // of all chunks on one slot
	at      backfill.Placement
}

const noSlot backfill.SlotID = -1

// entry is a job with its place that might start as early as from.
func (p *Plan) entry(j *backfill.Job, at backfill.Placement, start, from backfill.Time) entry {
	e := entry{
		job:   &job{Job: j, request: p.c.Request(j), need: j.Total(), at: at},
		start: start, end: start + j.Estimate, from: from, to: start, width: j.Width(), on: noSlot,
	}
	if slots := e.request.Candidates.Slots; len(slots) == 1 && at[0].Slot == slots[0] {
		e.on = slots[0]
	}
	return e
}

// try looks for a job's earliest start in its window and before limit, and
// narrows the window to what is left.
func (p *Plan) try(e *entry, limit backfill.Time) (start backfill.Time, at backfill.Placement, ok bool) {
	e.from = max(e.from, p.c.Now())
	limit = min(limit, e.to)
	if e.from >= limit {
		return 0, nil, false
	}
	if e.on == noSlot {
		start, at, ok = p.c.EarliestBefore(e.Job, e.from, limit)
	} else {
		start, ok = p.c.Profile().EarliestAhead(e.request, e.start, e.from, limit)
		at = e.at // there is but one way to stand on one slot
	}
	if e.from = limit; ok {
		e.from = start
	}
	return start, at, ok
}

// move plans a job for its earliest start, and returns the first job that might
// move for that.
func (p *Plan) move(e *entry, start backfill.Time, at backfill.Placement) (first int) {
	p.c.Reserve(e.Job, start, at)
	from, end, left := e.start, e.end, e.at
	e.start, e.end, e.from, e.to, e.at = start, start+e.Estimate, start, start, at
	first = len(p.jobs)
	for _, gone := range left {
		grown := from
		if e.covers(gone) {
			grown = max(from, e.end)
		}
		first = min(first, p.grow(gone, e.Job, grown, end))
	}
	return first
}

// covers reports whether the job has at least as many chunks on the slot.
func (e *entry) covers(at backfill.Chunks) bool {
	return slices.ContainsFunc(e.at, func(o backfill.Chunks) bool { return o.Slot == at.Slot && o.Count >= at.Count })
}

// widen adds the starts in [from, to) before the planned one to the window.
func (e *entry) widen(from, to backfill.Time) {
	to = min(to, e.start)
	if e.from >= e.to {
		e.from, e.to = from, to
		return
	}
	e.from, e.to = min(e.from, from), max(e.to, to)
}
