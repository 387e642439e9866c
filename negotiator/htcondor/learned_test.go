package htcondor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// TestLearnedOnAPool: the estimator learned knows of a pool's jobs what it goes by, their users, executables,
// requests and cpus, and hears of those that run, also after a restart.
func TestLearnedOnAPool(t *testing.T) {
	w := newWorld(t, "slack", small(4))
	chosen := config.Default()
	chosen.Estimates = "learned"
	require.Contains(t, chosen.Schema().Labels, "executable")
	w.settings = func(s *Settings) { s.Schema.Labels = chosen.Schema().Labels }
	made := func(h *estimate.History) *estimate.Set {
		set, err := estimate.New(chosen.EstimateSettings(), h, true, false, nil)
		require.NoError(t, err)
		return set
	}
	w.estimates = made(nil)
	w.negotiator("slack", nil)
	const program = "\nCmd = \"/home/alice/bin/simulate\""
	first := w.submit(&sleeper{owner: "alice", cpus: 2, seconds: 40, estimate: 500, extra: program})
	long := w.submit(&sleeper{owner: "alice", cpus: 2, seconds: 400, estimate: 500, extra: program})
	w.pass(70)
	require.True(t, first.done)
	require.False(t, long.done)
	h := w.estimates.History()
	require.Equal(t, 1, h.Len())
	for e := range h.All() {
		require.Equal(t, []int64{2, 500}, []int64{e.Cpus, int64(e.Requested)})
		require.Equal(t, "alice", e.Labels["owner"])
		require.Equal(t, "/home/alice/bin/simulate", e.Labels["executable"])
	}
	basis := func() []estimate.Part {
		j := estimate.Job{Requested: 500, Cpus: 2, Labels: map[string]string{
			"owner": "alice", "executable": "/home/alice/bin/simulate",
		}}
		return w.estimates.Basis(&j, w.n.State().Now()).Parts
	}
	before := basis()
	require.Len(t, before, 5)
	require.Equal(t, []int{1, 1}, []int{before[0].Ended, before[0].Running}, before[0].Alike)

	w.estimates = made(h)
	w.restart()
	require.Equal(t, before, basis())
}
