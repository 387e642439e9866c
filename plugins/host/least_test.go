package host

import (
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

// A plugin is told of those candidates on which as much is free as must be when a job begins, with the
// whole state, in each round.
func TestAPluginIsToldWhereEnoughIsFree(t *testing.T) {
	remote := inProcess(t, Options{}, sdk.NewServer(named(t, "first-fit"), hclog.NewNullLogger()))
	host := newHost(t, "fcfs", remote)
	decide := func(r backfill.Round, starts ...backfill.JobID) {
		t.Helper()
		d, err := host.Decide(t.Context(), r)
		require.NoError(t, err)
		var started []backfill.JobID
		for _, s := range d.Started {
			started = append(started, s.Job.ID)
		}
		require.Equal(t, starts, started)
	}
	job := func(id backfill.JobID) backfill.Event {
		return backfill.Event{Kind: backfill.Submitted, Job: &backfill.Job{
			ID: id, Nodes: 1, Request: backfill.Vector{2, 1}, Estimate: 100,
		}}
	}
	decide(backfill.Round{
		Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{
			Slots: []backfill.SlotID{0}, Least: []backfill.Vector{{8, 0}},
		}}},
		Events: []backfill.Event{job(1), {Kind: backfill.SlotAdded, Slot: backfill.Slot{
			ID: 0, Name: "a", Capacity: backfill.Vector{8, 1000},
		}}},
	}, 1)
	decide(backfill.Round{Now: 5, Events: []backfill.Event{job(2)}})
	decide(backfill.Round{Now: 6, Events: []backfill.Event{{Kind: backfill.Completed, JobID: 1}}}, 2)
	require.Empty(t, host.refusals)
	require.Equal(t, 3, remote.Stats().Syncs)
}
