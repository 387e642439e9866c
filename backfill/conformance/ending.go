package conformance

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Ending is added to a seed to get slots that end: from some instant on they have nothing.
const Ending uint64 = 1 << 56

// end returns when a slot is to end: soon after now in most cases, or never.
func (d *Driver) end(now backfill.Time) backfill.Time {
	if !d.ending || d.random.IntN(4) == 0 {
		return 0
	}
	return now + 1 + backfill.Time(d.random.IntN(60))
}

// ends returns events that let slots end at another time, as a pilot that is renewed does. In a calm pool
// that is later than before.
func (d *Driver) ends(r *backfill.Round) (events []backfill.Event) {
	if !d.ending {
		return nil
	}
	for i := range d.slots {
		slot := &d.slots[i]
		told := slices.ContainsFunc(r.Events, func(e backfill.Event) bool { return e.Slot.Name == slot.Name })
		over := slot.End != 0 && slot.End <= r.Now && d.random.IntN(4) == 0
		if told || !d.up[i] || !over && (d.calm() || d.random.IntN(12) > 0) {
			continue
		}
		slot.End = d.end(r.Now)
		events = append(events, backfill.Event{Kind: backfill.SlotChanged, Slot: *slot})
	}
	return events
}

// until returns the second of a grid from which on a slot has nothing.
func (g *grid) until(id backfill.SlotID) backfill.Time {
	if end := g.snap.Slots[id].End; end != 0 {
		return end - g.snap.Now
	}
	return backfill.Forever
}

// first returns the second of a grid from which on the first of some slots has nothing.
func (g *grid) first(slots []backfill.SlotID) backfill.Time {
	end := backfill.Forever
	for _, id := range slots {
		end = min(end, g.until(id))
	}
	return end
}

// endless returns a snapshot of the same pool whose slots do not end.
func endless(snap backfill.Snapshot) backfill.Snapshot {
	snap.Slots = slices.Clone(snap.Slots)
	for i := range snap.Slots {
		snap.Slots[i].End = 0
	}
	return snap
}

// lasts reports jobs that start, or are planned to start, where a slot ends before they do, or has ended
// if their estimate is not their own; and reservations that do not end when they should.
func (r *Run) lasts() {
	ends := func(at backfill.Placement) backfill.Time {
		end := backfill.Forever
		for _, on := range at {
			if slot := &r.snap.Slots[on.Slot]; slot.End != 0 {
				end = min(end, slot.End)
			}
		}
		return end
	}
	misses := func(j *backfill.Job, at backfill.Placement, start backfill.Time) bool {
		if j.Unestimated {
			return start >= ends(at)
		}
		return start+j.Estimate > ends(at)
	}
	for _, s := range r.decision.Started {
		if misses(s.Job, s.Placement, r.decision.Now) {
			r.find(Lasting, s.Job, "job %d starts on %v, which ends at %d", s.Job.ID, s.Placement, ends(s.Placement))
		}
	}
	for _, j := range r.snap.Jobs {
		switch {
		case j.Running || j.Placement == nil:
		case misses(j.Job, j.Placement, j.Start):
			r.find(Lasting, j.Job, "job %d is planned for %d on %v, which ends at %d", j.Job.ID, j.Start, j.Placement,
				ends(j.Placement))
		case j.End != min(j.Start+j.Job.Estimate, ends(j.Placement)):
			r.find(Lasting, j.Job, "job %d is planned from %d to %d on %v, which ends at %d", j.Job.ID, j.Start, j.End,
				j.Placement, ends(j.Placement))
		}
	}
}

// mayClose reports whether the candidates of a job may close or end before it could begin or end.
func (r *Run) mayClose(j *backfill.Job) bool {
	return r.snap.Candidates[j.Candidates].Candidates.Windows != nil ||
		slices.ContainsFunc(r.snap.Slots, func(s backfill.SlotState) bool { return s.Up && s.End != 0 })
}
