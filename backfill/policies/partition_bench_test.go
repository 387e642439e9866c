package policies_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// partitionedMachine returns the round that brings up a machine of Intrepid's size: 80 midplanes,
// 60 wires, and some 300 bundles of 1 to 80 adjacent midplanes. There is a candidate set for each
// of the nine sizes.
func partitionedMachine() (r backfill.Round) {
	const midplanes, wires = 80, 60
	for i := range midplanes + wires {
		r.Events = append(r.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: backfill.Slot{
			ID: backfill.SlotID(i), Name: fmt.Sprintf("slot%03d", i), Capacity: v(512, 1<<20),
		}})
	}
	for kind, size := range []int{1, 2, 4, 8, 16, 32, 48, 64, 80} {
		set := backfill.CandidateSet{ID: kind}
		for first := 0; first+size <= midplanes; first += max(1, size/4) {
			b := backfill.Bundle{ID: backfill.BundleID(len(r.Bundles)), Name: fmt.Sprintf("R%02d-%d", first, size)}
			for i := range size {
				b.Slots = append(b.Slots, backfill.SlotID(first+i))
			}
			for i := 1; i < size; i *= 2 { // some of the wires between them
				b.Slots = append(b.Slots, backfill.SlotID(midplanes+(first+i)*wires/(2*midplanes)))
			}
			slices.Sort(b.Slots)
			b.Slots = slices.Compact(b.Slots)
			r.Bundles = append(r.Bundles, b)
			set.Candidates.Bundles = append(set.Candidates.Bundles, b.ID)
		}
		r.Candidates = append(r.Candidates, set)
	}
	return r
}

// BenchmarkPartitions measures a cycle on a partitioned machine in which jobs have ended, some of
// them early, and new ones have arrived, so that always about 50 or 500 jobs wait.
func BenchmarkPartitions(b *testing.B) {
	for _, policy := range []string{"easy", "drain", "conservative", "dc"} {
		for _, waiting := range []int{50, 500} {
			b.Run(fmt.Sprintf("policy=%s/waiting=%d", policy, waiting), func(b *testing.B) {
				h := hostBench(b, backfill.NewState([]string{"cpus", "memory"}, profile.ByRank), policy)
				_, err := h.Decide(b.Context(), partitionedMachine())
				require.NoError(b, err)
				random, id, now := rand.New(rand.NewPCG(1, 2)), backfill.JobID(0), backfill.Time(0)
				arrival := func() backfill.Event {
					id++
					return backfill.Event{Kind: backfill.Submitted, Job: &backfill.Job{
						ID: id, Submit: now, Position: backfill.QueuePosition{Cluster: int64(id)}, Nodes: 1,
						Whole: true, Request: v(1, 1),
						Estimate: backfill.Time(600 + random.IntN(36000)), Candidates: min(random.IntN(9),
							random.IntN(9)),
					}}
				}
				r := backfill.Round{}
				for range waiting {
					r.Events = append(r.Events, arrival())
				}
				for b.Loop() {
					_, err = h.Decide(b.Context(), r)
					require.NoError(b, err)
					now = min(now+60, h.State.NextWake())
					r = backfill.Round{Now: now}
					for _, j := range h.State.Snapshot().Jobs {
						if j.Running && (j.End <= now || len(r.Events) == 0 && random.IntN(4) == 0) {
							r.Events = append(r.Events, backfill.Event{Kind: backfill.Completed, JobID: j.Job.ID})
						}
					}
					for h.State.Waiting()+len(r.Events) < waiting+1 {
						r.Events = append(r.Events, arrival())
					}
				}
			})
		}
	}
}
