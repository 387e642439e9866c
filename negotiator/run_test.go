package negotiator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// script is a pool that reports the given deltas and records the calls.
type script struct {
	deltas []Delta
	end    error // after the last delta
	act    error
	heard  []string
}

func (s *script) Fetch(_ context.Context, wake backfill.Time) (Delta, error) {
	if wake == backfill.Forever {
		s.heard = append(s.heard, "fetch")
	} else {
		s.heard = append(s.heard, fmt.Sprintf("fetch by %d", wake))
	}
	if len(s.deltas) == 0 {
		return Delta{}, s.end
	}
	d := s.deltas[0]
	s.deltas = s.deltas[1:]
	return d, nil
}

func (s *script) Act(_ context.Context, matches []Match) error {
	s.heard = append(s.heard, fmt.Sprint("act ", started(Report{Matches: matches})))
	return s.act
}

// watcher is a sink that records in the script what it sees.
type watcher struct {
	name string
	s    *script
	err  error
}

func (w *watcher) Cycle(r *Report) error {
	w.s.heard = append(w.s.heard, fmt.Sprintf("%s sees %d", w.name, r.Delta.Now))
	return w.err
}

func TestRun(t *testing.T) {
	failure := errors.New("failure")
	for _, c := range []struct {
		name          string
		edit          func(*script)
		first, second error // of the sinks
		want          error
		wantText      string
		heard         []string
	}{
		{
			name: "to the end",
			heard: []string{
				"fetch", "act [1.1@a×1]", "one sees 5", "two sees 5",
				"fetch by 15", "act [1.2@a×1]", "one sees 8", "two sees 8",
				"fetch by 18", "one sees 9", "two sees 9", "fetch",
			},
		},
		{
			name:  "an end in other words",
			edit:  func(s *script) { s.deltas, s.end = nil, fmt.Errorf("closed: %w", io.EOF) },
			heard: []string{"fetch"},
		},
		{
			name: "the pool fails", edit: func(s *script) { s.deltas, s.end = s.deltas[:1], failure }, want: failure,
			heard: []string{"fetch", "act [1.1@a×1]", "one sees 5", "two sees 5", "fetch by 15"},
		},
		{
			name: "nothing can be started", edit: func(s *script) { s.act = failure }, want: failure,
			heard: []string{"fetch", "act [1.1@a×1]"},
		},
		{
			name: "a cycle that cannot be", edit: func(s *script) { s.deltas[1].Completed = ids{9} },
			wantText: "job ID 9 completed, but was not there for it",
			heard:    []string{"fetch", "act [1.1@a×1]", "one sees 5", "two sees 5", "fetch by 15"},
		},
		{
			name: "the first sink fails", first: failure, want: failure,
			heard: []string{"fetch", "act [1.1@a×1]", "one sees 5"},
		},
		{
			name: "the second sink fails", second: failure, want: failure,
			heard: []string{"fetch", "act [1.1@a×1]", "one sees 5", "two sees 5"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &script{end: io.EOF, deltas: []Delta{
				{
					Now: 5, SlotsUp: []*Slot{newSlot(t, "a", 1, "")},
					Submitted: []*Job{newJob(t, 1, 1, ""), newJob(t, 2, 1, "")},
				},
				{Now: 8, Completed: ids{1}},
				{Now: 9, Completed: ids{2}},
			}}
			if c.edit != nil {
				c.edit(s)
			}
			err := Run(t.Context(), newNegotiator(t), s, &watcher{"one", s, c.first}, &watcher{"two", s, c.second})
			switch {
			case c.wantText != "":
				require.ErrorContains(t, err, c.wantText)
			case c.want != nil:
				require.ErrorIs(t, err, c.want)
			default:
				require.NoError(t, err)
			}
			require.Equal(t, c.heard, s.heard)
		})
	}
}

// patient is a pool where nothing ever happens.
type patient struct{}

func (patient) Fetch(ctx context.Context, _ backfill.Time) (Delta, error) {
	<-ctx.Done()
	return Delta{}, ctx.Err()
}

func (patient) Act(context.Context, []Match) error { return nil }

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	n := newNegotiator(t)
	go func() { done <- Run(ctx, n, patient{}) }()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}
