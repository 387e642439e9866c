package conformance

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Preempting is added to a seed to have running jobs make way for others, unless the pool is calm.
const Preempting uint64 = 1 << 56

// preempts returns the events by which a waiting job takes over a slot, now and then: the jobs that make way,
// and the one they make way for. Some go too late, or leave too little, as on a real pool.
func (d *Driver) preempts(s backfill.Snapshot, r *backfill.Round) (events []backfill.Event) {
	if !d.preempting || d.calm() || d.random.IntN(3) > 0 {
		return nil
	}
	told := map[backfill.JobID]bool{}
	for _, e := range r.Events {
		told[e.JobID] = true
		if e.Job != nil {
			told[e.Job.ID] = true
		}
	}
	waits := slices.DeleteFunc(slices.Clone(s.Jobs), func(j backfill.JobState) bool {
		return told[j.Job.ID] || j.Running || j.Held != "" || j.Job.Whole
	})
	if len(waits) == 0 {
		return nil
	}
	taker := waits[d.random.IntN(len(waits))]
	slot := d.random.IntN(len(d.slots))
	start := max(r.Now+1+backfill.Time(d.random.IntN(10)), taker.Job.Release)
	late := s.Guarantees && taker.Promised && start > taker.Guarantee
	if late || !d.up[slot] || slot >= len(s.Slots) || !s.Slots[slot].Up {
		return nil
	}
	at := backfill.Placement{{Slot: backfill.SlotID(slot), Count: taker.Job.Nodes}}
	events = append(events, backfill.Event{Kind: backfill.Pinned, JobID: taker.Job.ID, Start: start, Placement: at})
	for _, j := range s.Jobs {
		there := slices.ContainsFunc(j.Placement, func(c backfill.Chunks) bool { return int(c.Slot) == slot })
		if there && j.Pinned && !told[j.Job.ID] && d.random.IntN(2) > 0 { // it loses its place to this one
			events = append(events, backfill.Event{Kind: backfill.StartFailed, JobID: j.Job.ID})
		}
		if there && j.Running && !j.Pinned && !told[j.Job.ID] && d.random.IntN(4) > 0 {
			end := r.Now + 1 + backfill.Time(d.random.Int64N(int64(start-r.Now)))
			events = append(events, backfill.Event{Kind: backfill.EndsSooner, JobID: j.Job.ID, By: taker.Job.ID, End: end})
		}
	}
	return events
}

// takesOver returns what becomes of a pinned job: it begins, once its time has come or before, or it never
// does; false if nothing happens.
func (d *Driver) takesOver(j backfill.JobState, now backfill.Time) (backfill.Event, bool) {
	switch {
	case slices.ContainsFunc(j.Placement, func(c backfill.Chunks) bool { return !d.up[c.Slot] }): // it loses it
	case now >= j.Start && d.random.IntN(3) > 0 || d.random.IntN(12) == 0:
		e := backfill.Event{Kind: backfill.Found, Job: j.Job, Placement: j.Placement, Start: now}
		e.End = now + j.End - j.Start
		return e, true
	case d.random.IntN(20) == 0:
		return backfill.Event{Kind: backfill.StartFailed, JobID: j.Job.ID}, true
	}
	return backfill.Event{}, false
}
