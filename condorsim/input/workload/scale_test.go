package workload_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// Jobs that ran 100 s: stated 1000 s, 150 s, nothing, and 40 s, which is too little.
const scaled = `; MaxProcs: 8
1 0 0 100 4 -1 -1 4 1000 -1 1 1 -1 -1 -1 -1 -1 -1
2 1 0 100 4 -1 -1 4  150 -1 1 1 -1 -1 -1 -1 -1 -1
3 2 0 100 4 -1 -1 4   -1 -1 1 1 -1 -1 -1 -1 -1 -1
4 3 0 100 4 -1 -1 4   40 -1 1 1 -1 -1 -1 -1 -1 -1
`

// Estimates are scaled as users stated them, and then the rule counts by which the trace was read.
func TestScaleEstimates(t *testing.T) {
	for _, c := range []struct {
		overrun         workload.Overrun
		factor          float64
		estimates, runs []int64
		raised, cut     int // of the result
	}{
		{workload.OverrunRaise, 1, []int64{1000, 150, 100, 100}, []int64{100, 100, 100, 100}, 1, 0},
		{workload.OverrunRaise, 0.5, []int64{500, 100, 100, 100}, []int64{100, 100, 100, 100}, 2, 0},
		{workload.OverrunRaise, 0.001, []int64{100, 100, 100, 100}, []int64{100, 100, 100, 100}, 3, 0},
		{workload.OverrunRaise, 2, []int64{2000, 300, 100, 100}, []int64{100, 100, 100, 100}, 1, 0},
		{workload.OverrunRaise, 3, []int64{3000, 450, 100, 120}, []int64{100, 100, 100, 100}, 0, 0},
		{workload.OverrunKill, 0.5, []int64{500, 75, 100, 20}, []int64{100, 75, 100, 20}, 0, 3},
		{workload.OverrunKill, 0.001, []int64{1, 1, 100, 1}, []int64{1, 1, 100, 1}, 0, 4},
		{workload.OverrunKill, 2, []int64{2000, 300, 100, 80}, []int64{100, 100, 100, 40}, 0, 1},
	} {
		read, err := workload.ReadSWF(strings.NewReader(scaled), "t.swf", workload.Options{Overrun: c.overrun})
		require.NoError(t, err)
		got, err := read.Transform(workload.Transform{EstimateScale: c.factor})
		require.NoError(t, err)
		var estimates, runs []int64
		for _, j := range got.Jobs {
			estimates, runs = append(estimates, j.Estimate), append(runs, j.Run)
		}
		require.Equal(t, c.estimates, estimates, "%v", c)
		require.Equal(t, c.runs, runs, "%v", c)
		require.Equal(t, c.raised, got.Cleaning.EstimateRaised, "%v", c)
		require.Equal(t, c.cut, got.Cleaning.RunCut, "%v", c)
		require.Equal(t, 1, got.Cleaning.EstimateUnknown, "%v", c)
		if c.factor != 1 {
			require.Equal(t, 3, got.Cleaning.EstimateScaled)
			require.Contains(t, got.Header.Text("Note"), "estimates ×")
		}
		for i, j := range read.Jobs { // as they were
			require.Equal(t, []int64{1000, 150, 100, max(40, j.Run)}[i], j.Estimate)
		}
	}
}

// A factor after another one is their product, whatever was raised in between, as long as none of them
// gets below a second and runs are not cut.
func TestScaleEstimatesTwice(t *testing.T) {
	read, err := workload.ReadSWF(strings.NewReader(scaled), "t.swf", workload.Options{})
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		a := 0.25 * float64(1+random.IntN(20))
		once, err := read.Transform(workload.Transform{EstimateScale: a * 8})
		require.NoError(t, err)
		first, err := read.Transform(workload.Transform{EstimateScale: a})
		require.NoError(t, err)
		twice, err := first.Transform(workload.Transform{EstimateScale: 8})
		require.NoError(t, err)
		for i := range once.Jobs {
			require.InDelta(t, once.Jobs[i].Estimate, twice.Jobs[i].Estimate, 4, "%v", a)
		}
	}
}

// What cannot be scaled is an error.
func TestScaleEstimatesErrors(t *testing.T) {
	const unstated = "; MaxProcs: 8\n3 2 0 100 4 -1 -1 4 -1 -1 1 1 -1 -1 -1 -1 -1 -1\n"
	read, err := workload.ReadSWF(strings.NewReader(unstated), "t.swf", workload.Options{})
	require.NoError(t, err)
	_, err = read.Transform(workload.Transform{EstimateScale: 0.5})
	require.ErrorContains(t, err, "no job states a run time, so there is nothing to scale")
	_, err = read.Transform(workload.Transform{EstimateScale: -1})
	require.ErrorContains(t, err, "scale-estimates: -1: must be 0 (as they are) or from 0.001 to 1000")
}
