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

// TestFewWideJobsAgeAtOnce checks that aged jobs move under slack only until those that had their turn
// need the whole pool. On five cpus, four of them taken until 100, three jobs of two cpus come, one of
// five and one of a single cpu that runs for long. The three may move, and leave a cpu; were the job of
// five cpus to move behind them, the last job could not start.
func TestFewWideJobsAgeAtOnce(t *testing.T) {
	h := host(t, backfill.NewState([]string{"cpus"}, profile.ByRank), "slack",
		map[string]string{"factor": "100", "wide": "3"})
	candidates := []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}}}
	d, err := h.Decide(t.Context(), backfill.Round{
		Candidates: candidates,
		Events: []backfill.Event{
			{Kind: backfill.SlotAdded, Slot: backfill.Slot{ID: 0, Name: "a", Capacity: v(5)}},
			submission(1, 0, a{100, v(4)}),
		},
	})
	require.NoError(t, err)
	require.Equal(t, started(1), ids(d))

	d, err = h.Decide(t.Context(), backfill.Round{Now: 1, Candidates: candidates, Events: []backfill.Event{
		submission(2, 1, a{50, v(2)}), submission(3, 1, a{50, v(2)}), submission(4, 1, a{50, v(2)}),
		submission(5, 1, a{50, v(5)}), submission(6, 1, a{1000, v(1)}),
	}})
	require.NoError(t, err)
	require.Equal(t, started(6), ids(d))
}
