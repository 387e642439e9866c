package conformance

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// ReservedIdle computes [backfill.State.ReservedIdle] from a snapshot in the simplest way, cpu by
// cpu, to compare the two results.
func ReservedIdle(snap backfill.Snapshot) (cpus int64) {
	idle, planned := idleAndPlanned(snap)
	all := int64(0)
	for _, n := range idle {
		all += n
	}
	for _, j := range snap.Jobs {
		for _, at := range j.Placement {
			if j.Pinned && j.Start <= snap.Now { // it should have taken over by now, and holds nothing yet
				all += chunk(&snap, j.Job, at.Slot)[0] * int64(at.Count)
			}
		}
	}
	for slot, isFull := range full(snap) {
		if isFull {
			idle[slot] = 0
		}
	}
	for _, j := range planned {
		for _, at := range j.Placement {
			for range chunk(&snap, j.Job, at.Slot)[0] * int64(at.Count) {
				if idle[at.Slot] > 0 && cpus < all {
					idle[at.Slot]--
					cpus++
				}
			}
		}
	}
	return cpus
}

// idleAndPlanned returns how many cpus of each slot no job runs on, and the waiting jobs that have a place, in the
// order in which they are to start.
func idleAndPlanned(snap backfill.Snapshot) (idle []int64, planned []backfill.JobState) {
	idle = make([]int64, len(snap.Slots))
	for i, slot := range snap.Slots {
		if slot.Up {
			idle[i] = slot.Capacity[0]
		}
	}
	for _, j := range snap.Jobs {
		if !j.Running && j.Placement != nil {
			planned = append(planned, j)
		}
		for _, at := range j.Placement {
			if j.Running && j.Start <= snap.Now {
				idle[at.Slot] -= chunk(&snap, j.Job, at.Slot)[0] * int64(at.Count)
			}
		}
	}
	slices.SortFunc(planned, func(a, b backfill.JobState) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), backfill.Compare(a.Job, b.Job))
	})
	return idle, planned
}

// full returns which slots host as many jobs as they can.
func full(snap backfill.Snapshot) []bool {
	full := make([]bool, len(snap.Slots))
	claims := slices.Index(snap.Resources, backfill.Claims)
	if claims < 0 {
		return full
	}
	for i, slot := range snap.Slots {
		left := slot.Capacity[claims]
		for _, j := range snap.Jobs {
			for _, at := range j.Placement {
				if j.Running && j.Start <= snap.Now && int(at.Slot) == i {
					left -= chunk(&snap, j.Job, at.Slot)[claims] * int64(at.Count)
				}
			}
		}
		full[i] = left <= 0
	}
	return full
}
