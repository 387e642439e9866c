package condorsim

import (
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// bundleCpus returns the cpus of each bundle by its slots (as text, see [sameSlots]); nil without
// bundles. It is computed from the workload alone, so that it can check the negotiator.
func bundleCpus(w *Workload) map[string]int64 {
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

// sameSlots returns a text that is the same for the same slot names in any order.
func sameSlots(names []string) string { return fmt.Sprintf("%q", slices.Sorted(slices.Values(names))) }

// takes returns what each chunk of a job takes of a slot that it runs on: its request, or on a
// partitioned machine the whole slot.
func (a *audit) takes(job *backfill.Job, slot backfill.SlotID) backfill.Vector {
	if a.whole != nil {
		return a.slots[slot].Capacity
	}
	return job.Request
}

// held returns what a job holds: what its chunks request, or all of the slots on which nobody else can run
// beside it, as on a partitioned machine.
func (a *audit) held(h holding) backfill.Vector {
	sum := make(backfill.Vector, len(a.use))
	for _, chunks := range h.at {
		takes := a.takes(h.job, chunks.Slot)
		if capacity := a.slots[chunks.Slot].Capacity; a.w.isFull(capacity, takes) {
			takes = capacity
		}
		sum.AddScaled(takes, int64(chunks.Count))
	}
	return sum
}

// checkWhole checks on a partitioned machine that a started job has one whole bundle with enough
// cpus. [audit.hold] checks that no other job has any of its slots.
func (a *audit) checkWhole(s *backfill.Started) error {
	if a.whole == nil {
		return nil
	}
	var names []string
	for _, chunks := range s.Placement {
		names = append(names, a.slots[chunks.Slot].Name)
		if chunks.Count != 1 {
			return a.violation(s.Job.ID, "started with %d chunks on slot %s of a partition", chunks.Count,
				a.slots[chunks.Slot].Name)
		}
	}
	cpus, known := a.whole[sameSlots(names)]
	switch need := a.w.Jobs[s.Job.ID].Cpus; {
	case !known:
		return a.violation(s.Job.ID, "started on the slots %v, which are no partition", names)
	case cpus < need:
		return a.violation(s.Job.ID, "started on a partition of %d cpus (%v), and needs %d", cpus, names, need)
	}
	return nil
}
