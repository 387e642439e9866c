package host

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

// gangs returns a pool in which so many jobs wait, each for a chunk on each of the slots, and the
// round in which they arrive.
func gangs(t *testing.T, slots, jobs int) (*backfill.State, backfill.Round) {
	t.Helper()
	r := backfill.Round{Candidates: []backfill.CandidateSet{{}}}
	for id := range backfill.SlotID(slots) {
		slot := backfill.Slot{ID: id, Capacity: backfill.Vector{4, 100}}
		r.Events = append(r.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: slot})
		r.Candidates[0].Candidates.Slots = append(r.Candidates[0].Candidates.Slots, id)
	}
	for id := range backfill.JobID(jobs) {
		r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Job: &backfill.Job{
			ID: id + 1, Nodes: slots, Request: backfill.Vector{1, 1}, Estimate: 10,
			Position: backfill.QueuePosition{Cluster: int64(id)}, Labels: map[string]string{trouble: "yes"},
		}})
	}
	return newPool(), r
}

// restless moves each job so often, each time to another instant of which there are millions.
func restless(slots, jobs, moves int) func(*policyv1.Decide, *policyv1.PolicyMessage) {
	place := &policyv1.Placement{}
	for id := range int32(slots) {
		place.Slots = append(place.Slots, id)
	}
	return func(asked *policyv1.Decide, m *policyv1.PolicyMessage) {
		var journal []*policyv1.Action
		for i := range jobs * moves {
			journal = append(journal, &policyv1.Action{
				After: int32(len(asked.GetRound().GetEvents())), Kind: policyv1.ActionKind_ACTION_KIND_RESERVE,
				Job: int64(i%jobs + 1), At: 100 + 20*int64(i*7919%1_000_003), Placement: place,
			})
		}
		m.GetDecision().Journal = journal
	}
}

// What an answer makes the host do ends with the time that the plugin had for it: a decision within
// all bounds, of a megabyte, once took the host 15 seconds to check.
func TestAnAnswerThatTakesLongToCheckIsLate(t *testing.T) {
	const slots, jobs, moves = 500, 500, 8
	state, r := gangs(t, slots, jobs)
	remote := inProcess(t, Options{Deadline: time.Second},
		liar{sdk.NewServer(named(t, "fcfs"), hclog.NewNullLogger()), restless(slots, jobs, moves), false})
	host := newHostOn(t, state, "fcfs", remote)
	d, err := host.Decide(t.Context(), r)
	require.NoError(t, err)
	require.Len(t, host.refusals, 1)
	require.ErrorContains(t, host.refusals[0].Err, "no decision within 1s")
	require.Equal(t, Stats{Starts: 1, Syncs: 1, Failures: 1}, happened(remote))
	require.Equal(t, "easy", d.By, "the fallback decides")
	require.Len(t, d.Started, 4, "as many as fit")
}

// The places of a decision are bounded in all, by what its jobs may need, and not only those of
// each action.
func TestPlacesAreBoundedInAll(t *testing.T) {
	const slots, jobs = 500, 3
	state, r := gangs(t, slots, jobs)
	tx, err := state.Open(r)
	require.NoError(t, err)
	_, err = tx.Close()
	require.NoError(t, err)
	tx, err = state.Open(backfill.Round{Now: 1})
	require.NoError(t, err)
	most := (fewChunks + moves*jobs*slots) / slots
	m := &policyv1.PolicyMessage{Message: &policyv1.PolicyMessage_Decision{Decision: &policyv1.Decision{}}}
	restless(slots, most, 1)(&policyv1.Decide{}, m)
	require.NoError(t, bounded(m.GetDecision().GetJournal(), tx.Cycle))
	restless(slots, most+1, 1)(&policyv1.Decide{}, m)
	require.EqualError(t, bounded(m.GetDecision().GetJournal(), tx.Cycle),
		"the decision puts chunks on slots 106500 times, more than 106000")
}

// A process that is killed may never end, and nobody waits for that long.
func TestWhatDoesNotEndIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		require.False(t, endsIn(time.Second, func() { <-end }))
		close(end)
		require.True(t, endsIn(time.Second, func() { <-end }))
	})
}
