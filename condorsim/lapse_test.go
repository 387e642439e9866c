package condorsim_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// TestAPromiseLapsesWithTheRun: a job that loses its slot under a policy without guarantees is promised nothing
// any more, whether it starts again at once or later; one that keeps its slot has kept its promise.
func TestAPromiseLapsesWithTheRun(t *testing.T) {
	for _, c := range []struct {
		pool  string
		start backfill.Time // of the last run of the first job
	}{
		{"classes: [{name: node, cpus: 4, count: 2}]\npack: {chunk_cpus: 4}\nfailures: [{slots: [node1], at: 100, for: 50}]\n", 100},
		{one + "failures: [{at: 100, for: 50}]\n", 150},
		{one, 0},
	} {
		w := onDescribed(t, c.pool, workload.Job{Run: 1000, Procs: 4}, workload.Job{Submit: 50, Run: 10, Procs: 4})
		changes := make(chan negotiator.Change, 1)
		config := link(t, "conservative", nil)
		config.Changes = changes
		result, err := condorsim.Run(t.Context(), w, config, nil, cycles(func() {
			if changes != nil {
				to := link(t, "easy", nil)
				changes <- negotiator.Change{Policy: to.Policy, Fallback: to.Fallback}
				changes = nil
			}
		}))
		require.NoError(t, err, c.pool)
		require.Equal(t, c.start, result.Outcomes[0].Start, c.pool)
		require.Equal(t, c.start == 0, result.Outcomes[0].Promised, c.pool)
	}
}

// TestPoliciesChangeWhereSlotsFail: whichever policy follows which while slots fail, every run passes the audit,
// so each job starts when it was promised to, or was told that this was broken or lifted.
func TestPoliciesChangeWhereSlotsFail(t *testing.T) {
	var jobs []workload.Job
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 120 {
		run := 1 + random.Int64N(30)
		jobs = append(jobs, workload.Job{
			Submit: int64(i) * 5 / 2, Run: run, Estimate: run + random.Int64N(20), Procs: 1 + random.Int64N(8),
		})
	}
	requeues, broken := 0, 0
	for seed := range uint64(40) {
		w := onDescribed(t, "classes: [{name: node, cpus: 4, count: 3}]\ngive_up_after: 1000\nfailures: [{mtbf: 100, mttr: 10}]\n",
			jobs...)
		w.Seed = seed
		c := link(t, "conservative", nil)
		changes := make(chan negotiator.Change, 1)
		sink := &changing{t: t, random: rand.New(rand.NewPCG(seed, 3)), changes: changes, decisions: map[string]int{}}
		c.Changes = changes
		result, err := condorsim.Run(t.Context(), w, c, nil, sink)
		require.NoError(t, err, seed)
		require.Empty(t, result.Refusals)
		for i, o := range result.Outcomes {
			require.True(t, o.Ended, "job %d", i)
		}
		requeues += result.Requeues
		broken += result.Broken
	}
	require.Positive(t, requeues)
	require.Positive(t, broken)
}
