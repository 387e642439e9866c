package negotiator

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// freed is what is free on each slot just before the round that a delta reports. It is counted when it is
// first asked for, as few pools ask; see [matchmaker.Matchmaker].
type freed struct {
	delta *Delta            // nil: it reports nothing
	slots []backfill.Vector // nil: not counted yet
}

// countFree has the matchmaker count anew what is free, once a delta is taken in.
func (n *Negotiator) countFree(d *Delta) {
	if n.freed = (freed{delta: d}); n.matchmaker.Free == nil {
		n.matchmaker.Free = n.freeOn
	}
}

// freeOn returns what is free on a slot beside the jobs that run once n.freed.delta is taken in.
func (n *Negotiator) freeOn(id backfill.SlotID) backfill.Vector {
	if n.freed.slots == nil {
		n.freed.slots = n.free(cmp.Or(n.freed.delta, &Delta{}))
	}
	return n.freed.slots[id]
}

// free returns what is free on each slot beside the jobs that run once a delta is taken in.
func (n *Negotiator) free(d *Delta) []backfill.Vector {
	free := make([]backfill.Vector, len(n.inventory.slots))
	for id, slot := range n.inventory.slots {
		free[id] = slices.Clone(slot.Capacity)
	}
	take := func(at backfill.Placement, request backfill.Vector) {
		for _, on := range at {
			free[on.Slot].AddScaled(request, -int64(on.Count))
		}
	}
	var ended backfill.JobSet
	for _, ids := range [][]backfill.JobID{d.Completed, d.Removed, d.StartFailed} {
		for _, id := range ids {
			ended.Add(id)
		}
	}
	for i := range d.Found {
		run := &d.Found[i]
		ended.Add(run.Job.ID)
		if request, err := n.schema.Request(run.Job.Ad, run.Job.Nodes); err == nil {
			take(n.inventory.toCore(run.Placement), request)
		}
	}
	for run := range n.State().Running() {
		if !n.isPinned(run.Job.ID) && ended.Add(run.Job.ID) {
			take(run.Placement, run.Job.Request)
		}
	}
	return free
}
