package condorsim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// TestJobsThatDisplaceEachOtherForEver: without a pause, two jobs take the slot from each other before either is
// done. That is an error which names them, unless a pause or checkpoints let them come to an end.
func TestJobsThatDisplaceEachOtherForEver(t *testing.T) {
	jobs := []workload.Job{
		{Run: 100_000, Procs: 4, User: "ann"}, {Submit: 100, Run: 100, Procs: 4, User: "bob"},
	}
	for rules, endless := range map[string]bool{
		"pause: 5": true, "pause: 5m": false, "pause: 0, checkpoint: 5": false, "pause: 0, checkpoint: 1h": true,
	} {
		w := onDescribed(t, one+"preemption: {requirements: 'true', vacate: 10, "+rules+"}\n", jobs...)
		r, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
		if !endless {
			require.NoError(t, err, rules)
			require.True(t, r.Outcomes[0].Ended && r.Outcomes[1].Ended, rules)
			continue
		}
		require.ErrorContains(t, err, "displace each other for ever", rules)
		require.Regexp(t, "jobs (1 and 2|2 and 1) ", err.Error(), rules)
		require.ErrorContains(t, err, "10000 runs", rules)
		require.ErrorContains(t, err, "a pause in which one of them can end", rules)
	}
}

// TestARushOfPreferredJobs: very many jobs may make way before one completes, if it is not the same again and
// again.
func TestARushOfPreferredJobs(t *testing.T) {
	const count = 10_500
	jobs := make([]workload.Job, 0, 2*count)
	for i := range 2 * count {
		j := workload.Job{Run: 50_000, Procs: 4, User: "ann", Queue: "spare"}
		if i >= count {
			j.Submit, j.Queue = 100, "main"
		}
		jobs = append(jobs, j)
	}
	w := onDescribed(t, fmt.Sprintf("classes: [{name: node, cpus: 4, count: %d}]\npack: {chunk_cpus: 4}\n", count)+
		"preemption: {rank: 'TARGET.Queue =!= \"spare\"', vacate: 10}\n", jobs...)
	r, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
	require.NoError(t, err)
	require.Equal(t, count, r.Displacements)
}

// TestEndsThatAreVoidDoNotPileUp: the pool forgets when runs were to end that came to nothing.
func TestEndsThatAreVoidDoNotPileUp(t *testing.T) {
	w := onDescribed(t, one+"preemption: {requirements: 'true', vacate: 10, pause: 0}\n",
		workload.Job{Run: 1_000_000, Procs: 4, User: "ann"}, workload.Job{Submit: 100, Run: 1_000_000, Procs: 4, User: "bob"})
	w.Jobs[0].Estimate = backfill.Time(5)
	pool := condorsim.NewPool(w, nil)
	_, err := condorsim.RunOn(t.Context(), w, link(t, "easy", nil), pool)
	require.Error(t, err)
	require.Less(t, pool.Ends(), 3000)
}
