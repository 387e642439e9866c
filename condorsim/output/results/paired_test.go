package results

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/intervals"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

// weekly is a cell of one job in each week, whose waits these are.
func weekly(trace, scheduler string, seed uint64, waits ...float64) Cell {
	c := Cell{
		Key:     Key{Trace: trace, Scheduler: scheduler, Load: 1, EstimateModel: "given", Seed: seed},
		Metrics: map[string]float64{},
	}
	sum := 0.0
	for i, wait := range waits {
		c.Weeks = append(c.Weeks, metrics.Week{Week: int64(i), Jobs: 1, Wait: wait})
		sum += wait
	}
	c.Metrics["mean_wait"], c.Metrics["longest_wait"] = sum/float64(len(waits)), sum
	return c
}

// ofWaits keeps the comparisons of mean waits.
func ofWaits(all []Comparison) (waits []Comparison) {
	for _, c := range all {
		if c.Measure == "mean_wait" {
			waits = append(waits, c)
		}
	}
	return waits
}

// One run of each is paired by weeks, against the baseline or by the best.
func TestComparisonsByWeeks(t *testing.T) {
	f := &Folder{Cells: []Cell{
		weekly("a", "easy", 0, 10, 200, 30, 40), weekly("a", "slack", 0, 8, 198, 28, 38), weekly("a", "fcfs", 0, 11, 201, 31, 41),
		weekly("b", "slack", 0, 1, 2, 3, 4), // its baseline is not finished
		weekly("c", "easy", 0, 1, 2, 3), weekly("c", "slack", 0, 1, 2, 2),
	}}
	one := func(scheduler, against string, difference float64) Comparison {
		return Comparison{
			Trace: "a", Load: 1, EstimateModel: "given", Measure: "mean_wait", Scheduler: scheduler, Against: against,
			Difference: difference, Pairs: 4, Sample: intervals.Weeks,
		}
	}
	require.Equal(t, []Comparison{one("slack", "easy", -2), one("fcfs", "easy", 1)}, ofWaits(Comparisons(f, "easy")))
	require.Equal(t, []Comparison{one("slack", "easy", -2), one("slack", "fcfs", -3)}, ofWaits(Comparisons(f, "")))
	require.Empty(t, Comparisons(f, "absent"))
	require.NotNil(t, Comparisons(f, "absent"), "JSON has a list")
}

// Several runs are paired by seeds, if these differ and are enough, and only with the same seed.
func TestComparisonsBySeeds(t *testing.T) {
	var easy, slack []Cell
	for seed := range uint64(5) {
		wait := 1000 * float64(seed*seed)
		easy = append(easy, weekly("a", "easy", seed, wait, wait, wait, wait))
		slack = append([]Cell{weekly("a", "slack", seed, wait-7, wait-7, wait-7, wait-7)}, slack...)
	}
	d, ok := Pair(slack, easy, "mean_wait")
	require.True(t, ok)
	require.Equal(t, intervals.Difference{Mean: -7, Pairs: 5, Sample: intervals.Seeds}, d)
	d, ok = Pair(slack, easy, "longest_wait")
	require.True(t, ok, "seeds do for measures that weeks have no sums of")
	require.InDelta(t, -28, d.Mean, 1e-9)
	d, ok = Pair(slack[:4], easy[:4], "mean_wait")
	require.True(t, ok, "three seeds are in both")
	require.Equal(t, intervals.Difference{Mean: -7, Pairs: 4, Sample: intervals.Weeks}, d)
	_, ok = Pair(slack[:4], easy[:4], "longest_wait")
	require.False(t, ok)
	_, ok = Pair(slack[:2], easy[:2], "mean_wait")
	require.False(t, ok, "no seed is in both")
	for i := range easy {
		easy[i].Metrics, slack[i].Metrics = easy[4].Metrics, slack[4].Metrics
	}
	d, ok = Pair(slack, easy, "mean_wait")
	require.True(t, ok)
	require.Equal(t, intervals.Weeks, d.Sample, "the seeds make no difference")
}
