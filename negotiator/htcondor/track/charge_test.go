package track

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A tally counts as a map does, and keeps the order in which things first came.
func TestTally(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var counts tally[int]
		want := map[int]int{}
		var order []int
		for _, thing := range rapid.SliceOf(rapid.IntRange(0, 3)).Draw(t, "things") {
			if want[thing] == 0 {
				order = append(order, thing)
			}
			want[thing]++
			counts.add(thing)
		}
		var came []int
		for thing, n := range counts.all {
			require.Equal(t, want[thing], n)
			came = append(came, thing)
		}
		require.Equal(t, order, came)
	})
}
