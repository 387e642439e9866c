package condorsim

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// A job holds what it requests. Where nobody else can run beside it, as on a static slot, it holds all that
// the slot has: so much is in use. On a partition it counts with what it requests.

// isFull reports whether a chunk that takes these amounts leaves a slot no room for another job, as it
// takes all of [negotiator.Claims].
func (w *Workload) isFull(capacity, chunk backfill.Vector) bool {
	k := slices.Index(w.Schema.Resources, negotiator.Claims)
	return k >= 0 && len(w.Bundles) == 0 && chunk[k] >= capacity[k]
}

// keepChunk notes what each chunk of a started job takes in the plan, if the job holds anything else than
// its ad alone tells.
func (r *Result) keepChunk(j *backfill.Job, at negotiator.Placement) {
	full := func(on negotiator.Chunks) bool {
		return on.Slot != nil && r.Workload.isFull(on.Slot.Capacity, j.Request)
	}
	if !r.Workload.Jobs[j.ID].BySlot && !slices.ContainsFunc(at, full) {
		return
	}
	if r.chunks == nil {
		r.chunks = map[backfill.JobID]backfill.Vector{}
	}
	r.chunks[j.ID] = j.Request
}

// Holds returns how many cpus and how much memory a job held in its last run: what it requested, and all of
// the slots on which nobody else could run beside it.
func (r *Result) Holds(id backfill.JobID) (cpus, memory int64) {
	j := &r.Workload.Jobs[id]
	k := slices.Index(r.Workload.Schema.Resources, "memory")
	if r.totals != nil {
		if cpus = r.totals[id][0]; k >= 0 {
			memory = r.totals[id][k]
		}
		return cpus, memory
	}
	if r.chunks[id] == nil {
		return j.Cpus, j.Memory
	}
	cpus, _ = r.HoldsOf(id, 0)
	if k >= 0 {
		memory, _ = r.HoldsOf(id, k)
	}
	return cpus, memory
}

// HoldsOf returns how much of a resource, by its index, a job held in its last run, if that was noted as it is
// not what its ad alone tells.
func (r *Result) HoldsOf(id backfill.JobID, resource int) (amount int64, noted bool) {
	if r.chunks[id] == nil {
		return 0, false
	}
	for _, on := range r.Outcomes[id].Placement {
		amount += r.chunkOn(id, on.Slot)[resource] * int64(on.Count)
	}
	return amount, true
}

// chunkOn returns what each chunk of a job held of a slot, if that was noted.
func (r *Result) chunkOn(id backfill.JobID, slot *negotiator.Slot) backfill.Vector {
	chunk := r.chunks[id]
	if r.Workload.isFull(slot.Capacity, chunk) {
		return slot.Capacity
	}
	return chunk
}

// CpusOn returns how many cpus of a slot a job held in its last run; of a bundle, all that it requested.
func (r *Result) CpusOn(id backfill.JobID, on negotiator.Chunks) int64 {
	if r.chunks[id] != nil && on.Slot != nil {
		return r.chunkOn(id, on.Slot)[0] * int64(on.Count)
	}
	j := &r.Workload.Jobs[id]
	return j.Cpus / int64(max(1, j.Nodes)) * int64(on.Count)
}
