package condorsim_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// changing asks for another policy after some of the cycles.
type changing struct {
	t       *testing.T
	random  *rand.Rand
	changes chan negotiator.Change
	made    int
	by      map[string]int // decisions
}

func (c *changing) Cycle(r negotiator.Report) error {
	c.by[r.Decision.By]++
	if c.random.IntN(5) > 0 {
		return nil
	}
	all := policies.All()
	to := link(c.t, all[c.random.IntN(len(all))].Name, nil)
	order, err := negotiator.OrderNamed([]string{"fcfs", "sjf", "expr:WaitTime * Width"}[c.random.IntN(3)])
	require.NoError(c.t, err)
	select {
	case c.changes <- negotiator.Change{Order: order, Policy: to.Policy, Fallback: to.Fallback, Made: func(_ backfill.Time, err error) {
		require.NoError(c.t, err)
		c.made++
	}}:
	default:
	}
	return nil
}

// TestPoliciesChangeOnTheWay: no job is lost or started twice, which the audit of
// each run sees to, and nothing is refused, whoever takes over from whom.
func TestPoliciesChangeOnTheWay(t *testing.T) {
	var jobs []workload.Job
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 120 {
		run := 1 + random.Int64N(30)
		jobs = append(jobs, workload.Job{Submit: int64(i) * 5 / 2, Run: run, Estimate: run + random.Int64N(20), Procs: 1 + random.Int64N(8)})
	}
	broken := 0
	for seed := range uint64(20) {
		c := link(t, "conservative", nil)
		changes := make(chan negotiator.Change, 1)
		sink := &changing{t: t, random: rand.New(rand.NewPCG(seed, 3)), changes: changes, by: map[string]int{}}
		c.Changes = changes
		result, err := condorsim.Run(t.Context(), newWorkload(t, jobs...), c, nil, sink)
		require.NoError(t, err)
		require.Empty(t, result.Refusals)
		require.Greater(t, sink.made, 10)
		require.Greater(t, len(sink.by), 5)
		for i, o := range result.Outcomes {
			require.True(t, o.Ended, "job %d", i)
			require.EqualValues(t, jobs[i].Run, o.End-o.Start)
		}
		broken += result.Broken
		for cause := range result.BrokenBy {
			require.Equal(t, "policy changed", cause)
		}
	}
	t.Log("guarantees broken by changes:", broken)
}
