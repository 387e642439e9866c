package host

import (
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

// An older plugin is told of those candidates on which as much is free as must be when a job begins, with
// the whole state, in each round. A newer plugin decides the same with one copy of the state.
func TestAPluginIsToldWhereEnoughIsFree(t *testing.T) {
	for _, policy := range []string{"first-fit", "easy"} {
		server := sdk.NewServer(named(t, policy), hclog.NewNullLogger())
		old := inProcess(t, Options{}, older{server})
		startWhereEnoughIsFree(t, old)
		require.Equal(t, 3, old.Stats().Syncs, policy)
		newer := inProcess(t, Options{}, server)
		startWhereEnoughIsFree(t, newer)
		require.Equal(t, 1, newer.Stats().Syncs, policy)
	}
}

// startWhereEnoughIsFree decides on two jobs of 2 cpus on a slot that takes one only while all of its 8
// are free.
func startWhereEnoughIsFree(t *testing.T, remote *Remote) {
	t.Helper()
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
}

// An older plugin that starts too many jobs at once is overruled by the fallback, and then goes on.
func TestAnOlderPluginThatStartsTooMany(t *testing.T) {
	for _, policy := range []string{"first-fit", "easy"} {
		remote := inProcess(t, Options{}, older{sdk.NewServer(named(t, policy), hclog.NewNullLogger())})
		host := newHost(t, "fcfs", remote)
		r := backfill.Round{
			Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{
				Slots: []backfill.SlotID{0}, Least: []backfill.Vector{{6, 0}},
			}}},
			Events: []backfill.Event{{Kind: backfill.SlotAdded, Slot: backfill.Slot{
				ID: 0, Name: "a", Capacity: backfill.Vector{8, 1000},
			}}},
		}
		for id := range backfill.JobID(3) {
			r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Job: &backfill.Job{
				ID: id + 1, Position: backfill.QueuePosition{Proc: int64(id)}, Nodes: 1,
				Request: backfill.Vector{2, 1}, Estimate: 100,
			}})
		}
		d, err := host.Decide(t.Context(), r)
		require.NoError(t, err)
		require.Len(t, d.Started, 2)
		require.Len(t, host.refusals, 1)
		d, err = host.Decide(t.Context(), backfill.Round{Now: 100, Events: []backfill.Event{
			{Kind: backfill.Completed, JobID: 1}, {Kind: backfill.Completed, JobID: 2},
		}})
		require.NoError(t, err)
		require.Len(t, d.Started, 1, policy)
		require.Len(t, host.refusals, 1, "%v", host.refusals)
	}
}

// An older plugin that gives guarantees is not asked where more must be free than a job takes.
func TestAnOlderPluginPromisesNothingWhereMoreMustBeFree(t *testing.T) {
	remote := inProcess(t, Options{}, older{sdk.NewServer(named(t, "pc"), hclog.NewNullLogger())})
	host := newHost(t, "fcfs", remote)
	d, err := host.Decide(t.Context(), backfill.Round{
		Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{
			Slots: []backfill.SlotID{0}, Least: []backfill.Vector{{8, 0}},
		}}},
		Events: []backfill.Event{
			{Kind: backfill.SlotAdded, Slot: backfill.Slot{ID: 0, Name: "a", Capacity: backfill.Vector{8, 1000}}},
			{Kind: backfill.Submitted, Job: &backfill.Job{ID: 1, Nodes: 1, Request: backfill.Vector{2, 1}, Estimate: 100}},
		},
	})
	require.NoError(t, err)
	require.Equal(t, "conservative", d.By)
	require.Len(t, host.refusals, 1)
	require.ErrorContains(t, host.refusals[0].Err, "it does not know what is in the pool: slots that take a job only")
}
