package htcondor_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
	"github.com/condor-backfill/condor-backfill/integration/poll"
)

// TestStaged stages what HTCondor's own tests ask of a negotiator (job_core_niceuser,
// job_core_priority, test_late_materialization, test_custom_machine_resource, GPUs by their
// properties, test_condor_now), on a machine of two cores, two squids and two GPUs.
func TestStaged(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"CPUS=2"}, `
BACKFILL_POLICY = easy
BACKFILL_RESOURCES = cpus, memory, disk, gpus, squid
MACHINE_RESOURCE_SQUID = 2
MACHINE_RESOURCE_INVENTORY_GPUS = $(LIBEXEC)/condor_gpu_discovery -properties -simulate:1,2
`, []scenario{
		{"nice_user", niceUser},
		{"priority", jobPriority},
		{"late materialization", lateMaterialization},
		{"custom resources", customResources},
		{"require_gpus", requireGPUs},
	})
}

// TestCondorNow is apart: it needs claims that outlive their jobs, and permits broken guarantees.
func TestCondorNow(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"CPUS=2"}, "CLAIM_WORKLIFE = 1200", []scenario{{"condor_now", condorNow}})
}

// startsInTurn checks that jobs which each take the whole machine started in this order.
func startsInTurn(t *testing.T, pool *ourPool, jobs ...pooltest.JobID) {
	t.Helper()
	pool.WaitDone(2*time.Minute, jobs...)
	audit := pool.Audit()
	inOrder := slices.IsSortedFunc(jobs, func(a, b pooltest.JobID) int {
		return startOf(t, audit, a).Compare(startOf(t, audit, b))
	})
	require.True(t, inOrder, "%v", audit.Runs)
}

// occupy has the whole machine busy for some seconds, so that jobs which come meanwhile are decided
// on together.
func occupy(pool *ourPool) {
	pool.WaitStatus(pooltest.Running, time.Minute, pool.Submit("dave", sleep(12, 2, 1, estimate+"12"))...)
}

func niceUser(t *testing.T, pool *ourPool) {
	t.Helper()
	occupy(pool)
	nice := pool.Submit("alice", sleep(1, 2, 1, estimate+"1", "nice_user = true"))
	rude := pool.Submit("alice", sleep(1, 2, 1, estimate+"1"))
	startsInTurn(t, pool, rude[0], nice[0])
}

func jobPriority(t *testing.T, pool *ourPool) {
	t.Helper()
	occupy(pool)
	var jobs []pooltest.JobID
	for _, priority := range []int{0, -10, 10} {
		jobs = append(jobs, pool.Submit("alice", sleep(1, 2, 1, estimate+"1", fmt.Sprint("priority = ", priority)))...)
	}
	startsInTurn(t, pool, jobs[2], jobs[0], jobs[1])
}

// lateMaterialization checks that all jobs of a factory run, although no more than two of them are
// in the queue.
func lateMaterialization(t *testing.T, pool *ourPool) {
	t.Helper()
	cluster := pool.Submit("alice", sleep(2, 1, 5, estimate+"2", "max_materialize = 2"))[0].Cluster
	ours := []string{"-constraint", fmt.Sprint("ClusterId == ", cluster)}
	queued := 0
	pool.Wait("all of the factory's jobs", 2*time.Minute, func() bool {
		queued = max(queued, len(pool.Queue(ours...)))
		return len(pool.History(ours...)) == 5
	})
	require.Equal(t, 2, queued)
}

func customResources(t *testing.T, pool *ourPool) {
	t.Helper()
	jobs := pool.Submit("alice", sleep(4, 0, 5, estimate+"4", "request_squid = 1"))
	pool.WaitDone(2*time.Minute, jobs...)
	require.Equal(t, 2, most(pool.Audit(), jobs...))
}

// requireGPUs checks that a job gets GPUs of the kind that it asks for, that one which asks for
// another kind goes on waiting, and that one whose kind is taken has a reservation and gets it
// later.
func requireGPUs(t *testing.T, pool *ourPool) {
	t.Helper()
	gpu := func(count int, constraint string) []pooltest.JobID {
		return pool.Submit("alice", sleep(15, 0, count, estimate+"15", "request_gpus = 1", "require_gpus = "+constraint))
	}
	never := gpu(1, "Capability >= 99")
	jobs := gpu(3, "Capability > 0.5")
	poll.Contains(t, "reserved", func() string { return pool.As("alice", "negotiator", "start-times") })
	pool.WaitDone(2*time.Minute, jobs...)
	require.Equal(t, 2, most(pool.Audit(), jobs...))
	require.Equal(t, pooltest.Idle, pool.Statuses()[never[0]])
}

// condorNow has a job run now on what two others have.
func condorNow(t *testing.T, pool *ourPool) {
	t.Helper()
	pool.permit("start failed", "start late", "overrun")
	victims := pool.Submit("alice", sleep(60, 1, 2, estimate+"60"))
	pool.WaitStatus(pooltest.Running, time.Minute, victims...)
	urgent := pool.Submit("alice", sleep(1, 2, 1, estimate+"1"))
	pool.As("alice", "condor_now", urgent[0].String(), victims[0].String(), victims[1].String())
	pool.WaitDone(30*time.Second, urgent...)
	pool.WaitStatus(pooltest.Running, time.Minute, victims...)
	require.Greater(t, len(runsOf(pool.Audit(), victims[0])), 1, "it began again")
}
