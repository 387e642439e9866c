package condorsim

import (
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// wholes are the cpus of each bundle, by its slots. What the negotiator makes of bundles
// is not asked.
func wholes(w *Workload) map[string]int64 {
	if len(w.Bundles) == 0 {
		return nil
	}
	cpus := make(map[string]int64, len(w.Slots))
	for _, s := range w.Slots {
		cpus[s.Name] = s.Capacity[0]
	}
	whole := make(map[string]int64, len(w.Bundles))
	for _, b := range w.Bundles {
		var sum int64
		for _, name := range b.Slots {
			sum += cpus[name]
		}
		whole[sameSlots(b.Slots)] = sum
	}
	return whole
}

// sameSlots is the same text for the same slots in any order.
func sameSlots(names []string) string { return fmt.Sprintf("%q", slices.Sorted(slices.Values(names))) }

// takes is what a job has of each slot on which it runs, for each of its chunks there.
func (a *audit) takes(job *backfill.Job, slot backfill.SlotID) backfill.Vector {
	if a.whole != nil {
		return a.slots[slot].Capacity
	}
	return job.Request
}

// held is what a job has, for each of its chunks; all of a bundle.
func (a *audit) held(h holding) backfill.Vector {
	if a.whole == nil {
		return h.job.Request
	}
	sum := make(backfill.Vector, len(a.use))
	for _, chunks := range h.at {
		sum.AddScaled(a.slots[chunks.Slot].Capacity, 1)
	}
	return sum
}

// checkWhole makes sure that a job which starts has one whole bundle of enough cpus. That
// nobody else has any of its slots is seen by what is in use of them.
func (a *audit) checkWhole(s backfill.Started) error {
	if a.whole == nil {
		return nil
	}
	var names []string
	for _, chunks := range s.Placement {
		names = append(names, a.slots[chunks.Slot].Name)
		if chunks.Count != 1 {
			return a.violation(s.Job.ID, "started with %d chunks on slot %s of a partition", chunks.Count, a.slots[chunks.Slot].Name)
		}
	}
	cpus, is := a.whole[sameSlots(names)]
	switch need := a.w.Jobs[s.Job.ID].Cpus; {
	case !is:
		return a.violation(s.Job.ID, "started on the slots %v, which are no partition", names)
	case cpus < need:
		return a.violation(s.Job.ID, "started on a partition of %d cpus (%v), and needs %d", cpus, names, need)
	}
	return nil
}
