package metrics_test

import (
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
