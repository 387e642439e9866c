package htcondor_test

import (
	"strings"
	"syscall"
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

// sharedBehindABroker has the schedd and the startd behind a shared port that nobody can connect to
// from outside. The stock negotiator would wait for minutes for a condor_master behind it.
const sharedBehindABroker = `
COLLECTOR_DEBUG = D_FULLDEBUG
CCB_RECONNECT_TIME = 2
COLLECTOR_USES_SHARED_PORT = False
COLLECTOR.USE_SHARED_PORT = False
NEGOTIATOR.USE_SHARED_PORT = False
MASTER.USE_SHARED_PORT = False
DAEMON_LIST = $(DAEMON_LIST), SHARED_PORT
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
	bothRun(t, []string{"CPUS=2"}, sharedBehindABroker, []scenario{{"a shared port", behindASharedPort}})
}

// behindASharedPort has the shared port write its address down again once it has registered, for which
// it had to be started before the collector, and then the daemons start again.
func behindASharedPort(t *testing.T, pool *ourPool) {
	t.Helper()
	pool.Wait("the shared port to register", time.Minute, func() bool {
		return strings.Contains(pool.Log("SharedPortLog"), "registered with CCB server")
	})
	pool.Signal("shared_port", syscall.SIGHUP)
	pool.Wait("its address", time.Minute, func() bool {
		ad, err := pool.Try("root", "cat", "/var/lock/condor/shared_port_ad")
		return err == nil && strings.Contains(ad, "CCBID=")
	})
	pool.Kill("schedd")
	pool.Kill("startd")
	behindTheBroker(t, pool)
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
