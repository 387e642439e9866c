package condorsim_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/backfilltest"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// kth returns the beginning of a real trace, or all of it.
func kth(t *testing.T, jobs int) *workload.Trace {
	t.Helper()
	const file = shared + "/traces/KTH-SP2-1996-2.swf.gz"
	if _, err := os.Stat(file); err != nil {
		t.Skip("skipped: a real trace; shared/traces is not here")
	}
	trace, err := workload.Open(file, workload.Options{Max: jobs})
	require.NoError(t, err)
	return trace
}

// countEvents runs a trace and counts its profile events.
func countEvents(t *testing.T, trace *workload.Trace, policy string) *condorsim.Result {
	t.Helper()
	w, err := condorsim.FromTrace(trace, nil)
	require.NoError(t, err)
	c := ordered(t, policy)
	counter, err := condorsim.CountEvents(w, &c)
	require.NoError(t, err)
	result, err := condorsim.Run(t.Context(), w, c, nil)
	require.NoError(t, err)
	require.NoError(t, counter.Add(result))
	return result
}

// TestEventsOfATrace compares schedule and count with those of the textbook policy, which scans
// literally, for the beginning of a real trace at twice its load.
func TestEventsOfATrace(t *testing.T) {
	trace := kth(t, 400)
	for i := range trace.Jobs {
		trace.Jobs[i].Submit /= 2
	}
	for _, policy := range []string{"conservative", "pc-sjf", "dc-ljf"} {
		t.Run(policy, func(t *testing.T) {
			w, err := condorsim.FromTrace(trace, nil)
			require.NoError(t, err)
			var scanned int64
			name, _, _ := strings.Cut(policy, "-")
			spec, err := policies.Named(name)
			require.NoError(t, err)
			spec.New = func(backfill.Values) (backfill.Policy, error) {
				return backfilltest.Textbook{Conservative: name == "conservative", DC: name == "dc", Scanned: &scanned},
					nil
			}
			c := ordered(t, policy)
			c.Policy, err = backfill.Link(spec, nil)
			require.NoError(t, err)
			textbook, err := condorsim.Run(t.Context(), w, c, nil)
			require.NoError(t, err)

			counted := countEvents(t, trace, policy)
			for i, o := range textbook.Outcomes {
				require.Equal(t, o.Start, counted.Outcomes[i].Start, "job %s", w.Jobs[i].Name)
			}
			require.InDelta(t, scanned, counted.Measures()["profile_events"], 0)
			require.Positive(t, scanned)
		})
	}
}

// TestCountingChangesNothing counts over a third of a real trace.
func TestCountingChangesNothing(t *testing.T) {
	trace := kth(t, 10_000)
	counts := map[string]float64{}
	for _, policy := range []string{"conservative", "pc-sjf", "dc-sjf"} {
		w, err := condorsim.FromTrace(trace, nil)
		require.NoError(t, err)
		plain, err := condorsim.Run(t.Context(), w, ordered(t, policy), nil)
		require.NoError(t, err)
		result := countEvents(t, trace, policy)
		want := plain.Measures()
		counts[policy] = result.Measures()["profile_events"]
		want["profile_events"] = counts[policy]
		require.Equal(t, want, result.Measures())
	}
	require.Greater(t, counts["pc-sjf"], counts["conservative"], "pc begins again after each move")
}

func TestEventsThatCannotBeCounted(t *testing.T) {
	w := newWorkload(t, workload.Job{Run: 5}, workload.Job{Submit: 1, Run: 5, Procs: 8})
	c := link(t, "ibb", nil)
	_, err := condorsim.CountEvents(w, &c)
	require.ErrorContains(t, err, "policy ibb keeps no profile")

	c = link(t, "pc", nil)
	c.Policy = refusing{c.Policy}
	_, err = condorsim.CountEvents(w, &c)
	require.ErrorContains(t, err, "the policy runs in a process of its own")

	onSlots, err := condorsim.FromTrace(trace(workload.Job{Run: 5}), slots(t))
	require.NoError(t, err)
	c = link(t, "pc", nil)
	_, err = condorsim.CountEvents(onSlots, &c)
	require.ErrorContains(t, err, "the pool has 2 slots")

	// Overruns are not supported, and are reported when they happen.
	w.Jobs[0].Estimate = 2
	counter, err := condorsim.CountEvents(w, &c)
	require.NoError(t, err)
	result, err := condorsim.Run(t.Context(), w, c, nil)
	require.NoError(t, err)
	require.ErrorContains(t, counter.Add(result), "estimate changed is not covered by the count")
}
