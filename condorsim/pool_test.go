package condorsim_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// newWorkload makes a workload of a trace; the jobs must be valid.
func newWorkload(tb testing.TB, jobs ...workload.Job) *condorsim.Workload {
	tb.Helper()
	w, err := condorsim.FromTrace(trace(jobs...), nil)
	require.NoError(tb, err)
	return w
}

// seen is a delta without its ads.
type seen struct {
	now                  backfill.Time
	up                   int
	completed, submitted []backfill.JobID
}

func look(d negotiator.Delta) seen {
	s := seen{now: d.Now, up: len(d.SlotsUp), completed: append([]backfill.JobID(nil), d.Completed...)}
	for _, j := range d.Submitted {
		s.submitted = append(s.submitted, j.ID)
	}
	return s
}

func TestPoolInstants(t *testing.T) {
	type ids = []backfill.JobID
	w := newWorkload(t,
		workload.Job{Submit: 2, Run: 3}, workload.Job{Submit: 2, Run: 0},
		workload.Job{Submit: 5, Run: 1}, workload.Job{Submit: 5, Run: 9},
	)
	pool := condorsim.NewPool(w, nil)
	fetch := func(wake backfill.Time) seen {
		t.Helper()
		d, err := pool.Fetch(t.Context(), wake)
		require.NoError(t, err)
		return look(d)
	}
	start := func(jobs ...int) {
		t.Helper()
		var matches []negotiator.Match
		for _, i := range jobs {
			matches = append(matches, negotiator.Match{Job: w.Jobs[i].Job})
		}
		require.NoError(t, pool.Act(t.Context(), matches))
	}
	require.Equal(t, seen{now: 2, up: 1, submitted: ids{0, 1}}, fetch(backfill.Forever))
	start(0, 1)
	require.Equal(t, seen{now: 2, completed: ids{1}}, fetch(5), "no run time: it ends in a second round of the instant")
	require.Equal(t, seen{now: 4}, fetch(4), "woken before anything happens")
	require.Equal(t, seen{now: 5, completed: ids{0}, submitted: ids{2, 3}}, fetch(5), "one instant, one delta")
	start(2, 3)
	require.Equal(t, seen{now: 6, completed: ids{2}}, fetch(backfill.Forever))
	require.Equal(t, seen{now: 14, completed: ids{3}}, fetch(backfill.Forever))
	_, err := pool.Fetch(t.Context(), backfill.Forever)
	require.ErrorIs(t, err, io.EOF)
}

func TestPoolOfNothing(t *testing.T) {
	pool := condorsim.NewPool(newWorkload(t), nil)
	_, err := pool.Fetch(t.Context(), backfill.Forever)
	require.ErrorIs(t, err, io.EOF)
}

func TestPace(t *testing.T) {
	w := newWorkload(t, workload.Job{Submit: 2, Run: 0}, workload.Job{Submit: 7, Run: 3, Procs: 8},
		workload.Job{Submit: 7, Run: 1, Procs: 8})
	var paced []backfill.Time
	result, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), func(_ context.Context, at backfill.Time) error {
		paced = append(paced, at)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []backfill.Time{2, 2, 7, 10, 11}, paced, "every instant, in order, a second round as well")
	require.Equal(t, len(paced), result.Cycles)
}

func TestRunEndsEarly(t *testing.T) {
	failure := errors.New("failure")
	w := newWorkload(t, workload.Job{Submit: 2, Run: 3}, workload.Job{Submit: 7, Run: 3})
	t.Run("pace", func(t *testing.T) {
		_, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), func(_ context.Context, at backfill.Time) error {
			if at > 4 {
				return failure
			}
			return nil
		})
		require.ErrorIs(t, err, failure)
	})
	t.Run("sink", func(t *testing.T) {
		_, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil,
			sink(func(*negotiator.Report) error { return failure }))
		require.ErrorIs(t, err, failure)
	})
	t.Run("before it began", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := condorsim.Run(ctx, w, link(t, "easy", nil), nil)
		require.ErrorIs(t, err, context.Canceled)
	})
	t.Run("between cycles", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cycles := 0
		_, err := condorsim.Run(ctx, w, link(t, "easy", nil), nil, sink(func(*negotiator.Report) error {
			cycles++
			cancel()
			return nil
		}))
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 1, cycles)
	})
	t.Run("a fallback that does not go with the policy", func(t *testing.T) {
		c := link(t, "conservative", nil)
		c.Fallback = link(t, "easy", nil).Policy
		_, err := condorsim.Run(t.Context(), w, c, nil)
		require.ErrorContains(t, err, "cannot fall back")
	})
}

// sink makes a sink of a function.
type sink func(*negotiator.Report) error

func (s sink) Cycle(r *negotiator.Report) error { return s(r) }
