package papers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// TestAuto compares auto with the best member on two traces, under the same estimators.
func TestAuto(t *testing.T) {
	cell := func(trace, policy, estimates string, slowdown float64) results.Cell {
		c := results.Cell{Key: results.Key{Trace: trace, Policy: policy, Scheduler: policy + estimates}}
		if estimates != "" {
			c.Estimates = &results.Estimates{All: estimates}
		}
		c.Metrics = map[string]float64{"mean_bounded_slowdown": slowdown}
		return c
	}
	f := &results.Folder{Cells: []results.Cell{
		cell("a", "easy", "", 10), cell("a", "slack", "", 8), cell("a", "auto", "", 7),
		cell("b", "easy", "", 10), cell("b", "slack", "", 20), cell("b", "auto", "", 12),
		cell("b", "easy", "combined", 6), cell("b", "auto", "combined", 6.1),
	}}
	f.Manifest.Paper = "auto"
	rows, err := Of(f)
	require.NoError(t, err)
	require.Len(t, rows, 6)
	var got []string
	for _, r := range rows {
		got = append(got, string(r.Verdict)+": "+r.Ours)
	}
	require.Equal(t, []string{
		"partly: 1 of 2 (not b); the most is 1.20 times, b",
		"agrees: 1 of 2 (not b); the most is 1.20 times, b",
		"partly: 1 of 2 (not b); the most is 1.20 times, b",
		"agrees: 1 of 1; the most is 1.02 times, b",
		"differs: 0 of 1 (not b); the most is 1.02 times, b",
		"agrees: 1 of 1; the most is 1.02 times, b",
	}, got)
	f.Cells = nil
	rows, err = Of(f)
	require.NoError(t, err)
	require.Equal(t, Untested, rows[0].Verdict)
}
