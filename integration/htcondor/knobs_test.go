package htcondor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestKnobsAsStock: under the same configuration both negotiators ignore jobs' ranks, fill a machine
// before the next, leave alone a startd that ends soon by what the Negotiator ad says, and tell the
// collector the same.
func TestKnobsAsStock(t *testing.T) {
	pooltest.Need(t)
	const knobs = `
STARTD_ATTRS = $(STARTD_ATTRS) Shelf DaemonShutdown
n1.Shelf = 1
n2.Shelf = 2
n3.Shelf = 3
n3.DaemonShutdown = CurrentTime - DaemonStartTime > 3600
n4.Shelf = 2
NEGOTIATOR_PRE_JOB_RANK = 1
NEGOTIATOR_POST_JOB_RANK = Shelf
NEGOTIATOR_IGNORE_JOB_RANKS = True
NEGOTIATOR_DEPTH_FIRST = True
NEGOTIATOR_ATTRS = Room
NEGOTIATOR_EXPRS = Ends
Room = "B2"
Ends = 4000
NEGOTIATOR_TRIM_SHUTDOWN_THRESHOLD = Ends + size(Room)
NEGOTIATION_CYCLE_STATS_LENGTH = 1
NEGOTIATOR_ADVERTISE_ACCOUNTING = False
MAX_NEGOTIATOR_LOG = 1 day
TRUNC_NEGOTIATOR_LOG_ON_OPEN = True
NEGOTIATOR_TIMEOUT = 15
`
	run := func(t *testing.T, pool *pooltest.Pool) {
		t.Helper()
		require.Contains(t, []string{"n2", "n4"}, hostOf(pool, "rank = -Shelf\n"))
		jobs := pool.Submit("alice", "executable = /bin/sleep\narguments = 5\nrequest_cpus = 2\n+EstimatedRunTime = 9\n"+
			"rank = -Shelf\nqueue 4\n")
		pool.WaitDone(2*time.Minute, jobs...)
		hosts := map[string]int{}
		for _, job := range jobs {
			hosts[lastHost(pool, job)]++
		}
		require.Len(t, hosts, 1, "%v: eight cores of one machine", hosts)
		require.Equal(t, 4, hosts["n2"]+hosts["n4"], "%v", hosts)
		told := func(attribute string) string {
			return strings.TrimSpace(pool.As("root", "condor_status", "-negotiator", "-af", attribute))
		}
		require.Equal(t, []string{"B2", "4000"}, []string{told("Room"), told("Ends")})
		require.NotEqual(t, "undefined", told("LastNegotiationCycleTime0"))
		require.Equal(t, "undefined", told("LastNegotiationCycleTime1"))
		require.Empty(t, strings.TrimSpace(
			pool.As("root", "condor_status", "-any", "-constraint", `MyType == "Accounting"`, "-af", "Name")))
	}
	t.Run("ours", func(t *testing.T) {
		t.Parallel()
		pool := ours(t, []string{"NODES=4"}, knobs)
		run(t, pool.Pool)
		pool.Audit().Check(t)
	})
	t.Run("stock", func(t *testing.T) {
		t.Parallel()
		// Its schedd starts further jobs on what a match leaves of a machine.
		run(t, pooltest.Start(t, "NODES=4", stockPace+knobs+"CLAIM_PARTITIONABLE_LEFTOVERS = True\n"))
	})
}
