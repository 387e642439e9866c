package condorsim_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// changing switches to another policy after some of the cycles.
type changing struct {
	t         *testing.T
	random    *rand.Rand
	changes   chan negotiator.Change
	made      int
	lifted    int            // promises
	decisions map[string]int // number of decisions by policy
}

func (c *changing) Cycle(r *negotiator.Report) error {
	c.decisions[r.Decision.By]++
	c.lifted += r.Decision.Lifted
	if c.random.IntN(5) > 0 {
		return nil
	}
	all := policies.All()
	to := link(c.t, all[c.random.IntN(len(all))].Name, nil)
	order, err := negotiator.OrderNamed([]string{"fcfs", "sjf", "expr:WaitTime * Width"}[c.random.IntN(3)])
	require.NoError(c.t, err)
	select {
	case c.changes <- negotiator.Change{
		Order: order, Policy: to.Policy, Fallback: to.Fallback,
		Made: func(_ backfill.Time, err error) {
			require.NoError(c.t, err)
			c.made++
		},
	}:
	default:
	}
	return nil
}

// TestPoliciesChangeOnTheWay requires that no decision is refused, whichever policy follows which,
// and that no promise is broken. The audit of each run checks that no job is lost or started twice,
// and that whoever was promised a start, also by a policy before, starts in time or was told that
// this is lifted.
func TestPoliciesChangeOnTheWay(t *testing.T) {
	var jobs []workload.Job
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 120 {
		run := 1 + random.Int64N(30)
		jobs = append(jobs, workload.Job{
			Submit: int64(i) * 5 / 2, Run: run, Estimate: run + random.Int64N(20),
			Procs: 1 + random.Int64N(8),
		})
	}
	for seed := range uint64(20) {
		c := link(t, "conservative", nil)
		changes := make(chan negotiator.Change, 1)
		sink := &changing{t: t, random: rand.New(rand.NewPCG(seed, 3)), changes: changes, decisions: map[string]int{}}
		c.Changes = changes
		result, err := condorsim.Run(t.Context(), newWorkload(t, jobs...), c, nil, sink)
		require.NoError(t, err)
		require.Empty(t, result.Refusals)
		require.Greater(t, sink.made, 10)
		require.Greater(t, len(sink.decisions), 5)
		for i, o := range result.Outcomes {
			require.True(t, o.Ended, "job %d", i)
			require.EqualValues(t, jobs[i].Run, o.End-o.Start)
		}
		require.Zero(t, result.Broken)
		require.Positive(t, sink.lifted)
	}
}

// dead is a policy that was given up.
type dead struct{ backfill.Decider }

func (dead) Decide(context.Context, *backfill.Transaction) error { return backfill.ErrGivenUp }

// TestAnotherTakesThePlaceOfTheOneGivenUp replaces a policy that was given up, also by one of the
// same name, or lets the fallback decide the rest.
func TestAnotherTakesThePlaceOfTheOneGivenUp(t *testing.T) {
	jobs := []workload.Job{
		{Run: 5, Estimate: 5, Procs: 8},
		{Submit: 1, Run: 5, Estimate: 5, Procs: 8},
		{Submit: 2, Run: 5, Estimate: 5, Procs: 8},
	}
	for _, again := range []bool{false, true} {
		changes := make(chan negotiator.Change, 1)
		c := link(t, "easy", nil)
		c.Policy, c.Changes, c.Refused = dead{c.Policy}, changes, nil
		asked := false
		result, err := condorsim.Run(t.Context(), newWorkload(t, jobs...), c, nil, cycles(func() {
			if again && !asked {
				to := link(t, "easy", nil)
				changes <- negotiator.Change{Policy: to.Policy, Fallback: to.Fallback}
				asked = true
			}
		}))
		require.NoError(t, err)
		require.Len(t, result.Refusals, 1)
		require.Equal(t, !again, result.Refusals[0].GivenUp)
	}
}

// cycles is called after each cycle.
type cycles func()

func (c cycles) Cycle(*negotiator.Report) error {
	c()
	return nil
}
