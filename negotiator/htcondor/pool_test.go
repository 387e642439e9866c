package htcondor

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

func small(cpus int64) *node { return &node{name: "n1", cpus: cpus, memory: 4096} }

func TestJobsRunAndEnd(t *testing.T) {
	w := newWorld(t, "easy",
		&node{name: "n1", cpus: 4, memory: 4096, policy: true},
		&node{name: "n2", cpus: 4, memory: 4096},
	)
	for range 8 {
		w.submit(&sleeper{cpus: 2, seconds: 10, estimate: 20})
	}
	w.pass(60)
	for _, j := range w.jobs {
		require.True(t, j.done, "%+v", j)
		require.Equal(t, 1, j.runs)
	}
	f := w.pool.Last()
	require.Equal(t, 8, f.Matched)
	require.Zero(t, f.Unstarted)
	require.Equal(t, 2, f.Slots)
}

// TestAJobConstraintMayNameAnyAttribute: a schedd evaluates the constraint only against attributes
// that are asked for, so those that it names are asked for.
func TestAJobConstraintMayNameAnyAttribute(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.pool.Tune(Tuning{Look: config.Look{JobConstraint: `Team =?= "a"`}, Hold: poll.Patience})
	ours := w.submit(&sleeper{cpus: 1, seconds: 100, estimate: 100})
	theirs := w.submit(&sleeper{cpus: 1, seconds: 100, estimate: 100})
	ours.extra, theirs.extra = "\nTeam = \"a\"", "\nTeam = \"b\""
	w.pass(14)
	require.Equal(t, 1, ours.runs)
	require.Zero(t, theirs.runs)
}

func TestObserve(t *testing.T) {
	w := newWorld(t, "conservative", small(4))
	w.settings = func(s *Settings) { s.Observe = true }
	w.negotiator("conservative", nil)
	j := w.submit(&sleeper{cpus: 4, seconds: 10, estimate: 10})
	w.pass(20)
	require.Positive(t, w.starts)
	require.Empty(t, w.schedd.Matches())
	require.NoError(t, w.pool.Explain(t.Context(), []backfill.JobID{1}, func(backfill.JobID) string { return "x" }))
	require.Empty(t, w.schedd.Rejections())
	require.Zero(t, j.runs)
}

func TestEndsWithItsContext(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.pool.first = nil
	ctx, cancel := context.WithCancel(context.Background())
	go cancel()
	_, err := w.pool.Fetch(ctx, backfill.Forever)
	require.ErrorIs(t, err, context.Canceled)
}
