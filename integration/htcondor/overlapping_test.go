package htcondor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestOverlappingSlots: a machine has a second slot with all its cpus once more, HTCondor's backfill
// slot. Jobs that ask for it start there with what the plan leaves idle; the same cpus are never given
// away twice, which the audit of the pool checks.
func TestOverlappingSlots(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"CPUS=4"}, `
BACKFILL_POLICY = easy
NUM_SLOTS_TYPE_2 = 1
SLOT_TYPE_2 = 100%
SLOT_TYPE_2_PARTITIONABLE = True
SLOT_TYPE_2_BACKFILL = True
START = ifThenElse(MY.BackfillSlot =?= True, TARGET.WantBackfill =?= True, True)
UPDATE_INTERVAL = 5
`)
	require.Len(t, pool.Slots("-constraint", "BackfillSlot =?= true"), 1)
	const wants = "+WantBackfill = true\nrequirements = TARGET.BackfillSlot =?= true"
	first := pool.Submit("dave", sleep(10, 4, 1, estimate+"10"))
	pool.WaitStatus(pooltest.Running, time.Minute, first...)
	filling := pool.Submit("bob", sleep(5, 2, 2, estimate+"5", wants))
	second := pool.Submit("alice", sleep(5, 4, 1, estimate+"5"))
	pool.WaitDone(2*time.Minute, append(filling, second...)...)
	audit := pool.Audit()
	for _, job := range filling {
		runs := runsOf(audit, job)
		require.NotEmpty(t, runs)
		require.Regexp(t, "^slot2_", runs[len(runs)-1].Slot)
	}
	wide := runsOf(audit, second[0])
	require.Len(t, wide, 1)
	require.Regexp(t, "^slot1_", wide[0].Slot)
	require.Equal(t, 2, most(audit, filling...), "both fit at once")
}
