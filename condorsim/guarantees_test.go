package condorsim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// requirePromisesAddUp compares the counts of guarantees with the jobs' outcomes, also in the property
// [TestNoJobIsLostWhateverFails].
func requirePromisesAddUp(t require.TestingT, r *condorsim.Result) {
	given, kept, late, never := 0, 0, 0, 0
	for _, o := range r.Outcomes {
		if !o.Promised {
			continue
		}
		given++
		switch {
		case !o.Started:
			never++
		case o.Start <= o.Guarantee:
			kept++
		default:
			late++
		}
	}
	got := r.Measures()
	if given == 0 {
		require.NotContains(t, got, "guarantees_given")
		return
	}
	count := func(name string) int { return int(got["guarantees_"+name]) }
	require.Equal(t, given, count("given"))
	require.Equal(t, given, count("kept")+count("broken")+count("open"))
	require.Equal(t, kept, count("kept"))
	require.Equal(t, late, count("broken"))
	require.Equal(t, never, count("open"))
	require.LessOrEqual(t, count("overdue"), never)
	require.Equal(t, r.Broken, count("broken_times"))
	require.GreaterOrEqual(t, r.Broken, count("broken"), "each broken one was broken at least once")
}

// A job that was promised a start and whose slots go for good leaves its promise open, and past its
// time. So does one that loses its slot too often, after it started in time.
func TestGuaranteesOfJobsThatNeverRan(t *testing.T) {
	w := onNodes(t, []pools.Outage{fails(10, all, 2)},
		workload.Job{Run: 20, Procs: 8}, workload.Job{Submit: 1, Run: 20, Procs: 12},
		workload.Job{Submit: 2, Run: 50, Procs: 2})
	r, err := condorsim.Run(t.Context(), w, link(t, "conservative", nil), nil)
	require.NoError(t, err)
	require.Equal(t, condorsim.Promises{Kept: 2, Open: 1, Overdue: 1}, r.Promises(), spans(r))
	require.NotEmpty(t, r.Outcomes[1].Held)

	w = onNodes(t, []pools.Outage{fails(10, 5, 0, 1, 2), fails(30, 5, 0, 1, 2)}, workload.Job{Run: 100, Procs: 12})
	w.GiveUpAfter = 1
	r, err = condorsim.Run(t.Context(), w, link(t, "conservative", nil), nil)
	require.NoError(t, err)
	require.Equal(t, condorsim.GivenUp, r.Outcomes[0].Held)
	require.Equal(t, 1, r.Promises().Given())
	requirePromisesAddUp(t, r)
}
