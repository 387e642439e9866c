package condorsim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// underFairShare runs a trace with fair share and a policy, with what is promised in the order of shares.
func underFairShare(t *testing.T, trace *workload.Trace, policy string, options map[string]string,
	planning backfill.Planning,
) metrics.Metrics {
	t.Helper()
	w, err := condorsim.FromTrace(trace, nil)
	require.NoError(t, err)
	w, err = w.WithPriorities(condorsim.Priorities{})
	require.NoError(t, err)
	c := link(t, policy, options)
	c.Order, c.Planning = w.FairShare(), planning
	result, err := condorsim.Run(t.Context(), w, c, nil)
	require.NoError(t, err)
	return result.Metrics()
}

// compared runs a trace with fair share under the policies that real pools may have by default, tells
// what came of it, and returns that by name.
func compared(t *testing.T, trace *workload.Trace) map[string]metrics.Metrics {
	t.Helper()
	free := backfill.Planning{Depth: 10_000, Reorder: true}
	bounded := free
	bounded.Horizon = 90
	measured := map[string]metrics.Metrics{}
	for _, x := range []struct {
		name, policy string
		options      map[string]string
		planning     backfill.Planning
	}{
		{"easy", "easy", nil, backfill.Planning{}},
		{"easy, keep", "easy", map[string]string{"keep": "true"}, backfill.Planning{}},
		{"slack, no horizon", "slack", nil, free},
		{"slack", "slack", nil, bounded},
		{"conservative, no horizon", "conservative", nil, free},
		{"conservative", "conservative", nil, bounded},
	} {
		m := underFairShare(t, trace, x.policy, x.options, x.planning)
		measured[x.name] = m
		t.Logf("%-24s mean wait %6.0f s, widest %6.0f s, greatest 5 %% %6.0f s, bounded slowdown %5.1f, cpus %.3f", x.name,
			m.MeanWait, m.Widest10Wait, m.Top5Wait, m.MeanBoundedSlowdown, m.Utilisation)
	}
	return measured
}

// TestUnderFairShare checks on a real trace what the defaults of real pools rest on: where the order
// is that of user priorities, wide jobs wait less under easy if it keeps its reservations, and slack
// with a bounded plan lets its jobs wait less than easy does.
func TestUnderFairShare(t *testing.T) {
	m := compared(t, kth(t, thorough.Cases(4000, 0)))
	require.Less(t, m["easy, keep"].Widest10Wait, m["easy"].Widest10Wait)
	require.Less(t, m["slack"].Widest10Wait, m["easy, keep"].Widest10Wait)
	require.Less(t, m["slack"].MeanWait, m["easy"].MeanWait)
	require.GreaterOrEqual(t, m["slack"].Utilisation, 0.99*m["easy"].Utilisation)
}

// TestOthersUnderFairShare tells the same of other traces, for the README.
func TestOthersUnderFairShare(t *testing.T) {
	if !thorough.On() {
		t.Skip("skipped: minutes of simulations; -thorough runs them")
	}
	for _, name := range []string{
		"SDSC-SP2-1998-4.2-cln", "CTC-SP2-1996-3.1-cln", "LANL-CM5-1994-4.1-cln", "SDSC-DS-2004-2.1-cln",
	} {
		t.Run(name, func(t *testing.T) {
			trace, err := workload.Open(shared+"/traces/"+name+".swf.gz", workload.Options{Max: 15_000})
			if err != nil {
				t.Skip("skipped: a real trace; shared/traces is not here")
			}
			m := compared(t, trace)
			require.Less(t, m["easy, keep"].Widest10Wait, m["easy"].Widest10Wait)
		})
	}
}
