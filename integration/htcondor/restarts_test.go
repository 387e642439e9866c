package htcondor_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestStartdRestarts kills a startd with jobs that run there for long, while others wait for it. The
// others start when condor_master has started it again. The first ones run again when their schedd
// has given their runs up.
func TestStartdRestarts(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"NODES=2", "CPUS=2"}, "", []scenario{
		{"a startd shuts down", startdShutsDown},
		{"a startd restarts", startdRestarts},
	})
}

// startdShutsDown ends a startd gently, which evicts its jobs. They run again when it is back. That
// they begin later than they were promised is not because their starts failed.
func startdShutsDown(t *testing.T, pool *ourPool) {
	t.Helper()
	pool.permit("slot ended")
	jobs := pool.Submit("alice", sleep(20, 1, 2, on("n1"), estimate+"25"))
	pool.WaitStatus(pooltest.Running, time.Minute, jobs...)
	pool.Signal("n1", syscall.SIGTERM)
	pool.WaitDone(2*time.Minute, jobs...)
	for _, job := range jobs {
		require.Greater(t, len(runsOf(pool.Audit(), job)), 1, "%v", job)
	}
}

// returned is how long after its return a startd has a job again, at most.
const returned = 15 * time.Second

func startdRestarts(t *testing.T, pool *ourPool) {
	t.Helper()
	lease := "job_lease_duration = 60" // for so long the schedd says that the jobs run; by default 40 minutes
	lost := pool.Submit("alice", sleep(900, 1, 2, on("n1"), estimate+"900", lease))
	pool.WaitStatus(pooltest.Running, time.Minute, lost...)
	wait := pool.Submit("bob", sleep(3, 1, 2, on("n1"), estimate+"5"))
	since := func() int {
		for _, ad := range pool.Slots("-constraint", `PartitionableSlot && regexp("@n1@", Name)`) {
			return ad.Int("DaemonStartTime")
		}
		return 0
	}
	before := since()
	require.NotZero(t, before)
	pool.Kill("n1")
	pool.Wait("the startd to return", time.Minute, func() bool { return since() > before })
	back := time.Now()
	pool.WaitDone(2*time.Minute, wait...)
	audit := pool.Audit()
	for _, job := range wait {
		start := startOf(t, audit, job)
		t.Logf("job %v started %.1f s after the startd's return, of which the collector was told at %s", job,
			start.Sub(back).Seconds(), back.Format(time.TimeOnly))
		require.WithinRange(t, start, time.Unix(int64(before), 0), back.Add(returned))
	}
	for _, job := range lost {
		require.Equal(t, pooltest.Running, pool.Statuses()[job], "for its schedd")
	}
	pool.Wait("the first jobs to run again", 2*time.Minute, func() bool {
		audit = pool.Audit()
		return len(runsOf(audit, lost[0])) == 2 && len(runsOf(audit, lost[1])) == 2
	})
}
