package profile

import (
	"math"
	"slices"
)

// Time is an instant or a length of time, in whole seconds. Instants count
// from an origin that the host chooses: the Unix epoch on a real pool, the
// trace's own zero in a simulation.
type Time int64

// Forever is later than any instant a profile is asked about. It leaves room
// for sums.
const Forever Time = math.MaxInt64 / 4

// Vector is an amount of each resource of the pool, in the pool's order.
// Vectors are never changed after they were handed over.
type Vector []int64

// Within reports whether v is at most w in every resource.
func (v Vector) Within(w Vector) bool {
	for i, a := range v {
		if a > w[i] {
			return false
		}
	}
	return true
}

// Zero reports whether v is nothing at all.
func (v Vector) Zero() bool {
	for _, a := range v {
		if a != 0 {
			return false
		}
	}
	return true
}

// AddScaled adds n times w to v in place.
func (v Vector) AddScaled(w Vector, n int64) {
	for i, a := range w {
		v[i] += a * n
	}
}

// SlotID names a slot within one profile: an index, dense from zero.
type SlotID int32

// Chunks says that a number of equal chunks of a job sit on one slot.
type Chunks struct {
	Slot  SlotID
	Count int
}

// Placement says where all chunks of a job sit. It is never changed after it
// was made, so that it can be shared.
type Placement []Chunks

// Count is the number of chunks in the placement.
func (p Placement) Count() int {
	n := 0
	for _, c := range p {
		n += c.Count
	}
	return n
}

// Equal reports whether two placements are the same, in the same order.
func (p Placement) Equal(q Placement) bool {
	if len(p) != len(q) {
		return false
	}
	for i := range p {
		if p[i] != q[i] {
			return false
		}
	}
	return true
}

// BundleID names a bundle within one profile: an index, dense from zero. A bundle is
// slots that are taken whole together, such as a partition of a partitioned machine.
type BundleID int32

// Candidates are the slots that matchmaking allows a job to use, in ascending
// order, or the bundles, for a job that takes one whole. Rank holds a class for each,
// dense integers, higher is preferred; nil means that all are equal.
type Candidates struct {
	Slots   []SlotID
	Bundles []BundleID
	Rank    []int32
}

// Has reports whether the slot is one of the candidates.
func (c *Candidates) Has(id SlotID) bool {
	_, found := slices.BinarySearch(c.Slots, id)
	return found
}

// HasBundle reports whether the bundle is one of the candidates.
func (c *Candidates) HasBundle(id BundleID) bool {
	_, found := slices.BinarySearch(c.Bundles, id)
	return found
}

// Cover reports whether a placement is on slots alone that are candidates; for bundles
// see [View.Covers].
func (c *Candidates) Cover(at Placement) bool {
	for _, chunks := range at {
		if !c.Has(chunks.Slot) {
			return false
		}
	}
	return true
}

// Request is what a job asks for: Nodes chunks of the vector Chunk, for
// Duration seconds, on some of the slots of Candidates; or, if Whole, all that there is
// of one of its bundles: one chunk on each slot, without a vector, which stands for the
// whole slot.
type Request struct {
	Chunk      Vector // nil: all that a slot has
	Nodes      int
	Duration   Time
	Candidates *Candidates
	Whole      bool

	bounded bool
	until   Time // what is later does not matter, if bounded
}

// end is the end of the time that matters to a start.
func (r *Request) end(start Time) Time {
	if r.bounded {
		return min(start+r.Duration, r.until)
	}
	return start + r.Duration
}
