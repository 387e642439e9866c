package condorsim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
)

// choosing runs a trace on a pool that chooses its own policy, and returns how many promises its changes
// lifted.
func choosing(t *testing.T, trace *workload.Trace, workers int, options map[string]string,
) (*condorsim.Result, *auto.Summary, int) {
	t.Helper()
	w, err := condorsim.FromTrace(trace, nil)
	require.NoError(t, err)
	chooser, err := auto.New(options, workers)
	require.NoError(t, err)
	config := link(t, "easy", nil)
	chooser.TakeCharge(&config)
	lifted := 0
	result, err := condorsim.Run(t.Context(), w, config, nil, chooser, reports(func(r *negotiator.Report) {
		lifted += r.Decision.Lifted
	}))
	require.NoError(t, err)
	require.Empty(t, result.Refusals)
	return result, chooser.Summary(), lifted
}

// reports is called with the report of each cycle.
type reports func(*negotiator.Report)

func (f reports) Cycle(r *negotiator.Report) error {
	f(r)
	return nil
}

// TestAuto: a pool that chooses its own policy chooses the same for any number of workers. The audit of
// each run checks that no job is lost and no promise broken. With guarantees alone, no change lifts one.
func TestAuto(t *testing.T) {
	trace := madeUp(300)
	options := map[string]string{
		"every": "600", "gain": "0", "lift": "0", "work": "0", "window": "1800",
		"portfolio": "easy:sjf slack:sjf slack:fcfs slack:wfp dc:wfp pc:sjf",
	}
	one, chosen, _ := choosing(t, trace, 1, options)
	require.Greater(t, chosen.Changes, 1)
	require.Greater(t, len(chosen.Shares), 2)
	sum := 0.0
	for _, s := range chosen.Shares {
		sum += s.Of
	}
	require.InDelta(t, 1, sum, 1e-9)
	many, again, _ := choosing(t, trace, 4, options)
	for i, o := range one.Outcomes {
		other := many.Outcomes[i]
		require.Equal(t, []any{o.Start, o.How, o.Promised, o.Guarantee},
			[]any{other.Start, other.How, other.Promised, other.Guarantee}, "job %d", i)
	}
	require.Equal(t, chosen, again)

	options["guarantees"] = "true"
	kept, chosen, lifted := choosing(t, trace, 2, options)
	require.Greater(t, chosen.Changes, 1)
	require.Zero(t, lifted)
	require.Zero(t, kept.Broken)
	for i, o := range kept.Outcomes {
		require.True(t, o.Promised, "job %d", i)
		require.LessOrEqual(t, o.Start, o.Guarantee, "job %d", i)
	}
}
