package host

import (
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

// twoLicences returns the first round of a pool of one slot of four cpus with a limit of 2, and a job that
// takes an amount of it.
func twoLicences() (backfill.Round, func(id backfill.JobID, amount int64) backfill.Event) {
	first := backfill.Round{
		Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}}},
		Rows:       []backfill.Row{{Name: "licences", Height: 2}},
		Events: []backfill.Event{{
			Kind: backfill.SlotAdded, Slot: backfill.Slot{Name: "a", Capacity: backfill.Vector{4, 1000}},
		}},
	}
	return first, func(id backfill.JobID, amount int64) backfill.Event {
		j := &backfill.Job{
			ID: id, Position: backfill.QueuePosition{Proc: int64(id)}, Nodes: 1, Request: backfill.Vector{1, 1}, Estimate: 100,
		}
		if amount > 0 {
			j.Takes = []backfill.Take{{Amount: amount}}
		}
		return backfill.Event{Kind: backfill.Submitted, Job: j}
	}
}

// A plugin that knows of no limits is told which jobs have room in them, with the whole state in each
// round. A newer plugin decides the same with one copy of the state.
func TestAnOlderPluginIsToldWhoHasRoom(t *testing.T) {
	for _, policy := range []string{"first-fit", "easy"} {
		for _, knows := range []bool{false, true} {
			server := sdk.NewServer(named(t, policy), hclog.NewNullLogger())
			remote := inProcess(t, Options{}, older{server})
			if knows {
				remote = inProcess(t, Options{}, server)
			}
			host := newHost(t, "fcfs", remote)
			decide := func(r backfill.Round, starts ...backfill.JobID) {
				t.Helper()
				d, err := host.Decide(t.Context(), r)
				require.NoError(t, err)
				require.Empty(t, host.refusals)
				var started []backfill.JobID
				for _, s := range d.Started {
					started = append(started, s.Job.ID)
				}
				require.Equal(t, starts, started)
			}
			r, job := twoLicences()
			r.Events = append(r.Events, job(1, 1), job(2, 2), job(3, 1), job(4, 0))
			decide(r, 1, 3, 4) // job 2 has no room beside job 1
			reason, _ := host.State.Reason(2)
			require.Equal(t, &backfill.Limit{Name: "licences", Height: 2, Taken: 2, Wants: 2}, reason.Limit)
			decide(backfill.Round{Now: 1, Events: []backfill.Event{{Kind: backfill.Completed, JobID: 1}}})
			decide(backfill.Round{Now: 2, Rows: []backfill.Row{{Name: "licences", Height: 3}}}, 2)
			require.Equal(t, map[bool]int{false: 3, true: 1}[knows], remote.Stats().Syncs)
		}
	}
}

// A plugin that gives guarantees and knows of no limits is not asked where there are some.
func TestAnOlderPluginPromisesNothingWhereThereAreLimits(t *testing.T) {
	remote := inProcess(t, Options{}, older{sdk.NewServer(named(t, "pc"), hclog.NewNullLogger())})
	host := newHost(t, "fcfs", remote)
	r, job := twoLicences()
	r.Events = append(r.Events, job(1, 1))
	d, err := host.Decide(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, "conservative", d.By)
	require.Len(t, host.refusals, 1)
	require.ErrorContains(t, host.refusals[0].Err, "it does not know what is in the pool: limits of the pool")
}
