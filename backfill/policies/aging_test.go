package policies_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// TestNobodyAgesByOverflow checks that slack, with jobs and an aging as long as the limits allow,
// starts the first two jobs of a queue on two cpus: none behind them is aged at its arrival, although
// a million times the wait that it was promised is more than a number can hold.
func TestNobodyAgesByOverflow(t *testing.T) {
	h := host(t, backfill.NewState([]string{"cpus"}, profile.ByRank), "slack",
		opt("aging", "1e6"))
	r := backfill.Round{
		Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}}},
		Events: []backfill.Event{
			{Kind: backfill.SlotAdded, Slot: backfill.Slot{ID: 0, Name: "a", Capacity: v(2)}},
		},
	}
	for id := range backfill.JobID(60) {
		r.Events = append(r.Events, submission(id+1, 0, a{backfill.MaxTime, v(1)}))
	}
	d, err := h.Decide(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, started(1, 2), ids(d))
}
