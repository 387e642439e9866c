package policies_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/backfilltest"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
)

// TestWindowsChangeNothing checks that the windows of starts, to which package plan limits its
// searches, change no decision. On random pools and in several orders, each policy decides like its
// textbook version, and like itself on a state that loses the policy's memo every other round.
func TestWindowsChangeNothing(t *testing.T) {
	for _, name := range []string{"conservative", "pc", "dc"} {
		for i, order := range []string{"fcfs", "sjf", "ljf", "widest", "narrowest"} {
			t.Run(name+" "+order, func(t *testing.T) {
				t.Parallel()
				for n := range uint64(24) {
					seed := 100*uint64(i) + n
					spec, err := policies.Named(name)
					require.NoError(t, err)
					reference := spec
					reference.New = func(backfill.Values) (backfill.Policy, error) {
						return backfilltest.Textbook{Conservative: name == "conservative", DC: name == "dc"}, nil
					}
					want := run(t, seed, reference, order, false)
					require.Equal(t, want, run(t, seed, spec, order, false), "seed %d", seed)
					require.Equal(t, want, run(t, seed, spec, order, true), "seed %d: without memos", seed)
				}
			})
		}
	}
}

// run plays 100 rounds and returns for each what was started, what is planned, and how many
// guarantees were broken. With forget, the state is replaced by a clone, which has no memo, every
// other round.
func run(t *testing.T, seed uint64, spec backfill.PolicySpec, order string, forget bool) (told []string) {
	t.Helper()
	driver := conformance.NewDriver(seed)
	if seed%8 > 4 {
		driver = conformance.NewDriver(conformance.Partitioned + seed)
	}
	driver.Calm = seed%2 == 0
	driver.Late = seed%4 == 1
	main, err := backfill.Link(spec, nil)
	require.NoError(t, err)
	fallback, err := backfill.Link(policies.FallbackFor(spec), nil)
	require.NoError(t, err)
	by, err := backfill.OrderNamed(order)
	require.NoError(t, err)
	h, err := backfill.NewHost(backfill.NewState(driver.Resources(), driver.Rule()), by, main, fallback,
		func(r backfill.Refusal) { require.NoError(t, r.Err) })
	require.NoError(t, err)
	for i := range 100 {
		if forget && i%2 == 0 {
			h.State = h.State.Clone()
		}
		d, err := h.Decide(t.Context(), driver.Round(h.State))
		require.NoError(t, err)
		var text strings.Builder
		fmt.Fprint(&text, d.Now)
		for _, s := range d.Started {
			fmt.Fprintf(&text, " start %d on %v", s.Job.ID, s.Placement)
			if s.Promised && len(d.Broken) == 0 {
				require.LessOrEqual(t, d.Now, s.Guarantee)
			}
		}
		for _, j := range h.State.Snapshot().Jobs {
			if start, at, ok := h.State.Planned(j.Job.ID); ok {
				fmt.Fprintf(&text, " plan %d at %d on %v by %d", j.Job.ID, start, at, j.Guarantee)
			}
		}
		fmt.Fprintf(&text, " broken %d", len(d.Broken))
		told = append(told, text.String())
	}
	return told
}
