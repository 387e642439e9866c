package matchmaker

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// sets are the candidates of all autoclusters, by a hash of each, while a Match is under way.
// Autoclusters with equal candidates share their memory: most accept the same slots, and 2,000 lists of
// 100,000 slots each would take 800 MB.
type sets map[uint64]backfill.Candidates

// keep adds the candidates that an autocluster has.
func (s sets) keep(c *autocluster) {
	if !none(c.candidates) {
		s[c.hash] = c.candidates
	}
}

// share returns equal candidates that are kept, or a copy that is kept from now on, and their hash. Two
// that differ and have the same hash share nothing.
func (s sets) share(found backfill.Candidates) (backfill.Candidates, uint64) {
	if none(found) {
		return backfill.Candidates{}, 0
	}
	h := hashWindows(hash(hash(hash(0, found.Slots), found.Bundles), found.Rank), found.Windows)
	h = hashLeast(h, found.Least)
	kept, known := s[h]
	if known && equal(kept, found) {
		return kept, h
	}
	found.Slots, found.Bundles = slices.Clone(found.Slots), slices.Clone(found.Bundles)
	found.Windows, found.Least = slices.Clone(found.Windows), slices.Clone(found.Least)
	if !known {
		s[h] = found
	}
	return found, h
}

func none(c backfill.Candidates) bool { return len(c.Slots)+len(c.Bundles) == 0 }

// hash continues a hash with the length and the numbers of a list.
func hash[T ~int32](h uint64, list []T) uint64 {
	const odd = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio spreads small numbers
	h = (h ^ uint64(len(list))) * odd
	for _, v := range list {
		h = (h ^ h>>32 ^ uint64(uint32(v))) * odd
	}
	return h
}

// hashWindows continues a hash with windows.
func hashWindows(h uint64, all [][]backfill.Window) uint64 {
	var one [2]int32
	for _, windows := range all {
		for _, w := range windows {
			one[0], one[1] = int32(w.From), int32(w.To) //nolint:gosec // a hash may lose something
			h = hash(h, one[:])
		}
	}
	return h
}

// hashLeast continues a hash with what must be free.
func hashLeast(h uint64, all []backfill.Vector) uint64 {
	var one [1]int32
	for _, least := range all {
		for _, n := range least {
			one[0] = int32(n) //nolint:gosec // a hash may lose something
			h = hash(h, one[:])
		}
	}
	return h
}

func equal(a, b backfill.Candidates) bool {
	return same(a.Slots, b.Slots) && same(a.Bundles, b.Bundles) && same(a.Rank, b.Rank) &&
		slices.EqualFunc(a.Windows, b.Windows, same[backfill.Window]) &&
		slices.EqualFunc(a.Least, b.Least, func(a, b backfill.Vector) bool { return same(a, b) })
}

// same reports whether two lists are equal. It need not compare a list with itself.
func same[T comparable](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}
