package metrics_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

const week = 7 * 24 * 3600

func TestWeeks(t *testing.T) {
	require.Empty(t, metrics.ComputeWeeks(nil))
	job := func(submit, wait, run int64) metrics.Job {
		return metrics.Job{Submit: submit, Start: submit + wait, Run: run, Estimate: 2 * run, Procs: 2}
	}
	require.Equal(t, metrics.Weeks{
		{
			Week: 0, Jobs: 2, Wait: 30, Uwait: 1.5, Response: 50, Slowdown: 5, BoundedSlowdown: 5,
			Area: 40, AreaWait: 600, AreaResponse: 1000, Processors: 4, ProcessorBoundedSlowdown: 10,
		},
		{
			Week: 3, Jobs: 1, Wait: 5, Uwait: 1.25, Response: 7, Slowdown: 3.5, BoundedSlowdown: 1,
			Area: 4, AreaWait: 20, AreaResponse: 28, Processors: 2, ProcessorBoundedSlowdown: 2,
		},
	}, metrics.ComputeWeeks([]metrics.Job{job(70, 10, 10), job(69+week, 20, 10), job(70+3*week, 5, 2)}))
}

// The sums of the weeks make up the means of the metrics.
func TestWeeksMakeUpTheMeans(t *testing.T) {
	names := []string{
		"mean_wait", "mean_uwait", "mean_response", "mean_slowdown", "mean_bounded_slowdown", "area_weighted_wait",
		"area_weighted_response", "processor_bounded_slowdown",
	}
	rapid.Check(t, func(t *rapid.T) {
		jobs := anySchedule(t, false)
		whole := metrics.Compute(metrics.Machine{Processors: 1 << 30}, jobs)
		values, met := maps.Collect(whole.All()), 0
		weeks := metrics.ComputeWeeks(jobs)
		for _, name := range names {
			var sum, size float64
			for i := range weeks {
				one, weight, known := weeks[i].Sum(name)
				require.True(t, known)
				sum, size, met = sum+one, size+weight, met+1
			}
			if size > 0 {
				sum /= size
			}
			require.InEpsilon(t, 1+values[name], 1+sum, 1e-9, name)
		}
		require.Positive(t, met)
	})
	_, _, known := new(metrics.Week).Sum("median_wait")
	require.False(t, known)
}

func TestPooled(t *testing.T) {
	require.Equal(t, metrics.Weeks{
		{Week: 0, Jobs: 3, Wait: 30, Uwait: 3, Response: 33, Slowdown: 4, BoundedSlowdown: 5, Area: 7, Processors: 2},
		{Week: 2, Jobs: 1, Wait: 5},
		{Week: 5, Jobs: 1},
	}, metrics.Pooled(
		metrics.Weeks{{Week: 0, Jobs: 1, Wait: 10, Uwait: 1, Response: 11, Slowdown: 2, BoundedSlowdown: 2, Area: 3, Processors: 1}, {Week: 5, Jobs: 1}},
		metrics.Weeks{{Week: 0, Jobs: 2, Wait: 20, Uwait: 2, Response: 22, Slowdown: 2, BoundedSlowdown: 3, Area: 4, Processors: 1}, {Week: 2, Jobs: 1, Wait: 5}},
	))
}
