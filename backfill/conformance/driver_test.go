package conformance_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies/conservative"
)

// What a policy may stumble over happens in the pools of even a quick check.
func TestWhatHappensInRandomPools(t *testing.T) {
	seen := map[string]int{}
	note := func(what string, happens bool) {
		seen[what] += map[bool]int{true: 1}[happens]
	}
	for seed := range uint64(9) {
		main, err := backfill.Link(conservative.Spec(), nil)
		require.NoError(t, err)
		run, err := conformance.Start(seed, main)
		require.NoError(t, err)
		for range 60 {
			before := run.Host.State.Snapshot()
			d, err := run.Next(t.Context())
			require.NoError(t, err)
			state := run.Host.State
			for _, s := range d.Started {
				note("a gang over slots", len(s.Placement) > 1)
				note("several chunks on a slot", slices.ContainsFunc(s.Placement, func(c backfill.Chunks) bool { return c.Count > 1 }))
				note("no labels", s.Job.Labels == nil)
				note("labels", s.Job.Labels != nil)
				note("no estimate", s.Job.Unestimated)
				note("more than 32 bits", slices.Max(s.Job.Request) > math.MaxInt32)
			}
			for _, j := range before.Jobs {
				note("an overrun", j.Running && j.End <= d.Now && state.IsRunning(j.Job.ID))
				note("a missed start", !j.Running && j.Placement != nil && j.Start < d.Now)
				note("a job out of order", j.Key > 0 && !j.Running)
				note("a held job that is back", j.Held != "" && state.IsWaiting(j.Job.ID))
				note("another queue", j.Job.Place.Queue != "")
			}
			for _, slot := range state.Slots() {
				note("a slot that is lost", !state.SlotUp(slot.ID))
				note("a slot that shrank", state.SlotUp(slot.ID) && slices.Min(state.Free(slot.ID, d.Now)) < 0)
			}
			note("a long queue", state.Waiting() > 10)
			note("a broken guarantee", len(d.Broken) > 0)
			note("two rounds at once", before.Now == d.Now)
			note("a round without a decision", d.By == "")
			note("four resources", len(state.Resources()) == 4)
		}
	}
	for what, times := range seen {
		require.NotZero(t, times, what)
	}
}
