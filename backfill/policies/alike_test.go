package policies_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// TestAlikeSlotsAreNoOthers checks that reservations which make way for each other get the same slots in
// a pool whose slots are alike, where lists of equal slots say which, and in one whose slots also have
// some of a resource that nobody asks for, where each slot is looked at.
func TestAlikeSlotsAreNoOthers(t *testing.T) {
	moves := 0
	for seed := range thorough.Seeds(60, 600) {
		random := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // not for secrets
		slots, capacity := 2+random.IntN(80), 1+random.Int64N(8)
		rule := []profile.Rule{profile.ByRank, profile.Pack, profile.Spread}[random.IntN(3)]
		rank := make([]int32, slots)
		if random.IntN(3) == 0 {
			for i := range rank {
				rank[i] = random.Int32N(2)
			}
		}
		var hosts []*backfill.Host
		for _, unasked := range []int64{0, 5} {
			spec, err := policies.Named("slack")
			require.NoError(t, err)
			policy, err := spec.Make(slacks[seed%uint64(len(slacks))].options)
			require.NoError(t, err)
			spec.New = func(backfill.Values) (backfill.Policy, error) { return policy, nil }
			h := hosting(t, backfill.NewState([]string{"cpus", "gpus"}, rule), spec, "fcfs", plannings[0])
			r := backfill.Round{}
			all := backfill.Candidates{Rank: rank}
			for i := range slots {
				id := backfill.SlotID(i)
				all.Slots = append(all.Slots, id)
				name := fmt.Sprintf("%02d", i*37%101) // not in the order of their numbers
				r.Events = append(r.Events, backfill.Event{
					Kind: backfill.SlotAdded, Slot: backfill.Slot{ID: id, Name: name, Capacity: v(capacity, unasked)},
				})
			}
			r.Candidates = []backfill.CandidateSet{{Candidates: all}}
			decideOnce(t, h, r)
			hosts = append(hosts, h)
		}
		cpus := int64(slots) * capacity
		for n, now := backfill.JobID(1), backfill.Time(1); n < 120; now += backfill.Time(1 + random.IntN(9)) {
			r := backfill.Round{Now: now}
			hosts[0].State.Running()(func(run backfill.RunningJob) bool {
				if run.End <= now || random.IntN(9) == 0 {
					r.Events = append(r.Events, backfill.Event{Kind: backfill.Completed, JobID: run.Job.ID})
				}
				return true
			})
			for range random.IntN(4) {
				e := submission(n, now, a{backfill.Time(1 + random.Int64N(40)), v(1, 0)})
				e.Job.Nodes = 1 + random.IntN(int(1+random.Int64N(cpus)))
				r.Events = append(r.Events, e)
				n++
			}
			want, err := hosts[0].Decide(t.Context(), backfill.Round{Now: now, Events: slices.Clone(r.Events)})
			require.NoError(t, err)
			got, err := hosts[1].Decide(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, want.Replaced, got.Replaced, "seed %d", seed)
			require.Equal(t, placesOf(hosts[0].State), placesOf(hosts[1].State), "seed %d", seed)
			moves += len(want.Replaced)
		}
	}
	require.Positive(t, moves, "nothing was moved")
}
