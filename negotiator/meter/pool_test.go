package meter

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// BenchmarkLook is what it costs to collect after a cycle of a large pool, but for the copy of the state: 10,000
// slots, on each of which a job runs, and 50,000 waiting jobs of 500 kinds and 40 groups.
func BenchmarkLook(b *testing.B) {
	snap := backfill.Snapshot{Resources: []string{"cpus", "memory"}, Rule: profile.ByRank, Now: 100, Policy: "easy"}
	var all backfill.Candidates
	labels := make([]map[string]string, 40)
	for i := range labels {
		labels[i] = map[string]string{"owner": fmt.Sprint("user", i), "group": fmt.Sprint("group", i)}
	}
	add := func(i int, s backfill.Standing, at backfill.Placement, request ...int64) {
		id := backfill.JobID(len(snap.Jobs) + 1)
		snap.Jobs = append(snap.Jobs, backfill.JobState{Standing: s, Placement: at, Job: &backfill.Job{
			ID: id, Nodes: 1, Request: request, Estimate: backfill.Time(100 + i%7000), Labels: labels[i%len(labels)],
			Position: backfill.QueuePosition{Cluster: int64(id)},
		}})
	}
	for i := range 10_000 {
		id := backfill.SlotID(i)
		slot := backfill.Slot{ID: id, Name: fmt.Sprint("slot", i), Capacity: backfill.Vector{64, 256 << 10}}
		snap.Slots = append(snap.Slots, backfill.SlotState{Slot: slot, Up: true})
		all.Slots = append(all.Slots, id)
		runs := backfill.Standing{Running: true, Start: 50, End: backfill.Time(1000 + i)}
		add(i, runs, backfill.Placement{{Slot: id, Count: 1}}, int64(40+i%25), 1<<10)
	}
	for i := range 50_000 {
		add(i, backfill.Standing{}, nil, int64(1+i%20), int64(1+i/20%25)<<10)
	}
	snap.Candidates = []backfill.CandidateSet{{Candidates: all}}
	state, err := backfill.Restore(snap)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if p := look(state, nil); len(p.groups) != len(labels) {
			b.Fatal("groups are missing")
		}
	}
}
