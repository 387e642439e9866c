package negotiator

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// BenchmarkDisplace is a cycle in which nothing happens on 1,000 machines with a RANK, where 10,000 jobs of 50
// users run and as many wait. none: there are no claims, for comparison; rank: no job is preferred; priority:
// PREEMPTION_REQUIREMENTS asks how long each job has run, and allows nothing.
func BenchmarkDisplace(b *testing.B) {
	const machines, jobs, users = 1000, 10_000, 50
	for _, kind := range []string{"none", "rank", "priority"} {
		b.Run(kind, func(b *testing.B) {
			var rules preempt.Rules
			if kind == "priority" {
				rules.Requirements = expression(b, "time() - EnteredCurrentState > 3600 && RemoteUserPrio > TARGET.SubmitterUserPrio * 1.2")
			}
			n := negotiatorOf(b, "easy", rules)
			claims := newClaims()
			var slots []*Slot
			for i := range machines {
				slots = append(slots, newSlot(b, fmt.Sprintf("slot1@n%d", i), 10, `Rank = Owner == "owner"; OpSys = "LINUX"; Arch = "X86_64"`))
			}
			submitted := make([]*Job, 2*jobs)
			for i := range submitted {
				user := fmt.Sprintf("u%d", i%users)
				submitted[i] = long(b, i, 1, 100_000+i, fmt.Sprintf("Owner = %q; Requirements = TARGET.OpSys == \"LINUX\"", user))
				submitted[i].Submit = 0
				claims.users[backfill.JobID(i)], claims.prios[user] = user, 5
			}
			first := cycle(b, n, Delta{Now: 0, SlotsUp: slots, Submitted: submitted})
			require.Len(b, first.Matches, jobs)
			for _, m := range first.Matches {
				claims.claim(m.Placement[0].Slot, m.Job.ID, claims.users[m.Job.ID], 1, 0)
				claims.claims[m.Job.ID].Ad.SetInt("EnteredCurrentState", int64(m.Job.ID))
			}
			d := Delta{Now: 1}
			if kind != "none" {
				d.Claims = claims
			}
			b.ResetTimer()
			for range b.N {
				d.Now++
				r, err := n.RunCycle(context.Background(), d)
				require.NoError(b, err)
				require.Empty(b, r.Preempted)
			}
		})
	}
}
