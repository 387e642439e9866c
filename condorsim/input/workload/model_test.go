package workload

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestHead compares the popular estimates with what the paper says.
func TestHead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		longest := rapid.Int64Range(hour, 1000*hour).Draw(t, "longest")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		ranks := headRanks(random)
		require.Equal(t, 1, ranks[0])
		slices.Sort(ranks)
		for i, rank := range ranks {
			require.Equal(t, i+1, rank, "each rank once")
		}
		shares := headShares(longest, random)
		require.LessOrEqual(t, len(shares), headSize)
		require.Equal(t, longest, shares[0].seconds)
		sum := 0.0
		for i, s := range shares {
			sum += s.percent
			require.Positive(t, s.seconds)
			if i > 0 {
				require.Less(t, s.seconds, longest)
				require.Less(t, s.percent, shares[0].percent, "the longest is the most popular one")
			}
			require.True(t, i < 2 || shares[i-1].seconds < s.seconds)
		}
		require.InDelta(t, headShare, sum, 1e-9)
		if longest >= 18*hour {
			require.Len(t, shares, headSize)
			for _, seconds := range popular() {
				require.True(t, slices.ContainsFunc(shares, func(s share) bool { return s.seconds == seconds }))
			}
		}
	})
}

func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := rapid.IntRange(1, 300_000).Draw(t, "jobs")
		longest := rapid.Int64Range(hour, 1000*hour).Draw(t, "longest")
		shares := estimateShares(jobs, longest, rand.New(rand.NewPCG(1, 1)))
		for i := 1; i < len(shares); i++ {
			require.Less(t, shares[i-1].seconds, shares[i].seconds)
		}
		estimates := apportion(shares, jobs)
		require.Len(t, estimates, jobs)
		require.True(t, slices.IsSortedFunc(estimates, func(a, b int64) int { return int(b - a) }), "the longest first")
		require.LessOrEqual(t, len(shares), max(headSize, distinctEstimates(jobs)))
	})
}

func TestDistinctEstimates(t *testing.T) {
	for jobs, want := range map[int]int{
		0: 0, 10: 5, 20: 10, 110: 15, 1000: 35, 5500: 63, 70_000: 340, 250_000: 565,
		9_000_000: 565,
	} {
		require.Equal(t, want, distinctEstimates(jobs), jobs)
	}
}
