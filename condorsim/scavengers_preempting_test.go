package condorsim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// TestScavengersWherePlacesGoToBetterJobs: where jobs retire for long, better ones come meanwhile, and others
// scavenge what is idle, every run passes the audit, each job runs to its end, and both kinds of jobs make way.
func TestScavengersWherePlacesGoToBetterJobs(t *testing.T) {
	ousted, scavenged, cases := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		cases++
		w := preempting(t, rt)
		for _, slot := range w.Slots {
			rank := rapid.SampledFrom([]string{"TARGET.RequestCpus", `3 * (Owner == "u1") + 2 * (Owner == "u2") + (Owner == "u3")`}).Draw(rt, "rank")
			require.NoError(rt, slot.Ad.SetExpr("Rank", rank))
		}
		w.Preemption.Retirement = backfill.Time(rapid.SampledFrom([]int{30, 100, 400, 400}).Draw(rt, "long retirement"))
		w.Preemption.Checkpoint = backfill.Time(rapid.SampledFrom([]int{0, 7}).Draw(rt, "checkpoint"))
		w.Scavengers = &condorsim.Scavengers{Vacate: backfill.Time(rapid.SampledFrom([]int{0, 1, 10, 40}).Draw(rt, "leaves in"))}
		some := false
		for i := range w.Jobs {
			w.Jobs[i].Scavenger = i > 0 && rapid.IntRange(0, 2).Draw(rt, "scavenges") == 0
			some = some || w.Jobs[i].Scavenger
		}
		if !some {
			w.Scavengers = nil
		}
		if rapid.IntRange(0, 2).Draw(rt, "outage") == 0 {
			w.Outages = []pools.Outage{{
				Slots: []int{0}, At: backfill.Time(rapid.IntRange(1, 200).Draw(rt, "at")), For: 30, Drain: rapid.Bool().Draw(rt, "drain"),
			}}
		}
		c := link(t, rapid.SampledFrom([]string{"easy", "fcfs", "conservative", "slack", "pc"}).Draw(rt, "policy"), nil)
		c.Preemption = rulesToTry(rt)
		c.Preemption.Early = true
		result, err := condorsim.Run(t.Context(), w, c, nil, sink(func(r *negotiator.Report) error {
			for i := range r.Preempted {
				ousted += len(r.Preempted[i].Ousted)
			}
			if r.Scavengers != nil {
				scavenged += len(r.Scavengers.Displaced)
			}
			return nil
		}))
		require.NoError(rt, err)
		for i := range result.Outcomes {
			require.True(rt, result.Outcomes[i].Ended, "job %d", i)
		}
	})
	require.Positive(t, scavenged)
	if cases >= manyCases {
		require.Positive(t, ousted)
	}
}
