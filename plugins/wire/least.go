package wire

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// EnoughNow returns a state and the round that comes next for a plugin that does not know what must be
// free on candidates: with those of each set on which enough is free beside the jobs that run.
// Reservations do not count: who has one that begins now would not find its own place free.
func EnoughNow(s backfill.Snapshot, r backfill.Round) (backfill.Snapshot, backfill.Round) {
	free := freeNow(s, r)
	enough := func(sets []backfill.CandidateSet) []backfill.CandidateSet {
		out := make([]backfill.CandidateSet, len(sets))
		for i := range sets {
			out[i] = backfill.CandidateSet{ID: sets[i].ID, Candidates: withEnough(&sets[i].Candidates, free)}
		}
		return out
	}
	s.Candidates, r.Candidates = enough(s.Candidates), enough(r.Candidates)
	return s, r
}

// freeNow returns what is free on each slot that is up beside the jobs that run, after the events of a
// round.
func freeNow(s backfill.Snapshot, r backfill.Round) map[backfill.SlotID]backfill.Vector {
	free := map[backfill.SlotID]backfill.Vector{}
	for _, slot := range s.Slots {
		if slot.Up {
			free[slot.ID] = slices.Clone(slot.Capacity)
		}
	}
	ended := map[backfill.JobID]bool{}
	running := slices.DeleteFunc(slices.Clone(s.Jobs), func(j backfill.JobState) bool { return !j.Running })
	for i := range r.Events {
		switch e := &r.Events[i]; e.Kind {
		case backfill.Completed, backfill.Removed, backfill.StartFailed:
			ended[e.JobID] = true
		case backfill.SlotAdded, backfill.SlotChanged:
			free[e.Slot.ID] = slices.Clone(e.Slot.Capacity)
		case backfill.Found:
			running = append(running, backfill.JobState{Job: e.Job, Placement: e.Placement})
		default:
		}
	}
	for _, j := range running {
		if ended[j.Job.ID] {
			continue
		}
		for _, on := range j.Placement {
			switch left := free[on.Slot]; {
			case left == nil:
			case j.Job.Whole:
				clear(left)
			default:
				left.AddScaled(j.Job.Request, -int64(on.Count))
			}
		}
	}
	return free
}

// withEnough returns the candidates on which as much is free as must be, without what that is. Of a slot
// that is not there nothing is known, and it stays.
func withEnough(c *backfill.Candidates, free map[backfill.SlotID]backfill.Vector) (left backfill.Candidates) {
	if c.Least == nil {
		return *c
	}
	for i, id := range c.Slots {
		if there := free[id]; there != nil && !c.Least[i].Within(there) {
			continue
		}
		left.Slots = append(left.Slots, id)
		if c.Rank != nil {
			left.Rank = append(left.Rank, c.Rank[i])
		}
		if c.Windows != nil {
			left.Windows = append(left.Windows, c.Windows[i])
		}
	}
	return left
}
