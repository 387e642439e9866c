package metrics

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSorted(t *testing.T) {
	number := rapid.OneOf(rapid.Float64(), rapid.Map(rapid.IntRange(-9, 1e6), func(i int) float64 { return float64(i) }))
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(number).Draw(t, "values")
		for i := range values {
			values[i] += 0 // not -0, which equals 0 and would be before it
		}
		got := sorted(slices.Clone(values))
		slices.Sort(values)
		require.Equal(t, values, got)
	})
}
