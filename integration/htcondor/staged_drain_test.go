package htcondor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestDrains stages cmd_drain: a machine that drains takes no job until that is cancelled; a job
// ends in peace if draining is graceful, and comes back to the queue if it is quick.
func TestDrains(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"CPUS=3"}, "BACKFILL_POLICY = easy\nMaxJobRetirementTime = 120\nMachineMaxVacateTime = 5", []scenario{
		{"nothing starts until it is cancelled", func(t *testing.T, pool *ourPool) {
			t.Helper()
			pool.As("root", "condor_drain", pooltest.Host)
			pool.waitState("Drained")
			jobs := pool.Submit("alice", sleep(1, 1, 1, estimate+"1"))
			pool.moreCycles(4)
			require.Equal(t, pooltest.Idle, pool.Statuses()[jobs[0]])
			pool.As("root", "condor_drain", "-cancel", pooltest.Host)
			pool.WaitDone(time.Minute, jobs...)
		}},
		{"graceful", func(t *testing.T, pool *ourPool) {
			t.Helper()
			jobs := pool.Submit("alice", sleep(10, 1, 1, estimate+"10"))
			pool.WaitStatus(pooltest.Running, time.Minute, jobs...)
			pool.As("root", "condor_drain", "-graceful", pooltest.Host)
			pool.WaitDone(time.Minute, jobs...)
			require.Len(t, runsOf(pool.Audit(), jobs[0]), 1)
			pool.waitState("Drained")
			pool.As("root", "condor_drain", "-cancel", pooltest.Host)
			pool.waitState("Unclaimed")
		}},
		{"quick", func(t *testing.T, pool *ourPool) {
			t.Helper()
			jobs := pool.Submit("alice", sleep(600, 1, 1, estimate+"600"))
			pool.WaitStatus(pooltest.Running, time.Minute, jobs...)
			pool.As("root", "condor_drain", "-quick", pooltest.Host)
			pool.WaitStatus(pooltest.Idle, time.Minute, jobs...)
			pool.waitState("Drained")
			pool.moreCycles(2)
			require.Equal(t, pooltest.Idle, pool.Statuses()[jobs[0]])
			pool.As("root", "condor_drain", "-cancel", pooltest.Host)
			pool.WaitStatus(pooltest.Running, time.Minute, jobs...)
			pool.As("alice", "condor_rm", "alice")
		}},
	})
}

// waitState waits until the pool's only partitionable slot has this state.
func (p *ourPool) waitState(state string) {
	p.Wait("the slot to be "+state, time.Minute, func() bool {
		return len(p.Slots("-constraint", `PartitionableSlot && State == "`+state+`"`)) == 1
	})
}

// TestScavenging stages cmd_drain_scavenging, and test_drain_policies as far as it is a
// negotiator's: as jobs leave a machine that drains, those that condor_drain -start admits take
// their place. They make way as soon as draining is over.
func TestScavenging(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"CPUS=3"}, "BACKFILL_POLICY = easy\nMaxJobRetirementTime = 300\nMachineMaxVacateTime = 5", []scenario{
		{"scavenging", func(t *testing.T, pool *ourPool) {
			t.Helper()
			long := pool.Submit("alice", sleep(600, 1, 3, estimate+"600"))
			pool.WaitStatus(pooltest.Running, time.Minute, long...)
			fills := pool.Submit("bob", sleep(600, 1, 1, estimate+"600", "+IsBackfill = True", "MaxJobRetirementTime = 20"))
			other := pool.Submit("bob", sleep(600, 1, 1, estimate+"600", "+IsBackfill = False", "MaxJobRetirementTime = 20"))
			pool.As("root", "condor_drain", "-start", "TARGET.IsBackfill", pooltest.Host)
			pool.waitState("Drained")
			pool.moreCycles(2)
			require.Equal(t, pooltest.Idle, pool.Statuses()[fills[0]], "no core is free")
			pool.As("alice", "condor_rm", long[0].String())
			pool.WaitStatus(pooltest.Running, time.Minute, fills...)
			pool.As("alice", "condor_rm", long[1].String())
			pool.moreCycles(3)
			require.Equal(t, pooltest.Idle, pool.Statuses()[other[0]])
			pool.As("alice", "condor_rm", long[2].String())
			pool.WaitStatus(pooltest.Idle, time.Minute, fills...) // the machine is drained
			pool.moreCycles(2)
			require.Equal(t, pooltest.Idle, pool.Statuses()[other[0]])
			pool.As("root", "condor_drain", "-cancel", pooltest.Host)
			pool.WaitStatus(pooltest.Running, time.Minute, fills[0], other[0])
		}},
	})
}
