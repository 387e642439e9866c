package conformance_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// TestRemediesFitTheMistake lets a policy make mistakes, and requires that the remedy names what to do
// instead of this one.
func TestRemediesFitTheMistake(t *testing.T) {
	first := func(c *backfill.Cycle) *backfill.Job {
		for j := range c.Waiting() {
			return j
		}
		return &backfill.Job{ID: 999, Nodes: 1, Request: make(backfill.Vector, len(c.Capacity()))}
	}
	on := func(slot backfill.SlotID, n int) backfill.Placement {
		return backfill.Placement{{Slot: slot, Count: n}}
	}
	for name, tt := range map[string]struct {
		decide func(*backfill.Cycle)
		do     string
	}{
		"panic":          {func(*backfill.Cycle) { panic("oh") }, "mend the panic"},
		"unknown slot":   {func(c *backfill.Cycle) { c.Reserve(first(c), c.Now()+1, on(4711, 1)) }, "State().SlotUp"},
		"unknown job":    {func(c *backfill.Cycle) { c.Release(&backfill.Job{ID: 999}) }, "Cycle.Waiting"},
		"wakes too soon": {func(c *backfill.Cycle) { c.Wake(c.Now()) }, "later than Cycle.Now"},
		"wakes too often": {func(c *backfill.Cycle) {
			for i := range backfill.Time(100_001) {
				c.Wake(c.Now() + 1 + i)
			}
		}, "ask for one time"},
		"promises":    {func(c *backfill.Cycle) { c.Guarantee(first(c), c.Now()+1) }, "declare Guarantees"},
		"no reason":   {func(c *backfill.Cycle) { c.Hold(first(c), "") }, "say why"},
		"in the past": {func(c *backfill.Cycle) { c.Reserve(first(c), c.Now()-1, on(0, 1)) }, "from Cycle.Now on"},
		"one running": {func(c *backfill.Cycle) {
			for r := range c.Running() {
				c.Start(r.Job, r.Placement)
			}
			for j := range c.Queue() {
				if at, fits := c.FitsNow(j); fits {
					c.Start(j, at)
				}
			}
		}, "what runs goes on"},
	} {
		t.Run(name, func(t *testing.T) {
			main, err := backfill.Link(backfill.PolicySpec{Name: "bad", New: func(backfill.Values) (backfill.Policy, error) {
				return backfill.PolicyFunc(func(c *backfill.Cycle) {
					scan.Begin(c)
					tt.decide(c)
				}), nil
			}}, nil)
			require.NoError(t, err)
			findings, err := conformance.Conform(t.Context(), 1, 60, main)
			require.NoError(t, err)
			require.NotEmpty(t, findings)
			found := findings[len(findings)-1]
			require.Equal(t, conformance.Accepted, found.Rule)
			require.Contains(t, found.Remedy(), tt.do, found.Text)
			if name == "panic" {
				require.Regexp(t, `^\S*conformance_test\.TestRemediesFitTheMistake(?s:.*)remedy_test\.go:\d+`, found.Stack)
				require.NotContains(t, found.Stack, "host.go")
			}
		})
	}
}
