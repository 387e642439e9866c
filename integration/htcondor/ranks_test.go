package htcondor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// shelves are two machines that say on which shelf they stand, and ranks of the pool by it.
const shelves = `
STARTD_ATTRS = $(STARTD_ATTRS) Shelf
n1.Shelf = 1
n2.Shelf = 2
NEGOTIATOR_PRE_JOB_RANK = TARGET.WantShelf =?= MY.Shelf
`

// Our negotiator ranks slots as the stock one does: by NEGOTIATOR_PRE_JOB_RANK, then by the job's Rank,
// then by NEGOTIATOR_POST_JOB_RANK.
func TestRanksOfThePool(t *testing.T) {
	pooltest.Need(t)
	run := func(t *testing.T, pool *pooltest.Pool) {
		t.Helper()
		requireHost(t, pool, "rank = -Shelf\n+WantShelf = 2\n", "n2")
		requireHost(t, pool, "+WantShelf = 1\n", "n1")
		requireHost(t, pool, "rank = -Shelf\n", "n1")
		requireHost(t, pool, "", "n2")
	}
	t.Run("ours", func(t *testing.T) {
		t.Parallel()
		pool := ours(t, []string{"NODES=2"}, shelves+"NEGOTIATOR_POST_JOB_RANK = Shelf")
		run(t, pool.Pool)
		pool.reconfigure(shelves+"NEGOTIATOR_POST_JOB_RANK = -Shelf", "the configuration is taken up")
		pool.Wait("the other rank", 30*time.Second, func() bool { return hostOf(pool.Pool, "") == "n1" })
		requireHost(t, pool.Pool, "rank = Shelf\n", "n2")
		pool.Audit().Check(t)
	})
	t.Run("stock", func(t *testing.T) {
		t.Parallel()
		pool := pooltest.Start(t, "NODES=2", stockPace+shelves+"NEGOTIATOR_POST_JOB_RANK = Shelf")
		run(t, pool)
	})
}

// requireHost requires that a job runs on a machine.
func requireHost(t *testing.T, pool *pooltest.Pool, more, host string) {
	t.Helper()
	require.Equal(t, host, hostOf(pool, more), "%q", more)
}

// hostOf returns on which machine a job of alice runs that has more lines in its description.
func hostOf(pool *pooltest.Pool, more string) string {
	job := pool.Submit("alice", "executable = /bin/true\nrequest_cpus = 1\n+EstimatedRunTime = 5\n"+more+"queue\n")
	pool.WaitDone(time.Minute, job...)
	return lastHost(pool, job[0])
}

// lastHost returns on which machine a job ran that has ended.
func lastHost(pool *pooltest.Pool, job pooltest.JobID) string {
	for _, ad := range pool.History() {
		if ad.Job() == job {
			_, host, _ := strings.Cut(ad.Text("LastRemoteHost"), "@")
			host, _, _ = strings.Cut(host, "@")
			return host
		}
	}
	return ""
}
