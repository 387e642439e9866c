package htcondor_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestPriorityOrder stages job_core_priority: six jobs with priorities, submitted in another order.
// Of two more the priorities change while they wait.
func TestPriorityOrder(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"CPUS=2"}, "BACKFILL_POLICY = easy", []scenario{{"job_core_priority", func(t *testing.T, pool *ourPool) {
		t.Helper()
		occupy(pool)
		jobs := map[int]pooltest.JobID{}
		for _, priority := range []int{2, 10, 1, 8, 3, 5, 0, -1} {
			jobs[priority] = pool.Submit("alice", sleep(1, 2, 1, estimate+"1", fmt.Sprint("priority = ", priority)))[0]
		}
		pool.As("alice", "condor_prio", "-p", "20", jobs[0].String())
		pool.As("alice", "condor_prio", "-p", "4", jobs[-1].String())
		startsInTurn(t, pool, jobs[0], jobs[10], jobs[8], jobs[5], jobs[-1], jobs[3], jobs[2], jobs[1])
	}}})
}

// TestRankAndAutoclusters stages job_rank_and_aclustering: each of five jobs prefers another slot,
// by an attribute that jobs alone refer to, and gets it.
func TestRankAndAutoclusters(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"CPUS=5", "SLOTS=static"}, `
BACKFILL_POLICY = easy
STARTD_ATTRS = $(STARTD_ATTRS) MachineDataSet
SLOT1_MachineDataSet = "S00"
SLOT2_MachineDataSet = "S01"
SLOT3_MachineDataSet = "S02"
SLOT4_MachineDataSet = "S03"
SLOT5_MachineDataSet = "S04"
`, []scenario{{"job_rank_and_aclustering", func(t *testing.T, pool *ourPool) {
		t.Helper()
		jobs := pool.Submit("alice", sleep(600, 1, 5, estimate+"600", "job_machine_attrs = MachineDataSet",
			"rank = JobDataSet =?= MachineDataSet", `+JobDataSet = "S0$(Process)"`))
		pool.WaitStatus(pooltest.Running, time.Minute, jobs...)
		clusters := map[int]bool{}
		for _, ad := range pool.Queue() {
			require.Equal(t, ad.Text("JobDataSet"), ad.Text("MachineAttrMachineDataSet0"), ad.Job())
			clusters[ad.Int("AutoClusterId")] = true
		}
		t.Logf("autoclusters: %v", clusters)
		require.Len(t, clusters, 5, "jobs that a schedd counts as alike would be asked for together")
	}}})
}

// TestMaxJobsRunning stages job_max_running: a schedd runs no more jobs than it may, whether they
// come at once, in lots or one by one, and goes on as jobs end.
func TestMaxJobsRunning(t *testing.T) {
	t.Parallel()
	for _, slots := range []string{"static", "consumption"} {
		t.Run(slots, func(t *testing.T) {
			t.Parallel()
			bothRun(t, []string{"CPUS=12", "SLOTS=" + slots}, "BACKFILL_POLICY = easy\nMAX_JOBS_RUNNING = 8", []scenario{
				{"12 at once", inLots(12)}, {"in lots of 6", inLots(6)}, {"one by one", inLots(1)},
			})
		})
	}
}

func inLots(size int) func(*testing.T, *ourPool) {
	return func(t *testing.T, pool *ourPool) {
		t.Helper()
		var jobs []pooltest.JobID
		for len(jobs) < 12 {
			jobs = append(jobs, pool.Submit("alice", sleep(8, 1, size, estimate+"8"))...)
		}
		pool.WaitDone(2*time.Minute, jobs...)
		audit := pool.Audit()
		audit.Check(t)
		require.Equal(t, 8, most(audit, jobs...))
		for _, j := range jobs {
			require.Len(t, runsOf(audit, j), 1, "it ran once")
		}
	}
}
