package metrics_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

const week = 7 * 24 * 3600

func TestWeeks(t *testing.T) {
	require.Empty(t, metrics.ComputeWeeks(nil))
	job := func(submit, wait, run int64) metrics.Job {
		return metrics.Job{Submit: submit, Start: submit + wait, Run: run, Estimate: 2 * run, Procs: 1}
	}
	require.Equal(t, metrics.Weeks{
		{Week: 0, Jobs: 2, Wait: 30, Uwait: 1.5, Response: 50, Slowdown: 5, BoundedSlowdown: 5},
		{Week: 3, Jobs: 1, Wait: 5, Uwait: 1.25, Response: 7, Slowdown: 3.5, BoundedSlowdown: 1},
	}, metrics.ComputeWeeks([]metrics.Job{job(70, 10, 10), job(69+week, 20, 10), job(70+3*week, 5, 2)}))
}

// The sums of the weeks make up the means of the metrics.
func TestWeeksMakeUpTheMeans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		submit := int64(0)
		jobs := make([]metrics.Job, rapid.IntRange(1, 60).Draw(t, "jobs"))
		for i := range jobs {
			submit += rapid.Int64Range(0, week).Draw(t, "gap")
			jobs[i] = metrics.Job{
				Submit: submit, Start: submit + rapid.Int64Range(0, 1e5).Draw(t, "wait"),
				Run: rapid.Int64Range(0, 1e5).Draw(t, "run"), Estimate: 1e5, Procs: 1,
			}
		}
		var all metrics.Week
		for _, w := range metrics.ComputeWeeks(jobs) {
			all.Jobs += w.Jobs
			all.Wait += w.Wait
			all.BoundedSlowdown += w.BoundedSlowdown
		}
		m := metrics.Compute(metrics.Machine{Processors: 1 << 20}, jobs)
		require.EqualValues(t, len(jobs), all.Jobs)
		require.InEpsilon(t, 1+m.MeanWait, 1+all.Wait/float64(all.Jobs), 1e-9)
		require.InEpsilon(t, m.MeanBoundedSlowdown, all.BoundedSlowdown/float64(all.Jobs), 1e-9)
	})
}

// The numbers of these examples were worked out by hand.
func TestHalfWidth(t *testing.T) {
	// The mean is 5, the squares are 9 + 1 + 1 + 9, and Student's t of 3 degrees of freedom is
	// 3.182446.
	half, ok := metrics.HalfWidth([]float64{2, 4, 6, 8})
	require.True(t, ok)
	require.InDelta(t, 3.182446*math.Sqrt(20.0/12), half, 1e-5)

	// 10 jobs wait for 40 s. Off the mean of 4 s are −4, 0, 6 and −2 s; the squares are 56.
	weeks := metrics.Weeks{{Jobs: 2, Wait: 4}, {Jobs: 3, Wait: 12}, {Jobs: 1, Wait: 10}, {Jobs: 4, Wait: 14}}
	half, ok = weeks.HalfWidth("mean_wait")
	require.True(t, ok)
	require.InDelta(t, 3.182446*math.Sqrt(4.0/3*56)/10, half, 1e-5)

	half, ok = metrics.HalfWidth([]float64{7, 7, 7, 7})
	require.True(t, ok)
	require.Zero(t, half)
	for _, of := range []struct {
		weeks metrics.Weeks
		mean  string
	}{{nil, "mean_wait"}, {weeks[:3], "mean_wait"}, {weeks, "p95_wait"}, {make(metrics.Weeks, 4), "mean_wait"}} {
		_, ok = of.weeks.HalfWidth(of.mean)
		require.False(t, ok, "%v", of)
	}
}

// Many weeks are put together: 60 that go up and down make 30 batches that are all alike.
func TestLongTracesHaveLongerBatches(t *testing.T) {
	var weeks metrics.Weeks
	for i := range int64(60) {
		weeks = append(weeks, metrics.Week{Week: i, Jobs: 1, Wait: float64(i % 2)})
	}
	half, ok := weeks.HalfWidth("mean_wait")
	require.True(t, ok)
	require.Zero(t, half)
	half, ok = weeks[:30].HalfWidth("mean_wait")
	require.True(t, ok)
	require.Positive(t, half)
}

func TestPooled(t *testing.T) {
	require.Equal(t, metrics.Weeks{
		{Week: 0, Jobs: 3, Wait: 30, Uwait: 3, Response: 33, Slowdown: 4, BoundedSlowdown: 5},
		{Week: 2, Jobs: 1, Wait: 5},
		{Week: 5, Jobs: 1},
	}, metrics.Pooled(
		metrics.Weeks{{Week: 0, Jobs: 1, Wait: 10, Uwait: 1, Response: 11, Slowdown: 2, BoundedSlowdown: 2}, {Week: 5, Jobs: 1}},
		metrics.Weeks{{Week: 0, Jobs: 2, Wait: 20, Uwait: 2, Response: 22, Slowdown: 2, BoundedSlowdown: 3}, {Week: 2, Jobs: 1, Wait: 5}},
	))
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
			if half, _ := metrics.HalfWidth(values); math.Abs(sum/float64(batches)-mean) <= half {
				bySeed++
			}
			if half, _ := weeks.HalfWidth("mean_wait"); math.Abs(waited/jobs-mean) <= half {
				byWeek++
			}
		}
		require.InDelta(t, 0.95, float64(bySeed)/tries, 0.012, "%d seeds", batches)
		require.InDelta(t, 0.95, float64(byWeek)/tries, 0.015, "%d weeks", batches)
	}
}
