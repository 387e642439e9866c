package ahead_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
)

// BenchmarkPlay plays a hundred rounds in which about 1,000 jobs wait for 100 slots, and jobs end
// before their estimates.
func BenchmarkPlay(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	var p pool
	for id := range 100 {
		p.slots = append(p.slots, backfill.Event{Kind: backfill.SlotAdded, Slot: backfill.Slot{
			ID: backfill.SlotID(id), Name: "node", Capacity: backfill.Vector{8},
		}})
	}
	for id := range 1100 {
		run := backfill.Time(1 + random.Int64N(3600))
		p.jobs = append(p.jobs, &backfill.Job{
			ID: backfill.JobID(id), Position: backfill.QueuePosition{Cluster: int64(id)}, Nodes: 1 + random.IntN(4),
			Request: backfill.Vector{1 + random.Int64N(8)}, Estimate: run * backfill.Time(1+random.Int64N(5)),
		})
		p.runs = append(p.runs, run)
	}
	for _, policy := range []string{"easy", "conservative"} {
		b.Run(policy, func(b *testing.B) {
			r := rules(b, policy, "fcfs")
			s := begun(b, p, r)
			for b.Loop() {
				play, err := r.Play(ahead.Start{State: s.Clone(), End: p.end})
				require.NoError(b, err)
				starts, err := play.Starts(b.Context(), ahead.Bounds{Rounds: 100})
				require.NoError(b, err)
				require.NotEmpty(b, starts)
			}
			b.ReportMetric(float64(s.Waiting()), "waiting")
		})
	}
}
