package condorsim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// A job occupies what it requests. Where nobody else can run beside it, as on a static slot, it occupies all that
// the slot has: so much is in use. On a partition it counts with what it requests.

// isFull reports whether a chunk that takes these amounts leaves a slot no room for another job, as it
// takes all of a count.
func (w *Workload) isFull(capacity, chunk backfill.Vector) bool {
	for k, name := range w.Schema.Resources {
		if negotiator.IsCount(name) && len(w.Bundles) == 0 && chunk[k] >= capacity[k] {
			return true
		}
	}
	return false
}

// keepChunk notes what each chunk of a started job takes in the plan, if the job occupies anything else than
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

// Occupies returns how many cpus and how much memory a job occupied in its last run: what it requested, and all of
// the slots on which nobody else could run beside it.
func (r *Result) Occupies(id backfill.JobID) (cpus, memory int64) {
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
	cpus, _ = r.OccupiesOf(id, 0)
	if k >= 0 {
		memory, _ = r.OccupiesOf(id, k)
	}
	return cpus, memory
}

// OccupiesOf returns how much of a resource, by its index, a job occupied in its last run, if that was noted as it is
// not what its ad alone tells.
func (r *Result) OccupiesOf(id backfill.JobID, resource int) (amount int64, noted bool) {
	if r.chunks[id] == nil {
		return 0, false
	}
	for _, on := range r.Outcomes[id].Placement {
		amount += r.chunkOn(id, on.Slot)[resource] * int64(on.Count)
	}
	return amount, true
}

// chunkOn returns what each chunk of a job occupied of a slot, if that was noted.
func (r *Result) chunkOn(id backfill.JobID, slot *negotiator.Slot) backfill.Vector {
	chunk := r.chunks[id]
	if r.Workload.isFull(slot.Capacity, chunk) {
		return slot.Capacity
	}
	return chunk
}

// CpusOn returns how many cpus of a slot a job occupied in its last run; of a bundle, all that it requested.
func (r *Result) CpusOn(id backfill.JobID, on negotiator.Chunks) int64 {
	if r.chunks[id] != nil && on.Slot != nil {
		return r.chunkOn(id, on.Slot)[0] * int64(on.Count)
	}
	j := &r.Workload.Jobs[id]
	return j.Cpus / int64(max(1, j.Nodes)) * int64(on.Count)
}

// allOccupied returns what each job occupied of each resource in its last run; see [Result.Occupies].
func (r *Result) allOccupied() []backfill.Vector {
	all, requests := make([]backfill.Vector, len(r.Outcomes)), r.Workload.Requests()
	for i := range all {
		id := backfill.JobID(i)
		if r.chunks[id] == nil || len(r.Workload.Bundles) > 0 {
			all[i] = r.Workload.requested(i, requests[i])
			continue
		}
		all[i] = make(backfill.Vector, len(r.Workload.Schema.Resources))
		for _, on := range r.Outcomes[i].Placement {
			all[i].AddScaled(r.chunkOn(id, on.Slot), int64(on.Count))
		}
	}
	return all
}

// requested returns what all chunks of a job ask for.
func (w *Workload) requested(i int, chunk backfill.Vector) backfill.Vector {
	j, sum := w.Jobs[i], make(backfill.Vector, len(w.Schema.Resources))
	if chunk != nil {
		sum.AddScaled(chunk, int64(j.Nodes))
	}
	sum[0] = j.Cpus
	if k := slices.Index(w.Schema.Resources, "memory"); k >= 0 {
		sum[k] = j.Memory
	}
	return sum
}

// sumWork sets the work to what the jobs that ended occupied.
func (r *Result) sumWork() {
	if r.Work = nil; len(r.Workload.Bundles) > 0 {
		return // which partitions were taken is not known
	}
	r.Work = make([]float64, len(r.Workload.Schema.Resources))
	for i, o := range r.Outcomes {
		if !o.Ended {
			continue
		}
		for k, amount := range r.totals[i] {
			r.Work[k] += float64(amount) * float64(o.End-o.Start)
		}
	}
}

// leastOccupied returns, by job, the least that it occupies of each resource on any of the slots that have room
// for it, and whether it is the same on all of them.
func (w *Workload) leastOccupied() (least []backfill.Vector, alike []bool) {
	least, alike = make([]backfill.Vector, len(w.Jobs)), make([]bool, len(w.Jobs))
	kinds, requests := w.slotKinds(), w.Requests()
	for i := range w.Jobs {
		alone := w.requested(i, requests[i])
		alike[i] = true
		for _, slot := range kinds {
			switch total := w.occupiedOn(i, requests[i], alone, slot); {
			case total == nil:
			case least[i] == nil:
				least[i] = slices.Clone(total)
			default:
				for k, n := range total {
					alike[i] = alike[i] && n == least[i][k]
					least[i][k] = min(least[i][k], n)
				}
			}
		}
		if least[i] == nil {
			least[i] = alone // no slot has room for it
		}
	}
	return least, alike
}

// occupiedOn returns what all chunks of a job, which request what its ad alone tells, occupy on a slot; nil if
// one has no room there.
func (w *Workload) occupiedOn(i int, chunk, alone backfill.Vector, slot *negotiator.Slot) backfill.Vector {
	j := &w.Jobs[i]
	if j.BySlot {
		chunk = w.Schema.RequestOn(j.Ad, slot)
	}
	switch {
	case chunk == nil || !chunk.Within(slot.Capacity):
		return nil
	case w.isFull(slot.Capacity, chunk):
		chunk = slot.Capacity
	case !j.BySlot:
		return alone
	}
	all := make(backfill.Vector, len(chunk))
	all.AddScaled(chunk, int64(j.Nodes))
	return all
}

// slotKinds returns one slot of each kind: those of a kind have the same capacity, and jobs whose requests
// depend on the slot request the same of them. On a partitioned machine there is none.
func (w *Workload) slotKinds() (kinds []*negotiator.Slot) {
	if len(w.Bundles) > 0 {
		return nil
	}
	refers, seen := map[string]bool{}, map[*classad.ClassAd]bool{}
	for _, j := range w.Jobs {
		if !j.BySlot || seen[j.Ad] {
			continue
		}
		seen[j.Ad] = true
		for _, name := range w.Schema.Resources {
			if e, asks := j.Ad.Lookup("Request" + negotiator.Attribute(name)); asks {
				_, external, _ := e.Refs(j.Ad)
				for _, attr := range external {
					refers[attr] = true
				}
			}
		}
	}
	names, known := slices.Sorted(maps.Keys(refers)), map[string]bool{}
	for _, slot := range w.Slots {
		var key strings.Builder
		_, _ = fmt.Fprint(&key, slot.Capacity)
		for _, name := range names {
			_, _ = fmt.Fprintf(&key, "\n%s", slot.Ad.Eval(name, nil))
		}
		if !known[key.String()] {
			known[key.String()] = true
			kinds = append(kinds, slot)
		}
	}
	return kinds
}
