package policies_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// BenchmarkPlanManySlots measures arrivals that are promised a start, one a round, on a full pool
// of slots that are all alike, or of five kinds. Twice as many jobs run as there are slots, and
// half as many wait when it begins; a job has up to 32 chunks of one cpu. The pool is a new one before the
// first job would end.
func BenchmarkPlanManySlots(b *testing.B) {
	for _, policy := range []string{"slack", "conservative"} {
		for _, slots := range []int{100, 1000, 10000} {
			for _, kinds := range []int{1, 5} {
				b.Run(fmt.Sprintf("policy=%s/slots=%d/kinds=%d", policy, slots, kinds), func(b *testing.B) {
					planManySlots(b, policy, slots, kinds)
				})
			}
		}
	}
}

func planManySlots(b *testing.B, policy string, slots, kinds int) {
	b.Helper()
	const shortest = 600 // of the jobs, in seconds
	sizes := []int{1, 1, 4, 1, 32, 8, 1, 16}
	var h *backfill.Host
	var r backfill.Round
	n := 0
	arrive := func(nodes int) {
		e := submission(backfill.JobID(1+n), r.Now, a{shortest + 37*backfill.Time(n%500), v(1)})
		e.Job.Nodes = nodes
		r.Events = append(r.Events, e)
		n++
	}
	decide := func() {
		_, err := h.Decide(b.Context(), r)
		require.NoError(b, err)
		r = backfill.Round{Now: r.Now + 1}
	}
	fill := func() {
		h, r, n = hostBench(b, backfill.NewState([]string{"cpus"}, profile.ByRank), policy), backfill.Round{}, 0
		var all backfill.Candidates
		for i := range slots {
			all.Slots = append(all.Slots, backfill.SlotID(i))
			r.Events = append(r.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: backfill.Slot{
				ID: backfill.SlotID(i), Name: fmt.Sprintf("slot%05d", i), Capacity: v(int64(32 + 8*(i%kinds))),
			}})
		}
		r.Candidates = []backfill.CandidateSet{{Candidates: all}}
		for range 2 * slots {
			arrive(16 + 4*(kinds-1)/2)
		}
		decide()
		for i := range slots / 2 {
			arrive(sizes[i%len(sizes)])
		}
		decide()
	}
	fill()
	for b.Loop() {
		if r.Now == shortest {
			b.StopTimer()
			fill()
			b.StartTimer()
		}
		arrive(sizes[n%len(sizes)])
		decide()
	}
}

// BenchmarkMoveAlike measures the round in which a job that has all of a slot ends early, and all jobs behind
// it move forward: arrays of jobs that are alike, each of which fills the slot.
func BenchmarkMoveAlike(b *testing.B) {
	const cpus, arrays = 1000, 10
	for b.Loop() {
		b.StopTimer()
		h := hostBench(b, backfill.NewState([]string{"cpus"}, profile.ByRank), "conservative")
		r := backfill.Round{
			Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}}},
			Events: []backfill.Event{
				{Kind: backfill.SlotAdded, Slot: backfill.Slot{ID: 0, Name: "slot", Capacity: v(cpus)}},
				submission(1, 0, a{600, v(cpus)}),
			},
		}
		for i := range cpus * arrays {
			r.Events = append(r.Events, submission(backfill.JobID(2+i), 0, a{600, v(1)}))
		}
		_, err := h.Decide(b.Context(), r)
		require.NoError(b, err)
		b.StartTimer()
		d, err := h.Decide(b.Context(), backfill.Round{
			Now: 300, Events: []backfill.Event{{Kind: backfill.Completed, JobID: 1}},
		})
		require.NoError(b, err)
		require.Len(b, d.Started, cpus)
	}
}
