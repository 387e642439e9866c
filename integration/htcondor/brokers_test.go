package htcondor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// behindABroker has a schedd and a startd advertise an address at which nothing answers (RFC 5737),
// in a network that the negotiator and the tools are not in, and the collector as their broker.
const behindABroker = `
COLLECTOR_DEBUG = D_FULLDEBUG
CCB_RECONNECT_TIME = 2
SCHEDD.USE_SHARED_PORT = False
SCHEDD.CCB_ADDRESS = $(COLLECTOR_HOST)
SCHEDD.TCP_FORWARDING_HOST = 192.0.2.1
SCHEDD.PRIVATE_NETWORK_NAME = inside
SCHEDD.PRIVATE_NETWORK_INTERFACE = 127.0.0.1
STARTD.USE_SHARED_PORT = False
STARTD.CCB_ADDRESS = $(COLLECTOR_HOST)
STARTD.TCP_FORWARDING_HOST = 192.0.2.1
STARTD.PRIVATE_NETWORK_NAME = inside
STARTD.PRIVATE_NETWORK_INTERFACE = 127.0.0.1
SHADOW.PRIVATE_NETWORK_NAME = inside
`

// sharedBehindABroker has all daemons but the collector and the negotiator behind a shared port that
// nobody can connect to from outside, condor_master among them.
const sharedBehindABroker = `
COLLECTOR_DEBUG = D_FULLDEBUG
CCB_RECONNECT_TIME = 2
COLLECTOR_USES_SHARED_PORT = False
COLLECTOR.USE_SHARED_PORT = False
NEGOTIATOR.USE_SHARED_PORT = False
SHARED_PORT_PORT = 0
SHARED_PORT.CCB_ADDRESS = $(COLLECTOR_HOST)
SHARED_PORT.TCP_FORWARDING_HOST = 192.0.2.1
SHARED_PORT.PRIVATE_NETWORK_INTERFACE = 127.0.0.1
PRIVATE_NETWORK_NAME = inside
NEGOTIATOR.PRIVATE_NETWORK_NAME = outside
`

// TestBehindABroker runs jobs of a schedd that cannot be reached, on slots that cannot be reached, as
// HTCondor's lib_ccb_schedd and lib_ccb_startd do.
func TestBehindABroker(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"CPUS=2"}, behindABroker, []scenario{{"own ports", behindTheBroker}})
}

// TestSharedPortBehindABroker is TestBehindABroker with a shared port.
func TestSharedPortBehindABroker(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"CPUS=2"}, sharedBehindABroker, []scenario{{"a shared port", behindTheBroker}})
}

func behindTheBroker(t *testing.T, pool *ourPool) {
	t.Helper()
	pool.Wait("all to be behind the broker", time.Minute, func() bool {
		for _, ad := range append(pool.Ads("-schedd"), pool.Slots()...) {
			at := ad.Text("MyAddress")
			require.Contains(t, at, "192.0.2.1:")
			require.Contains(t, at, "PrivNet=inside")
			if !strings.Contains(at, "CCBID=") {
				return false
			}
		}
		return true
	})
	calls := func() int {
		return strings.Count(pool.Log("CollectorLog"), "CCB: received 'success' from target daemon")
	}
	began, before := time.Now(), calls()
	jobs := pool.Submit("alice", sleep(2, 1, 4, estimate+"5"))
	jobs = append(jobs, pool.Submit("bob", sleep(2, 2, 1, estimate+"5"))...)
	pool.WaitDone(time.Minute, jobs...)
	t.Logf("five jobs took %.1f s, and %d calls", time.Since(began).Seconds(), calls()-before)
	require.Greater(t, calls(), before)

	runs := pool.Submit("alice", sleep(20, 1, 1, estimate+"25"))
	pool.WaitStatus(pooltest.Running, time.Minute, runs...)
	pool.Kill("collector") // the broker
	killed := time.Now()
	more := pool.Submit("carol", sleep(1, 1, 2, estimate+"5"))
	pool.WaitDone(2*time.Minute, append(runs, more...)...)
	t.Logf("jobs were done %.1f s after the broker was killed", time.Since(killed).Seconds())
	pool.Audit().Check(t)
}
