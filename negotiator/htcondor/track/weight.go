package track

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// weight returns what a job counts for in fair share, quotas and ceilings: the cpus of its slots,
// as by HTCondor's default SLOT_WEIGHT, which are all those of a static slot. While it waits, these
// are the fewest that it can get for what it asks.
func (b *Belief) weight(j *Job) float64 {
	switch {
	case j.Phase == Running:
		return b.weightAt(j, j.Places)
	case b.runsUnfit(j):
		at := b.places(j.Group)
		if slices.ContainsFunc(at, func(p Place) bool { return !b.isUp(p.Slot) }) {
			at = j.Places // where it was planned, if it was: users can write names of no slot
		}
		return b.weightAt(j, at)
	default:
		return b.sizes.weight(j.charged())
	}
}

// weightAt returns the weight of a job that has these places, or is on its way to them. A chunk
// whose slot is not known has what the job was planned by.
func (b *Belief) weightAt(j *Job, at []Place) (weight float64) {
	spec, cut := j.charged(), 0 // chunks that have dynamic slots
	if len(at) == 0 {
		cut = spec.Nodes
	}
	for _, place := range at {
		if cpus, known := b.cpusOf(place.Slot); known {
			weight += cpus * float64(place.Chunks)
		} else {
			cut += place.Chunks
		}
	}
	for _, name := range j.hosts() {
		if o := b.Slot(name); cut > 0 && o != nil && o.Dynamic && j.has(o) {
			cpus, _ := b.cpusOf(name)
			weight, cut = weight+cpus, cut-1
		}
	}
	return weight + cpusAsked(spec)*float64(cut)
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

// weightOf returns the weight of a claim that is lent.
func (b *Belief) weightOf(h *holder) float64 {
	if cpus, known := b.cpusOf(cmp.Or(h.slot, h.lease.Slot)); known {
		return cpus
	}
	return cpusAsked(h.spec)
}

// cpusOf returns the cpus that whoever has a static or dynamic slot has, at least 1; false if the
// slot is partitionable or not known.
func (b *Belief) cpusOf(name string) (cpus float64, known bool) {
	o := b.now.Slots[name]
	if o == nil || !o.Static && !o.Dynamic {
		return 0, false
	}
	host := b.slots[o.Host]
	if host == nil || host.reported == nil {
		return 0, false
	}
	most := host.reported.Capacity[0]
	if o.Dynamic { // it has no more than what it was cut from, whatever its ad says
		most = min(most, o.Free[0])
	}
	return float64(max(1, most)), true
}

// cpusAsked returns the cpus of a chunk by what the job asks for, at least 1.
func cpusAsked(s *observe.Spec) float64 {
	if len(s.Request) == 0 { // it cannot be read
		return 1
	}
	return float64(max(1, s.Request[0]))
}

// sizes are how large the slots are that are planned with.
type sizes struct {
	parted backfill.Vector // the most of each resource that a partitionable slot has; nil: there is none
	// whole is, by ascending cpus, the most of each resource that a static slot with so many has, or
	// with fewer.
	whole []backfill.Vector
}

// weight returns the weight of a job that waits: that of the smallest slots that are large enough,
// whatever its Requirements say; what it asks for if none is.
func (z *sizes) weight(s *observe.Spec) float64 {
	cpus := cpusAsked(s)
	if len(s.Request) > 0 && len(z.whole) > 0 && !hasRoom(z.parted, s.Request) {
		at := sort.Search(len(z.whole), func(i int) bool { return hasRoom(z.whole[i], s.Request) })
		if at < len(z.whole) {
			cpus = float64(z.whole[at][0])
		}
	}
	return cpus * float64(s.Nodes)
}

// hasRoom tells whether a slot of this size is large enough for a request.
func hasRoom(size, request backfill.Vector) bool {
	for i, amount := range request {
		if i >= len(size) || amount > size[i] {
			return false
		}
	}
	return true
}

// measure notes how large the slots are that are planned with now.
func (b *Belief) measure() {
	b.sizes = sizes{}
	static := map[int64]backfill.Vector{}
	for name, s := range b.slots {
		switch o := b.now.Slots[name]; {
		case !s.up || o == nil:
		case o.Static:
			size := s.reported.Capacity
			static[size[0]] = larger(static[size[0]], size)
		default:
			b.sizes.parted = larger(b.sizes.parted, s.reported.Capacity)
		}
	}
	var most backfill.Vector
	for _, cpus := range slices.Sorted(maps.Keys(static)) {
		most = larger(slices.Clone(most), static[cpus])
		b.sizes.whole = append(b.sizes.whole, most)
	}
}

// larger returns the larger amount of each resource, in the place of the first vector unless that
// is nil.
func larger(most, size backfill.Vector) backfill.Vector {
	if most == nil {
		return slices.Clone(size)
	}
	for i, amount := range size {
		most[i] = max(most[i], amount)
	}
	return most
}
