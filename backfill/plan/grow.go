package plan

import "github.com/condor-backfill/condor-backfill/backfill"

// growth is a place on one slot that was given back. Low is the least that was
// free there before, high the most that is now.
type growth struct {
	slot      backfill.SlotID
	from, to  backfill.Time
	low, high backfill.Vector
}

// grow widens the windows of the jobs to which the place that a job gave back is
// of use, and returns the first of them.
func (p *Plan) grow(at backfill.Chunks, by *backfill.Job, from, to backfill.Time) (first int) {
	first = len(p.jobs)
	if from >= to || p.stale || len(p.jobs) == 0 {
		return first
	}
	g := growth{slot: at.Slot, from: from, to: to, low: p.low, high: p.high}
	p.c.Profile().Bounds(g.slot, from, to, g.low, g.high)
	g.low.AddScaled(by.Request, -int64(at.Count))
	for i := range p.jobs {
		e := &p.jobs[i]
		if !g.reaches(e) || !g.helps(e) || e.Job == by {
			continue
		}
		e.widen(from-e.Estimate+1, to)
		first = min(first, i)
	}
	return first
}

// reaches says at a glance of most jobs that they cannot move for the place: it
// begins too late, is too narrow, or was wide enough before.
func (g *growth) reaches(e *entry) bool {
	return g.from < e.start && e.width <= g.high[0] && (e.width > g.low[0] || len(g.low) > 1) || e.on == noSlot
}

// helps reports whether the job might be able to move for the place. It is
// certain of every no.
func (g *growth) helps(e *entry) bool {
	if e.on == g.slot {
		return e.need.Within(g.high) && g.lacked(e.need)
	}
	// Where there are more slots, the job's own chunks may stand in the place.
	return e.on == noSlot && g.from < e.end && e.request.Candidates.Has(g.slot)
}

// lacked reports whether somewhere in the place there was less than the need.
func (g *growth) lacked(need backfill.Vector) bool {
	for k, n := range need {
		if n > g.low[k] {
			return true
		}
	}
	return false
}
