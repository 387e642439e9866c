package track

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// weight returns what a job counts for in fair share, quotas and ceilings: the weight of its slots.
// While it waits, that is the least with which it can get what it asks for. By default a slot
// weighs its cpus, which are all those of a static slot; of others see [observe.Slot.Weight].
func (b *Belief) weight(j *Job) float64 {
	if _, weight, runs := b.charges(j); runs {
		return weight
	}
	return b.wants(j.charged())
}

// charges returns how many slots are charged to a job that runs, and their weight; false if it does
// not.
func (b *Belief) charges(j *Job) (slots int, weight float64, runs bool) {
	switch {
	case j.Phase == Running:
		slots, weight = b.holds(j, j.Places)
		return slots, weight, true
	case b.runsUnfit(j):
		at := b.places(j.Group)
		if slices.ContainsFunc(at, func(p Place) bool { return !b.isUp(p.Slot) }) {
			at = j.Places // where it was planned, if it was: users can write names of no slot
		}
		slots, weight = b.holds(j, at)
		return slots, weight, true
	default:
		return 0, 0, false
	}
}

// holds returns how many slots are charged to a job that has these places, or is on its way to
// them, and their weight. A chunk whose slot is not known has what the job was planned by.
func (b *Belief) holds(j *Job, at []Place) (slots int, weight float64) {
	spec, cut, from := j.charged(), 0, "" // chunks that have dynamic slots, and a slot that these are cut from
	if len(at) == 0 {
		cut = spec.Nodes
	}
	for _, place := range at {
		slots += place.Chunks
		if one, known := b.weightOfSlot(place.Slot); !known {
			cut, from = cut+place.Chunks, cmp.Or(from, place.Slot)
		} else if b.isDiscounted(place.Slot) {
			slots -= place.Chunks
		} else {
			weight += one * float64(place.Chunks)
		}
	}
	for _, name := range j.hosts() {
		if o := b.Slot(name); cut > 0 && o != nil && o.Dynamic && j.has(o) {
			one, _ := b.weightOfSlot(name)
			if b.isDiscounted(name) {
				slots, one = slots-1, 0
			}
			weight, cut = weight+one, cut-1
		}
	}
	if cut > 0 {
		weight += float64(cut) * b.weightIn(from, spec)
	}
	return max(0, slots), weight
}

// hosts returns the slots, each once, where a job runs by its queue. Users can write there what
// they like.
func (j *Job) hosts() []string {
	switch all := j.Group.Hosts; {
	case !j.Group.Runs():
		return nil
	case len(all) < 2:
		return all
	default:
		return slices.Compact(slices.Sorted(slices.Values(all)))
	}
}

// has tells whether a slot says that it runs the job. A gang's slots name whichever proc.
func (j *Job) has(o *observe.Slot) bool {
	job := o.Runs
	if j.Group.Spec.Parallel {
		job.Proc = j.Key.Proc
	}
	return job == j.Key
}

// isDiscounted tells whether nobody is charged for a slot, since its job is suspended.
func (b *Belief) isDiscounted(name string) bool {
	o := b.now.Slots[name]
	return b.charging.WithoutSuspended && o != nil && o.Suspended
}

// weightOf returns the weight of a claim that is lent.
func (b *Belief) weightOf(h *holder) float64 {
	if weight, known := b.weightOfSlot(cmp.Or(h.slot, h.lease.Slot)); known {
		return weight
	}
	return b.weightIn(h.lease.Slot, h.spec)
}

// weightOfSlot returns the weight of what whoever has a static or dynamic slot has; false if the
// slot is partitionable or not known.
func (b *Belief) weightOfSlot(name string) (weight float64, known bool) {
	o := b.now.Slots[name]
	if o == nil || !o.Static && !o.Dynamic {
		return 0, false
	}
	host := b.slots[o.Host]
	if host == nil || host.reported == nil {
		return 0, false
	}
	size := host.reported.Capacity
	switch lies := o.Dynamic && !hasRoom(size, o.Free); { // it has no more than what it was cut from
	case b.charging.Unweighted:
		return 1, true
	case o.Weight != nil && lies && weighs(host.reported.Ad) != nil:
		least := slices.Clone(o.Free)
		for i := range least {
			least[i] = min(least[i], size[i])
		}
		return b.weightOfPart(host.reported.Ad, least), true
	case o.Weight != nil && !lies:
		return *o.Weight, true
	case o.Dynamic:
		return float64(max(1, min(size[0], o.Free[0]))), true
	default:
		return float64(max(1, size[0])), true
	}
}

// weightIn returns the weight of what a chunk of a job gets of a slot; what it asks for of cpus if
// the slot is not known.
func (b *Belief) weightIn(slot string, s *observe.Spec) float64 {
	host := b.slots[slot]
	switch {
	case b.charging.Unweighted:
		return 1
	case host == nil || host.reported == nil || len(s.Request) == 0 || weighs(host.reported.Ad) == nil:
		return cpusAsked(s)
	default:
		return b.weightOfPart(host.reported.Ad, s.Request)
	}
}

// weightOfPart returns what a dynamic slot with these amounts weighs that is cut from the slot of
// an ad, by the SlotWeight of that.
func (b *Belief) weightOfPart(ad *classad.ClassAd, amounts backfill.Vector) float64 {
	part := ad.Clone()
	for i, resource := range b.s.Schema.Resources {
		if i < len(amounts) && resource != observe.Claims {
			part.SetInt(negotiator.Attribute(resource), amounts[i])
			part.SetInt("TotalSlot"+negotiator.Attribute(resource), amounts[i])
		}
	}
	return observe.WeightOf(part, b.s.World.Host(b.now.Began), &b.sizes.meter)
}

// weighs returns the expression by which a slot weighs; nil: it weighs its cpus.
func weighs(ad *classad.ClassAd) *classad.Expr {
	if e, given := ad.Lookup(observe.SlotWeight); given && !observe.IsCpus(e) {
		return e
	}
	return nil
}

// cpusAsked returns the cpus of a chunk by what the job asks for, at least 1.
func cpusAsked(s *observe.Spec) float64 {
	if len(s.Request) == 0 { // it cannot be read
		return 1
	}
	return float64(max(1, s.Request[0]))
}

// total returns what the pool weighs, of which groups have their shares. Without weights, a slot
// counts as one, and what is left of a partitionable slot as its cpus, as with the stock
// negotiator.
func (b *Belief) total() (total float64) {
	counts := func(name string) bool { o := b.now.Slots[name]; return o == nil || !o.Uncounted }
	for name, s := range b.slots {
		o := b.now.Slots[name]
		switch {
		case !s.up || !counts(name):
		case b.charging.Unweighted && o != nil && o.Static:
			total++
		case b.charging.Unweighted || weighs(s.reported.Ad) == nil || s.reported.Capacity.Zero():
			total += float64(s.reported.Capacity[0])
		case o != nil && o.Static && o.Weight != nil:
			total += *o.Weight
		default:
			total += b.weightOfPart(s.reported.Ad, s.reported.Capacity)
		}
	}
	if b.charging.Unweighted {
		for _, o := range b.now.Slots {
			if o.Dynamic && b.isUp(o.Host) && counts(o.Host) {
				total += 1 - float64(o.Free[0])
			}
		}
	}
	return max(0, total)
}
