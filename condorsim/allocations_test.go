package condorsim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// allocations returns how often memory is allocated for each job of a trace.
func allocations(t *testing.T, trace *workload.Trace, do func(*condorsim.Workload)) float64 {
	t.Helper()
	all := testing.AllocsPerRun(1, func() {
		w, err := condorsim.FromTrace(trace, nil)
		require.NoError(t, err)
		do(w)
	})
	return all / float64(len(trace.Jobs))
}

func TestWhatJobsShareIsLookedAtOnce(t *testing.T) {
	trace := madeUp(1000) // of five widths, which come in any order
	require.Less(t, allocations(t, trace, func(*condorsim.Workload) {}), 4.0)
}

func TestCyclesAllocateLittle(t *testing.T) {
	for policy, most := range map[string]float64{"easy": 12, "conservative": 20} {
		trace := madeUp(1000)
		require.Less(t, allocations(t, trace, func(w *condorsim.Workload) {
			_, err := condorsim.Run(t.Context(), w, link(t, policy, nil), nil)
			require.NoError(t, err)
		}), most, policy)
	}
}

func TestHasRunIsWhetherAnyRan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, r := &condorsim.Workload{}, &condorsim.Result{}
		for i := range rapid.IntRange(0, 3).Draw(t, "jobs") {
			job := &negotiator.Job{ID: backfill.JobID(i), Scavenger: rapid.Bool().Draw(t, "scavenger")}
			w.Jobs = append(w.Jobs, condorsim.Job{Job: job, Cpus: 1})
			r.Outcomes = append(r.Outcomes, condorsim.Outcome{Ended: rapid.Bool().Draw(t, "ended")})
		}
		r.Workload = w
		require.Equal(t, len(r.Ran()) > 0, r.HasRun())
	})
}
