package accountant

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestAllowance: whoever has taken nothing may take something, while no more than most is taken in
// all, however many take all that they may.
func TestAllowance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most, all := rapid.IntRange(1000, 1_000_000).Draw(t, "most"), 0
		require.Equal(t, most/4, Allowance(most, 0, 0))
		for range rapid.IntRange(0, 12).Draw(t, "others") {
			own := Allowance(most, all, 0)
			require.Positive(t, own)
			all += own
			require.Equal(t, own, Allowance(most, all, own), "he has taken it")
		}
		require.LessOrEqual(t, all, most)
		require.Positive(t, Allowance(most, all, 0))
	})
}
