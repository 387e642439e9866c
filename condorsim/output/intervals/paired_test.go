package intervals_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/condorsim/output/intervals"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

// The numbers were worked out by hand; Student's t of 3 degrees of freedom is 3.182446.
func TestPairedDifferences(t *testing.T) {
	// The differences are 1, 2, 3 and 6; off their mean of 3 are −2, −1, 0 and 3, the squares are 14.
	d, ok := intervals.OfPairedValues([]float64{11, 22, 33, 46}, []float64{10, 20, 30, 40})
	require.True(t, ok)
	require.Equal(t, intervals.Difference{Mean: 3, Half: d.Half, Pairs: 4, Sample: intervals.Seeds}, d)
	require.InDelta(t, 3.182446*math.Sqrt(14.0/12), d.Half, 1e-5)

	// The same jobs: 10 of them wait 10 s longer in all. Off the mean of 1 s are 0, −3, 1 and 2; 14 again.
	own := metrics.Weeks{
		{Week: 0, Jobs: 2, Wait: 6},
		{Week: 2, Jobs: 3, Wait: 12},
		{Week: 3, Jobs: 1, Wait: 12},
		{Week: 5, Jobs: 4, Wait: 20},
	}
	other := metrics.Weeks{
		{Week: 0, Jobs: 2, Wait: 4},
		{Week: 2, Jobs: 3, Wait: 12},
		{Week: 3, Jobs: 1, Wait: 10},
		{Week: 5, Jobs: 4, Wait: 14},
	}
	d, ok = intervals.OfPairedWeeks(own, other, "mean_wait")
	require.True(t, ok)
	require.InDelta(t, 1, d.Mean, 1e-12)
	require.InDelta(t, 3.182446*math.Sqrt(4.0/3*14)/10, d.Half, 1e-5)
	require.Equal(t, 4, d.Pairs)
	require.Equal(t, intervals.Weeks, d.Sample)

	// Another schedule ran no job of week 5 and one more of week 2: the means are 5 and 29/7 s.
	fewer := metrics.Weeks{{Week: 0, Jobs: 2, Wait: 4}, {Week: 2, Jobs: 4, Wait: 15}, {Week: 3, Jobs: 1, Wait: 10}}
	d, ok = intervals.OfPairedWeeks(own, fewer, "mean_wait")
	require.True(t, ok)
	squares := 0.0
	for _, part := range []float64{-4.0/10 - (4-2*29.0/7)/7, -3.0/10 - (15-4*29.0/7)/7, 7.0/10 - (10-29.0/7)/7} {
		squares += part * part
	}
	require.InDelta(t, 5-29.0/7, d.Mean, 1e-12)
	require.InDelta(t, 3.182446*math.Sqrt(4.0/3*squares), d.Half, 1e-5)

	_, ok = intervals.OfPairedValues([]float64{1, 2, 3}, []float64{1, 2, 3})
	require.False(t, ok, "three seeds are too few")
	for _, weeks := range [][2]metrics.Weeks{{own[:3], other[:3]}, {own, nil}, {nil, nil}, {make(metrics.Weeks, 4), own}} {
		_, ok = intervals.OfPairedWeeks(weeks[0], weeks[1], "mean_wait")
		require.False(t, ok, "%v", weeks)
	}
	_, ok = intervals.OfPairedWeeks(own, other, "p95_wait")
	require.False(t, ok, "weeks have no percentiles")
}

// Where weeks differ much more than policies do, both means are uncertain and their difference is not.
func TestPairedIntervalsTellApartWhatOverlaps(t *testing.T) {
	var slack, easy metrics.Weeks
	for i, wait := range []float64{1000, 9000, 3000, 50_000, 200, 20_000} {
		easy = append(easy, metrics.Week{Week: int64(i), Jobs: 10, Wait: 10 * wait})
		slack = append(slack, metrics.Week{Week: int64(i), Jobs: 10, Wait: 10 * (wait - 100 - float64(i))})
	}
	ofSlack, _ := intervals.OfMean(slack, "mean_wait")
	ofEasy, _ := intervals.OfMean(easy, "mean_wait")
	d, ok := intervals.OfPairedWeeks(slack, easy, "mean_wait")
	require.True(t, ok)
	require.Less(t, math.Abs(d.Mean), ofSlack+ofEasy, "the intervals of the means overlap")
	require.InDelta(t, -102.5, d.Mean, 1e-9)
	require.Less(t, d.Half, 2.0)
	require.True(t, d.Sure())
}

// Which of two comes first changes the sign, and nothing else; what both have in common adds nothing.
func TestDifferencesAreAntisymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Float64Range(0, 1e6)
		draw := func(label string) metrics.Weeks {
			var weeks metrics.Weeks
			for _, jobs := range rapid.SliceOfN(rapid.Int64Range(0, 50), 0, 70).Draw(t, label) {
				if jobs > 0 { // weeks without jobs are left out
					weeks = append(weeks, metrics.Week{Week: int64(len(weeks)) * 2, Jobs: jobs, Wait: number.Draw(t, "wait")})
				}
			}
			return weeks
		}
		a, b := draw("a"), draw("b")
		if rapid.Bool().Draw(t, "the same jobs") {
			b = append(metrics.Weeks(nil), a...)
			for i := range b {
				b[i].Wait = number.Draw(t, "other wait")
			}
		}
		there, ok := intervals.OfPairedWeeks(a, b, "mean_wait")
		back, too := intervals.OfPairedWeeks(b, a, "mean_wait")
		antisymmetric(t, there, back, ok, too)
		same, ok := intervals.OfPairedWeeks(a, a, "mean_wait")
		require.Zero(t, same.Mean)
		require.Zero(t, same.Half)
		require.False(t, same.Sure())
		require.Equal(t, len(a) >= 4, ok)

		own := rapid.SliceOfN(number, 0, 12).Draw(t, "own")
		other := rapid.SliceOfN(number, len(own), len(own)).Draw(t, "other")
		there, ok = intervals.OfPairedValues(own, other)
		back, too = intervals.OfPairedValues(other, own)
		antisymmetric(t, there, back, ok, too)
	})
}

func antisymmetric(t *rapid.T, there, back intervals.Difference, ok, too bool) {
	require.Equal(t, ok, too)
	if !ok {
		return
	}
	require.InDelta(t, there.Mean, -back.Mean, 0)
	require.InDelta(t, there.Half, back.Half, 0)
	require.Equal(t, there.Pairs, back.Pairs)
	require.GreaterOrEqual(t, there.Half, 0.0)
}
