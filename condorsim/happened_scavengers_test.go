package condorsim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// TestScavengersAreNotCountedAsHeld: nothing is recorded of those that fill the pool, which are no jobs of the
// measures; so they are not missing there either, nor one that no slot can take.
func TestScavengersAreNotCountedAsHeld(t *testing.T) {
	w := onDescribed(
		t, one+"scavengers: {users: [ann], fill: {jobs: 30, cpus: 1, run_time: 20}}\n",
		workload.Job{Run: 100, Procs: 1, User: "bob", HasWaited: true}, workload.Job{Run: 50, Procs: 1, User: "bob"},
		workload.Job{Run: 50, Procs: 9, User: "ann", WrongStart: true},
	)
	r, err := condorsim.Happened(w)
	require.NoError(t, err)
	require.Equal(t, 1, r.Held())
	require.Equal(t, map[string]int{condorsim.NoRecordedStart: 1}, r.HeldBecause())
	require.Zero(t, condorsim.WrongStarts(w))
	r, err = condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
	require.NoError(t, err)
	require.Zero(t, r.Held())
	require.Empty(t, r.HeldBecause())
	r.OnlyRecorded()
	require.Equal(t, 1, r.Held())

	w = onDescribed(
		t, one+"scavengers: {users: [ann]}\n", workload.Job{Run: 100, Procs: 1, User: "ann", HasWaited: true},
		workload.Job{Run: 50, Procs: 1, User: "bob"},
	)
	_, err = condorsim.Happened(w)
	require.ErrorContains(t, err, "no job has a recorded start")
}
