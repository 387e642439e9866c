package auto

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func gains(gain float64) func(int) (float64, bool) {
	return func(int) (float64, bool) { return gain, true }
}

// TestScores: periods count by the ratios of their values, the last ones most, beside two in which all
// did alike, which fade.
func TestScores(t *testing.T) {
	s := newScores(3)
	require.Equal(t, 0, s.best(0, false, gains(baseGain)))
	require.True(t, s.add([]float64{4, 2, 8}, 1))
	require.InDeltaSlice(t, []float64{0, -math.Ln2 / 2.8, math.Ln2 / 2.8}, s.means(), 1e-12)
	require.Equal(t, "b 0.781, a 1, c 1.28", s.text([]string{"a", "b", "c"}))
	require.Equal(t, 1, s.best(0, false, gains(baseGain)))
	require.Equal(t, 0, s.best(0, false, func(i int) (float64, bool) { return baseGain, i != 1 }), "it may not")
	require.Equal(t, 0, s.best(0, false, gains(0.22)), "it is not that much better")
	require.True(t, s.add([]float64{1, 1000, math.Inf(1)}, 1))
	require.InDeltaSlice(t, []float64{0, 1 - discount*math.Ln2, discount * math.Ln2}, s.sums, 1e-12,
		"one period counts so much at most")
	require.InDelta(t, 2*0.81+1.9, s.periods, 1e-12)
	require.True(t, s.add([]float64{-1, -2, -1}, 1))
	require.Less(t, s.sums[1], discount*(1-discount*math.Ln2), "the less, the better")
	before := s.means()
	require.False(t, s.add([]float64{1, -1, 1}, 1))
	require.Equal(t, before, s.means())
	require.True(t, s.add([]float64{0, 0, 0}, 1))
	s = scores{sums: []float64{0.04, 0.03, 0}, periods: 1}
	require.Equal(t, 0, s.best(0, false, gains(baseGain)), "not by the gain")
	require.Equal(t, 2, s.best(0, false, gains(0)), "the best of those that are better")
}

// TestScoresWithoutTheFirst: if the first candidate is left out, the others are compared all the same.
func TestScoresWithoutTheFirst(t *testing.T) {
	s := newScores(3)
	require.True(t, s.add([]float64{math.Inf(1), 10, 5}, 1))
	require.InDeltaSlice(t, []float64{0, 0, -math.Ln2}, s.sums, 1e-12)
	require.True(t, s.add([]float64{math.Inf(1), -5, -10}, 1))
	require.Less(t, s.sums[2], -1.3)
	require.Zero(t, s.sums[1])
}

// TestScoresOfZero: nothing is better than zero, or worse if all others are below; it has no sign.
func TestScoresOfZero(t *testing.T) {
	s := newScores(3)
	require.True(t, s.add([]float64{3, 0, 2}, 1))
	require.InDeltaSlice(t, []float64{0, -1, math.Log(2.0 / 3)}, s.sums, 1e-12)
	s = newScores(3)
	require.True(t, s.add([]float64{0, 3, 0}, 1))
	require.InDeltaSlice(t, []float64{0, 1, 0}, s.sums, 1e-12)
	s = newScores(2)
	require.True(t, s.add([]float64{0, -3}, 1))
	require.InDeltaSlice(t, []float64{0, -1}, s.sums, 1e-12)
}

// TestScoresReachTheirLimit: what lasts counts for all that it is in the end, and a part of a period for its part.
func TestScoresReachTheirLimit(t *testing.T) {
	s, parts := newScores(2), newScores(2)
	for range 100 {
		require.True(t, s.add([]float64{1, 0.45}, 1))
		require.True(t, parts.add([]float64{1, 0.45}, 0.25))
	}
	require.InDelta(t, math.Log(0.45), s.means()[1], 1e-3)
	require.InDelta(t, math.Log(0.45), parts.means()[1], 1e-3)
	require.Equal(t, 1, s.best(0, false, gains(0.5)), "a lift of half is reached")
	s, parts = newScores(2), newScores(2)
	require.True(t, s.add([]float64{1, 0.45}, 1))
	require.True(t, parts.add([]float64{1, 0.45}, 0.25))
	require.Less(t, s.means()[1], parts.means()[1])
}

// TestAFailedBaseYields: the best of the others is the base then, however the one that failed did before.
func TestAFailedBaseYields(t *testing.T) {
	s := scores{sums: []float64{-1, 0.5, 0.2}, periods: 1}
	require.Equal(t, 0, s.best(0, false, gains(baseGain)))
	require.Equal(t, 2, s.best(0, true, gains(baseGain)))
	require.Equal(t, 0, s.best(0, true, func(int) (float64, bool) { return 0, false }), "no other may be")
}
