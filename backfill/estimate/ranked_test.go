package estimate

import (
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestRanked compares ranked with a sorted slice while it grows and shrinks by many blocks.
func TestRanked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all ranked
		var sorted, inOrder []ratio
		placeOf := func(r ratio) int {
			return sort.Search(len(sorted), func(i int) bool { return !sorted[i].less(r) })
		}
		values := rapid.Uint64Range(1, rapid.SampledFrom([]uint64{2, 30, 1 << 40}).Draw(t, "longest"))
		for _, grows := range rapid.SliceOfN(rapid.IntRange(-3*blockSize, 4*blockSize), 1, 5).Draw(t, "steps") {
			for ; grows > 0; grows-- {
				requested := values.Draw(t, "requested")
				r := ratio{ran: min(values.Draw(t, "ran"), requested), requested: requested}
				all.add(r)
				i := placeOf(r)
				sorted, inOrder = slices.Insert(sorted, i, r), append(inOrder, r)
			}
			for ; grows < 0 && len(inOrder) > 0; grows++ {
				i := placeOf(inOrder[0])
				all.remove(inOrder[0])
				sorted, inOrder = slices.Delete(sorted, i, i+1), inOrder[1:]
			}
			require.Equal(t, len(sorted), all.count)
			for i, want := range sorted {
				got := all.at(i)
				require.False(t, want.less(got) || got.less(want), "%v for %v", got, want)
			}
			for i, block := range all.blocks {
				require.True(t, 0 < len(block) && len(block) <= blockSize)
				require.True(t, i == 0 || len(all.blocks[i-1])+len(block) > blockSize/2, "small neighbours")
			}
		}
	})
}
