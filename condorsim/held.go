package condorsim

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// allHeld returns what each job held of each resource in its last run; see [Result.Holds].
func (r *Result) allHeld() []backfill.Vector {
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

// sumWork sets the work to what the jobs that ended held.
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

// leastHeld returns, by job, the least that it holds of each resource on any of the slots that have room
// for it, and whether it is the same on all of them.
//
//nolint:gocognit // one pass over jobs and slots, with the cases of one pair
func (w *Workload) leastHeld() (least []backfill.Vector, alike []bool) {
	least, alike = make([]backfill.Vector, len(w.Jobs)), make([]bool, len(w.Jobs))
	kinds, requests := w.slotKinds(), w.Requests()
	for i, j := range w.Jobs {
		least[i], alike[i] = w.requested(i, requests[i]), true
		var one backfill.Vector // nil: no slot has room for it, or it holds what it requests
		isFirst, differs := true, false
		for _, slot := range kinds {
			chunk := requests[i]
			if j.BySlot {
				chunk = w.requestOn(j.Ad, slot.Ad)
			}
			if chunk == nil || !chunk.Within(slot.Capacity) {
				continue
			}
			isFull := w.isFull(slot.Capacity, chunk)
			if isFull {
				chunk = slot.Capacity
			} else if !j.BySlot {
				chunk = nil // its totals are known
			}
			total := least[i]
			if chunk != nil {
				total = make(backfill.Vector, len(chunk))
				total.AddScaled(chunk, int64(j.Nodes))
			}
			if isFirst {
				one, isFirst = slices.Clone(total), false
				continue
			}
			for k := range one {
				differs = differs || one[k] != total[k]
				one[k] = min(one[k], total[k])
			}
		}
		if one != nil {
			least[i], alike[i] = one, !differs
		}
	}
	return least, alike
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

// requestOn returns what each chunk of a job asks of a slot; nil if that is no amount.
func (w *Workload) requestOn(job, slot *classad.ClassAd) backfill.Vector {
	chunk := make(backfill.Vector, len(w.Schema.Resources))
	for k, name := range w.Schema.Resources {
		if k == 0 || name == negotiator.Claims {
			chunk[k] = 1
		}
		value := job.Eval("Request"+negotiator.Attribute(name), slot)
		n, isNumber := value.Number()
		switch {
		case value.Kind() == classad.Undefined:
		case !isNumber || !(n >= 0 && n <= float64(backfill.MaxInputAmount)):
			return nil
		default:
			chunk[k] = int64(math.Ceil(n))
		}
	}
	return chunk
}
