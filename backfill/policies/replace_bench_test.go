package policies_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// BenchmarkTriesInVain measures rounds of slack in which no job starts, though all slots together have room
// for each: every slot has four of its eight cpus free, on half of the slots three of these are reserved from
// 50 on, and the jobs that wait ask for four cpus on one slot more than half, each for a second less
// than the one before. So in each round eight are tried. With replace=false none is.
func BenchmarkTriesInVain(b *testing.B) {
	for _, slots := range []int{8, 100} {
		for _, replace := range []string{"false", "true"} {
			b.Run(fmt.Sprintf("slots=%d/replace=%s", slots, replace), func(b *testing.B) {
				spec, err := policies.Named("slack")
				require.NoError(b, err)
				policy, err := spec.Make(map[string]string{"replace": replace, "factor": "0"})
				require.NoError(b, err)
				spec.New = func(backfill.Values) (backfill.Policy, error) { return policy, nil }
				main, err := backfill.Link(spec, nil)
				require.NoError(b, err)
				h, err := backfill.NewHost(backfill.NewState([]string{"cpus"}, profile.ByRank), nil, main, main, nil)
				require.NoError(b, err)
				r, all := backfill.Round{}, backfill.Candidates{}
				for id := range backfill.SlotID(slots) {
					all.Slots = append(all.Slots, id)
					r.Events = append(r.Events, backfill.Event{
						Kind: backfill.SlotAdded, Slot: backfill.Slot{ID: id, Name: fmt.Sprintf("slot%04d", id), Capacity: v(8)},
					})
				}
				r.Candidates = []backfill.CandidateSet{{Candidates: all}}
				n := backfill.JobID(0)
				add := func(nodes int, estimate, release backfill.Time, cpus int64) {
					n++
					e := submission(n, 0, a{estimate, v(cpus)})
					e.Job.Nodes, e.Job.Release = nodes, release
					r.Events = append(r.Events, e)
				}
				for range slots {
					add(1, 1_000_000, 0, 4)
				}
				decide(b, h, &r)
				for range slots / 2 {
					add(1, 1_000_000, 50, 3)
				}
				decide(b, h, &r)
				for i := range backfill.Time(200) {
					add(slots/2+1, 300-i, 0, 4)
				}
				decide(b, h, &r)
				for b.Loop() {
					b.StopTimer()
					h.State = h.State.Clone() // which remembers no search
					b.StartTimer()
					decide(b, h, &r)
				}
				require.Equal(b, slots, h.State.RunningJobs())
			})
		}
	}
}

// decide decides a round a second later, and empties it.
func decide(b *testing.B, h *backfill.Host, r *backfill.Round) {
	b.Helper()
	_, err := h.Decide(b.Context(), *r)
	require.NoError(b, err)
	*r = backfill.Round{Now: min(r.Now+1, 10)}
}
