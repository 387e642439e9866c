package intervals_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/intervals"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

func TestBatchesOfJobs(t *testing.T) {
	batches, count := intervals.Batches([]int64{0, 0, 3, 4, 4, 9})
	require.Equal(t, []int{0, 0, 1, 2, 2, 3}, batches)
	require.Equal(t, 4, count)
	weeks := make([]int64, 62)
	for i := range weeks {
		weeks[i] = int64(i)
	}
	batches, count = intervals.Batches(weeks)
	require.Equal(t, 21, count, "three weeks each, as more than 60 make no more than 30 batches")
	require.Equal(t, []int{0, 0, 0, 1}, batches[:4])
	batches, count = intervals.Batches(nil)
	require.Empty(t, batches)
	require.Zero(t, count)
}

// Of the mean of equal batches it is the interval of their means.
func TestMeansWithoutEachBatch(t *testing.T) {
	values := []float64{2, 4, 6, 8, 30}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	without := make([]float64, len(values))
	for i, v := range values {
		without[i] = (sum - v) / 4
	}
	want, ok := intervals.OfValues(values)
	require.True(t, ok)
	half, ok := intervals.OfLeftOut(without)
	require.True(t, ok)
	require.InDelta(t, want, half, 1e-12)
	_, ok = intervals.OfLeftOut(without[:3])
	require.False(t, ok)
	_, ok = intervals.OfLeftOut(nil)
	require.False(t, ok)
	half, ok = intervals.OfLeftOut([]float64{7, 7, 7, 7})
	require.True(t, ok)
	require.Zero(t, half)
}

// Of percentiles more than 90 % of the intervals have the true one in them, where each batch has jobs
// above it; where few have any, they are too narrow.
func TestTheCoverageOfPercentiles(t *testing.T) {
	const tries, k = 400, 12
	for _, sample := range []struct{ p, jobs int }{{50, 30}, {90, 80}, {99, 700}} {
		random := rand.New(rand.NewPCG(uint64(sample.p), 5))
		truth, covered := -100*math.Log(1-float64(sample.p)/100), 0
		for range tries {
			type value struct {
				v     float64
				batch int
			}
			all := make([]value, k*sample.jobs)
			for i := range all {
				all[i] = value{100 * random.ExpFloat64(), i % k}
			}
			slices.SortFunc(all, func(a, b value) int { return cmp.Compare(a.v, b.v) })
			percentile := func(left int) float64 {
				var values []float64
				for _, one := range all {
					if one.batch != left {
						values = append(values, one.v)
					}
				}
				return metrics.Percentile(values, sample.p)
			}
			without := make([]float64, k)
			for i := range without {
				without[i] = percentile(i)
			}
			if half, _ := intervals.OfLeftOut(without); math.Abs(percentile(-1)-truth) <= half {
				covered++
			}
		}
		require.InDelta(t, 0.94, float64(covered)/tries, 0.035, "%d %%", sample.p)
	}
}
