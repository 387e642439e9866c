package conformance_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies/conservative"
	"github.com/condor-backfill/condor-backfill/backfill/policies/easy"
)

// TestWhatHappensInRandomPools checks that every situation in which a policy may do wrong occurs in
// nine random pools within 60 rounds, so that even a short check tests it.
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
				note("several chunks on a slot", slices.ContainsFunc(s.Placement,
					func(c backfill.Chunks) bool { return c.Count > 1 }))
				note("no labels", s.Job.Labels == nil)
				note("labels", s.Job.Labels != nil)
				note("no estimate", s.Job.Unestimated)
				note("a run that is expected to be longer", s.Job.Running > s.Job.Estimate)
				note("a run that is expected to be shorter", s.Job.Running > 0 && s.Job.Running < s.Job.Estimate)
				note("more than 32 bits", slices.Max(s.Job.Request) > math.MaxInt32)
			}
			for _, j := range before.Jobs {
				note("an overrun", j.Running && j.End <= d.Now && state.IsRunning(j.Job.ID))
				note("a missed start", !j.Running && j.Placement != nil && j.Start < d.Now)
				note("a job out of order", j.Key > 0 && !j.Running)
				note("a held job that is back", j.Held != "" && state.IsWaiting(j.Job.ID))
				note("another queue", j.Job.Position.Queue != "")
			}
			for _, slot := range state.Slots() {
				note("a slot that is lost", !state.SlotUp(slot.ID))
				note("a slot that shrank", state.SlotUp(slot.ID) && slices.Min(state.Free(slot.ID, d.Now)) < 0)
			}
			note("a long queue", state.Waiting() > 10)
			note("a broken guarantee", len(d.Broken) > 0)
			note("two rounds at the same time", before.Now == d.Now)
			note("a round without a decision", d.By == "")
			note("four resources", len(state.Resources()) == 4)
		}
	}
	for what, times := range seen {
		require.NotZero(t, times, what)
	}
}

// TestWhatHappensInPartitionedPools is the same for pools that have bundles.
func TestWhatHappensInPartitionedPools(t *testing.T) {
	seen := map[string]int{}
	note := func(what string, happens bool) {
		seen[what] += map[bool]int{true: 1}[happens]
	}
	for seed := range uint64(9) {
		main, err := backfill.Link(conservative.Spec(), nil)
		require.NoError(t, err)
		run, err := conformance.Start(conformance.Partitioned+seed, main)
		require.NoError(t, err)
		for range 60 {
			before := run.Host.State.Snapshot()
			d, err := run.Next(t.Context())
			require.NoError(t, err)
			run.Check()
			state := run.Host.State
			note("a bundle that comes later", before.Bundles != nil && len(state.Bundles()) > len(before.Bundles))
			for _, s := range d.Started {
				note("a bundle of several slots", s.Job.Whole && len(s.Placement) > 1)
				note("a job on slots", !s.Job.Whole)
				note("ranked bundles", s.Job.Whole &&
					state.Snapshot().Candidates[s.Job.Candidates].Candidates.Rank != nil)
			}
			for _, j := range state.Snapshot().Jobs {
				note("a bundle that is planned for", j.Job.Whole && !j.Running && j.Placement != nil)
				note("a bundle job that fits nowhere", j.Job.Whole && j.Held == backfill.ReasonNeverFits)
			}
			for _, j := range before.Jobs {
				running := state.IsRunning(j.Job.ID)
				note("a job that lost its bundle", j.Job.Whole && j.Running && !running && state.IsWaiting(j.Job.ID))
				note("a held job that is back", j.Job.Whole && j.Held != "" && state.IsWaiting(j.Job.ID))
			}
			for _, e := range run.Host.State.Bundles() {
				for _, slot := range e.Slots {
					note("a lost slot of a bundle", !state.SlotUp(slot))
				}
			}
		}
		require.Empty(t, run.Findings())
	}
	for what, times := range seen {
		require.NotZero(t, times, what)
	}
}

// TestWhatHappensInWindowedPools is the same for pools in which candidates have windows, under a policy
// with guarantees and one without.
func TestWhatHappensInWindowedPools(t *testing.T) {
	seen := map[string]int{}
	note := func(what string, happens bool) {
		seen[what] += map[bool]int{true: 1}[happens]
	}
	for seed := range uint64(18) {
		spec := conservative.Spec()
		if seed%2 == 1 {
			spec = easy.Spec()
		}
		main, err := backfill.Link(spec, nil)
		require.NoError(t, err)
		run, err := conformance.Start(conformance.Windowed+seed/2%3/2*conformance.Partitioned+seed, main)
		require.NoError(t, err)
		startless := map[backfill.JobID]bool{}
		for range 60 {
			before := run.Host.State.Snapshot()
			wake := run.Host.State.NextWake()
			d, err := run.Next(t.Context())
			require.NoError(t, err)
			run.Check()
			for _, s := range d.Started {
				set := run.Host.State.CandidateSets()[s.Job.Candidates]
				note("a start in a window", set.Windows != nil && !s.Job.Whole)
				note("a bundle that is open", set.Windows != nil && s.Job.Whole)
				note("a start when a window opens", set.NextOpening(d.Now-1) == d.Now && wake == d.Now)
				note("a start of a job that had none", startless[s.Job.ID])
			}
			first := true
			for _, j := range run.Host.State.Snapshot().Jobs {
				reason, _ := run.Host.State.Reason(j.Job.ID)
				startless[j.Job.ID] = reason.Why == backfill.NoStart
				note("a job without a start", startless[j.Job.ID])
				note("slots that all close", reason.Closes != 0)
				set := run.Host.State.CandidateSets()[j.Job.Candidates]
				note("a reservation for an opening", j.Placement != nil && !j.Running &&
					set.NextOpening(j.Start-1) == j.Start)
				note("a reservation behind a job without a start", !first && j.Placement != nil && !j.Running && !spec.Guarantees)
				first = first && !startless[j.Job.ID]
			}
			for _, b := range d.Broken {
				note("a promise that is gone", b.Now == backfill.Forever)
			}
			note("a round at an opening", wake == d.Now)
			note("a set told anew", len(before.Candidates) == len(run.Host.State.CandidateSets()))
		}
		require.Empty(t, run.Findings())
	}
	for what, times := range seen {
		require.NotZero(t, times, what)
	}
}
