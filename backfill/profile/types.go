package profile

import (
	"math"
	"slices"
)

// Time is an instant or a length of time, in whole seconds. Instants count from an origin that the
// caller chooses: the Unix epoch on a real pool, the trace's own zero in a simulation.
type Time int64

// Forever is later than any instant that a profile is asked about. Sums of a few such values do not
// overflow.
const Forever Time = math.MaxInt64 / 4

// Vector is an amount of each resource of the pool, in the pool's order. One that was passed as a
// slot's capacity or in a [Request] must not be changed any more.
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

// Zero reports whether all amounts of v are 0.
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

// SlotID identifies a slot within one profile: an index, dense from zero.
type SlotID int32

// Chunks says how many chunks of a job are placed on one slot. All chunks of a job are equal.
type Chunks struct {
	Slot  SlotID
	Count int
}

// Placement says on which slots all chunks of a job are placed. It is never changed after it was
// made, so it can be shared.
type Placement []Chunks

// Count returns the number of chunks in the placement.
func (p Placement) Count() int {
	n := 0
	for _, c := range p {
		n += c.Count
	}
	return n
}

// Equal reports whether two placements have the same chunks on the same slots, in the same order.
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

// BundleID identifies a bundle within one profile: an index, dense from zero. A bundle is a set of
// slots that one job takes whole, such as a partition of a partitioned machine.
type BundleID int32

// Candidates are the slots that matchmaking allows a job to use, in ascending order, or the
// bundles, if the job takes a bundle whole. Rank holds a class for each of them, dense integers,
// the most preferred the highest; nil means that all are equal. Windows holds for each of them when
// the job may begin there; nil means always, and so does an entry that is nil. Least holds for each
// of them what must be free of each resource just before a chunk begins there, where that is more
// than the chunk takes: some slots accept a job only while enough is left for others. nil means
// nothing more, and so does an entry that is nil. Entries may share memory.
type Candidates struct {
	Slots   []SlotID
	Bundles []BundleID
	Rank    []int32
	Windows [][]Window
	Least   []Vector
}

// Memory is where candidates are in memory. Candidates in the same place are equal as long as
// nobody changes them; most kinds of jobs share theirs.
type Memory struct {
	slots   *SlotID
	bundles *BundleID
	rank    *int32
	windows *[]Window
	length  int
}

// Memory returns where the candidates are.
func (c *Candidates) Memory() (m Memory) {
	if m.length = len(c.Slots) + len(c.Bundles); len(c.Slots) > 0 {
		m.slots = &c.Slots[0]
	}
	if len(c.Bundles) > 0 {
		m.bundles = &c.Bundles[0]
	}
	if len(c.Rank) > 0 {
		m.rank = &c.Rank[0]
	}
	if len(c.Windows) > 0 {
		m.windows = &c.Windows[0]
	}
	return m
}

// Bytes returns how much memory the candidates take, without the windows that the entries of Windows
// share.
func (c *Candidates) Bytes() int64 {
	const each, list = 4, 24
	return each*int64(len(c.Slots)+len(c.Bundles)+len(c.Rank)) + list*int64(len(c.Windows))
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

// Cover reports whether all slots of a placement are candidates. For bundles see [View.Covers].
func (c *Candidates) Cover(at Placement) bool {
	for _, chunks := range at {
		if !c.Has(chunks.Slot) {
			return false
		}
	}
	return true
}

// RowID identifies a row within one profile: an index, dense from zero. A row is an amount that all
// slots share, such as the licences of a program, the quota of a group, or the number of jobs that
// a schedd runs at once.
type RowID int32

// Take is what a request takes of one row, once for all its chunks, while the job runs.
type Take struct {
	Row    RowID
	Amount int64
}

// Request is what a job asks for: Nodes chunks of the vector Chunk, for Duration seconds, on some
// of the slots of Candidates. If Whole is set, the job takes one candidate bundle instead: one
// chunk on each of its slots, and each chunk is the whole slot. If ToEnd is set, the duration is
// nobody's own estimate: on a slot that ends, the job may begin at any time before, and is taken to
// end there if its duration would not be over. Takes is what it takes of rows, by ascending row.
type Request struct {
	Chunk      Vector // nil: all that a slot has
	Nodes      int
	Duration   Time
	Candidates *Candidates
	Whole      bool
	ToEnd      bool
	Takes      []Take

	bounded bool
	until   Time // if bounded is set, the request need not fit from then on
	bundle  Time // if ToEnd is set: the end of the bundle in question; 0: each slot's own end counts
}
