package policies_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// TestGuaranteeing requires that whoever must choose a policy with guarantees is told of all of them.
func TestGuaranteeing(t *testing.T) {
	require.Equal(t, "conservative, dc, pc, slack and slack-small", policies.Guaranteeing("and"))
	easy, err := policies.Named("easy")
	require.NoError(t, err)
	slack, err := policies.Named("slack")
	require.NoError(t, err)
	_, err = policies.FallbackNamed(easy.Name, slack)
	require.ErrorContains(t, err, "choose conservative, dc, pc, slack or slack-small")
}

// TestBackAndAwayPromised checks that a job that was held, as it fitted on no slot, and starts in the round
// in which it comes back was promised a start, as one is that starts at its arrival.
func TestBackAndAwayPromised(t *testing.T) {
	for _, spec := range policies.All() {
		if !spec.Guarantees {
			continue
		}
		h := host(t, backfill.NewState([]string{"cpus"}, profile.ByRank), spec.Name, near(spec.Name))
		up := func(id backfill.SlotID) backfill.Event {
			return backfill.Event{
				Kind: backfill.SlotAdded, Slot: backfill.Slot{ID: id, Name: string(rune('a' + id)), Capacity: v(1)},
			}
		}
		e := submission(1, 1, a{10, v(1)})
		e.Job.Nodes = 2
		lost := backfill.Event{Kind: backfill.SlotLost, Slot: backfill.Slot{ID: 1}}
		var d backfill.Decision
		for now, events := range [][]backfill.Event{{up(0), up(1)}, {lost, e}, {up(1)}} {
			r := backfill.Round{Now: backfill.Time(now), Events: events}
			if now == 0 {
				r.Candidates = []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0, 1}}}}
			}
			var err error
			d, err = h.Decide(t.Context(), r)
			require.NoError(t, err)
		}
		require.Equal(t, started(1), ids(d))
		require.True(t, d.Started[0].Promised, spec.Name)
		latest := map[bool]backfill.Time{false: 2, true: 22}[spec.Name == "slack" || spec.Name == "slack-small"]
		require.Equal(t, latest, d.Started[0].Guarantee, spec.Name)
		require.Equal(t, backfill.JobState{
			Job: e.Job, Placement: d.Started[0].Placement, Alone: true,
			Standing: backfill.Standing{Running: true, Start: 2, End: 12, Promised: true, Guarantee: latest},
		}, h.State.Snapshot().Jobs[0])
	}
}
