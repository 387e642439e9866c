package htcondor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// A slot with NegotiatorRequirements takes the jobs that these allow, and one whose startd ends soon
// takes none if NEGOTIATOR_TRIM_SHUTDOWN_THRESHOLD says so, as under the stock negotiator.
func TestSlotsThatNegotiatorsLeaveAlone(t *testing.T) {
	pooltest.Need(t)
	const machines = `
STARTD_ATTRS = $(STARTD_ATTRS) Shelf NegotiatorRequirements DaemonShutdown
n1.Shelf = 3
n1.NegotiatorRequirements = TARGET.Owner == "bob"
n2.Shelf = 2
n2.DaemonShutdown = CurrentTime - DaemonStartTime > 3600
n3.Shelf = 1
`
	const threshold = "NEGOTIATOR_TRIM_SHUTDOWN_THRESHOLD = 4000\n"
	t.Run("ours", func(t *testing.T) {
		t.Parallel()
		pool := ours(t, []string{"NODES=3"}, machines+threshold)
		requireHost(t, pool.Pool, "rank = Shelf\n", "n3")
		pool.reconfigure(machines, "the configuration is taken up")
		pool.Wait("the slot that is open again", 30*time.Second, func() bool { return hostOf(pool.Pool, "rank = Shelf\n") == "n2" })
		bob := pool.Submit("bob", "executable = /bin/true\nrequest_cpus = 1\n+EstimatedRunTime = 5\nrank = Shelf\nqueue\n")
		pool.WaitDone(time.Minute, bob...)
		require.Equal(t, "n1", lastHost(pool.Pool, bob[0]))
		pool.Audit().Check(t)
	})
	t.Run("stock", func(t *testing.T) {
		t.Parallel()
		// Its own first rank comes before the job's Rank, and the machines are alike in it.
		pool := pooltest.Start(t, "NODES=3", stockPace+machines+threshold)
		requireHost(t, pool, "rank = Shelf\n", "n3")
	})
}
