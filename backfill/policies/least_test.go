package policies_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// counting is a slot of so many cpus on which a job begins only while at least so much is free, as where
// an expression counts the jobs that run there.
func counting(cpus int64, least backfill.Vector) backfill.Round {
	return backfill.Round{
		Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{
			Slots: []backfill.SlotID{0}, Least: []backfill.Vector{least},
		}}},
		Events: []backfill.Event{
			{Kind: backfill.SlotAdded, Slot: backfill.Slot{Name: "a", Capacity: v(cpus)}},
		},
	}
}

// TestJobsThatNeedMoreFreeBeginTogether checks that jobs which begin only while more is free than they
// take all begin in one second, one after another, as many as find enough: of 128 cpus, the hundredth
// finds 29 free. The next job begins when one has ended.
func TestJobsThatNeedMoreFreeBeginTogether(t *testing.T) {
	for _, spec := range policies.All() {
		for _, n := range []backfill.JobID{2, 100} {
			h := host(t, backfill.NewState([]string{"cpus"}, profile.ByRank), spec.Name, nil)
			r := counting(128, v(129-int64(n)))
			var all []backfill.JobID
			for id := range n {
				r.Events, all = append(r.Events, submission(id+1, 0, a{60, v(1)})), append(all, id+1)
			}
			r.Events = append(r.Events, submission(n+1, 0, a{60, v(1)}))
			d, err := h.Decide(t.Context(), r)
			require.NoError(t, err)
			require.ElementsMatch(t, all, ids(d), "%s, %d", spec.Name, n)
			d, err = h.Decide(t.Context(), backfill.Round{Now: 10, Events: []backfill.Event{
				{Kind: backfill.Completed, JobID: 1},
			}})
			require.NoError(t, err)
			require.Equal(t, started(n+1), ids(d), "%s, %d", spec.Name, n)
		}
	}
}

// TestJobsThatNeedMoreFreeFollowTogether checks that two jobs which wait for two others begin when these
// end, early and both in one second, without another event.
func TestJobsThatNeedMoreFreeFollowTogether(t *testing.T) {
	for _, spec := range policies.All() {
		h := host(t, backfill.NewState([]string{"cpus"}, profile.ByRank), spec.Name, nil)
		r := counting(8, v(6))
		for id := range backfill.JobID(4) {
			r.Events = append(r.Events, submission(id+1, 0, a{600, v(2)}))
		}
		d, err := h.Decide(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, started(1, 2), ids(d), spec.Name)
		d, err = h.Decide(t.Context(), backfill.Round{Now: 100, Events: []backfill.Event{
			{Kind: backfill.Completed, JobID: 1}, {Kind: backfill.Completed, JobID: 2},
		}})
		require.NoError(t, err)
		require.Equal(t, started(3, 4), ids(d), spec.Name)
	}
}
