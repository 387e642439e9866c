package intervals_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/intervals"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

// The numbers of these examples were worked out by hand.
func TestHalfWidth(t *testing.T) {
	// The mean is 5, the squares are 9 + 1 + 1 + 9, and Student's t of 3 degrees of freedom is
	// 3.182446.
	half, ok := intervals.OfValues([]float64{2, 4, 6, 8})
	require.True(t, ok)
	require.InDelta(t, 3.182446*math.Sqrt(20.0/12), half, 1e-5)

	// 10 jobs wait for 40 s. Off the mean of 4 s are −4, 0, 6 and −2 s; the squares are 56.
	weeks := metrics.Weeks{{Jobs: 2, Wait: 4}, {Jobs: 3, Wait: 12}, {Jobs: 1, Wait: 10}, {Jobs: 4, Wait: 14}}
	half, ok = intervals.OfMean(weeks, "mean_wait")
	require.True(t, ok)
	require.InDelta(t, 3.182446*math.Sqrt(4.0/3*56)/10, half, 1e-5)

	half, ok = intervals.OfValues([]float64{7, 7, 7, 7})
	require.True(t, ok)
	require.Zero(t, half)
	for _, sample := range []struct {
		weeks metrics.Weeks
		mean  string
	}{{nil, "mean_wait"}, {weeks[:3], "mean_wait"}, {weeks, "p95_wait"}, {make(metrics.Weeks, 4), "mean_wait"}} {
		_, ok = intervals.OfMean(sample.weeks, sample.mean)
		require.False(t, ok, "%v", sample)
	}
}

// Many weeks are put together: 60 that go up and down make 30 batches that are all alike.
func TestLongTracesHaveLongerBatches(t *testing.T) {
	var weeks metrics.Weeks
	for i := range int64(60) {
		weeks = append(weeks, metrics.Week{Week: i, Jobs: 1, Wait: float64(i % 2)})
	}
	half, ok := intervals.OfMean(weeks, "mean_wait")
	require.True(t, ok)
	require.Zero(t, half)
	half, ok = intervals.OfMean(weeks[:30], "mean_wait")
	require.True(t, ok)
	require.Positive(t, half)
}

// Of independent draws, 95 % of the intervals have the true mean in them, whether they are of seeds
// or of weeks with different numbers of jobs.
func TestTheCoverageOfIntervals(t *testing.T) {
	const tries, mean = 4000, 100.0
	for _, batches := range []int{4, 8, 20, 29} {
		random := rand.New(rand.NewPCG(uint64(batches), 11))
		draw := func() float64 { return mean + 30*random.NormFloat64() }
		bySeed, byWeek := 0, 0
		for range tries {
			values, sum := make([]float64, batches), 0.0
			weeks, jobs, waited := make(metrics.Weeks, batches), 0.0, 0.0
			for i := range batches {
				values[i] = draw()
				sum += values[i]
				weeks[i] = metrics.Week{Week: int64(i), Jobs: 20 + random.Int64N(20)}
				for range weeks[i].Jobs {
					weeks[i].Wait += draw()
				}
				jobs, waited = jobs+float64(weeks[i].Jobs), waited+weeks[i].Wait
			}
			if half, _ := intervals.OfValues(values); math.Abs(sum/float64(batches)-mean) <= half {
				bySeed++
			}
			if half, _ := intervals.OfMean(weeks, "mean_wait"); math.Abs(waited/jobs-mean) <= half {
				byWeek++
			}
		}
		require.InDelta(t, 0.95, float64(bySeed)/tries, 0.012, "%d seeds", batches)
		require.InDelta(t, 0.95, float64(byWeek)/tries, 0.015, "%d weeks", batches)
	}
}

// A weighted mean is over what the jobs count as; older results do not say it, and give no interval.
func TestOfAWeightedMean(t *testing.T) {
	var weeks, plain metrics.Weeks
	for i, x := range []float64{4, 12, 10, 14, 3} {
		size := float64(1 + i%3)
		weeks = append(weeks, metrics.Week{
			Week: int64(i), Jobs: 7, Area: size, AreaWait: x, AreaResponse: x, Processors: size, ProcessorBoundedSlowdown: x,
		})
		plain = append(plain, metrics.Week{Week: int64(i), Jobs: int64(size), Wait: x})
	}
	want, ok := intervals.OfMean(plain, "mean_wait")
	require.True(t, ok)
	for _, name := range []string{"area_weighted_wait", "area_weighted_response", "processor_bounded_slowdown"} {
		half, known := intervals.OfMean(weeks, name)
		require.True(t, known)
		require.InDelta(t, want, half, 1e-12)
		_, known = intervals.OfMean(plain, name)
		require.False(t, known, name)
		_, known = intervals.OfPairedWeeks(plain, plain, name)
		require.False(t, known, name)
		d, paired := intervals.OfPairedWeeks(weeks, weeks, name)
		require.True(t, paired)
		require.Zero(t, d.Mean)
		require.Zero(t, d.Half)
	}
}
