package condorsim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// TestABetterJobComesWhileOthersRetire: bob's job is to have the place of alice's, which retires for an hour. In
// that time carol's comes, which the machine prefers: it begins when alice's has left, and not after bob's has
// retired as well. Without early preemption nobody waits for a place before it can be had.
func TestABetterJobComesWhileOthersRetire(t *testing.T) {
	for policy, bobs := range map[string]backfill.Time{
		"conservative": 3660, "slack": 3660, // they promise bob's the next place
		"easy": 7270, // alice's runs again first, and retires once more
	} {
		for _, fair := range []bool{false, true} {
			w := owned(
				t, []string{`(Owner == "bob") + 2 * (Owner == "carol")`}, workload.Job{Run: 10_000, Procs: 4, User: "alice"},
				workload.Job{Submit: 100, Run: 6000, Procs: 4, User: "bob"}, workload.Job{Submit: 200, Run: 50, Procs: 4, User: "carol"},
			)
			w.Preemption.Retirement, w.Preemption.Vacate = 3600, 10
			c := link(t, policy, nil)
			if fair {
				var err error
				w, err = w.WithPriorities(condorsim.Priorities{})
				require.NoError(t, err)
				c.Order, bobs = w.FairShare(), 3660 // alice has used more
			}
			c.Preemption.Early = true
			var made []preempt.Preemption
			r := simulate(t, w, c, func(r *negotiator.Report) { made = append(made, r.Preempted...) })
			require.GreaterOrEqual(t, len(made), 2)
			require.Empty(t, made[0].Ousted)
			require.Equal(t, []backfill.JobID{1}, made[1].Ousted)
			require.EqualValues(t, 3610, made[1].Start)
			require.EqualValues(t, 3610, r.Outcomes[2].Start)
			require.Equal(t, bobs, r.Outcomes[1].Start, policy)
			require.Zero(t, r.Outcomes[1].Requeues)
			require.Zero(t, r.Outcomes[1].Displacements)
		}
	}
}

// manyCases is of how many cases some are sure to have a place that goes to a better job: one in fifty has.
const manyCases = 500

// TestPlacesGoToBetterJobs: where jobs retire for long and better ones come meanwhile, every run passes the audit,
// the rules of preemption are kept, and all jobs run in the end.
func TestPlacesGoToBetterJobs(t *testing.T) {
	ousted, cases := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		cases++
		w := preempting(t, rt)
		for _, slot := range w.Slots {
			rank := rapid.SampledFrom([]string{"TARGET.RequestCpus", `3 * (Owner == "u1") + 2 * (Owner == "u2") + (Owner == "u3")`}).Draw(rt, "rank")
			require.NoError(rt, slot.Ad.SetExpr("Rank", rank))
		}
		w.Preemption.Retirement = backfill.Time(rapid.IntRange(30, 400).Draw(rt, "long retirement"))
		rules := rulesToTry(rt)
		rules.Early = true
		guard := guarded(t, rt, w, rules)
		ousted += guard.ousted
	})
	if cases >= manyCases {
		require.Positive(t, ousted)
	}
}
