package htcondor_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestStagedRestarts stages job_negotiator_restart: what the administrator has set, and what runs
// and waits, outlives the negotiator.
func TestStagedRestarts(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"CPUS=2"}, "", []scenario{
		{"killed and restarted negotiator", negotiatorRestart},
		{"restarted pool", poolRestart},
	})
}

// hasFactor tells whether condor_userprio says that a user has this priority factor. The stock
// negotiator tells 3000 as 2999.999999.
func hasFactor(pool *ourPool, user string, factor float64) bool {
	out, _ := pool.Try("root", "condor_userprio", "-allusers", "-af", "Name", "PriorityFactor") // it may be starting
	for line := range strings.Lines(out) {
		if text, found := strings.CutPrefix(line, user+" "); found {
			told, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			return err == nil && math.Abs(told-factor) < 0.01
		}
	}
	return false
}

// started returns when the negotiator in the collector was started; 0 if there is none.
func started(pool *ourPool) int {
	for _, ad := range pool.Ads("-negotiator") {
		return ad.Int("DaemonStartTime")
	}
	return 0
}

// negotiatorRestart kills the negotiator, and then has it restarted, while a job runs and others
// wait and come. The job runs on, the others run once each, and a user's factor stays.
func negotiatorRestart(t *testing.T, pool *ourPool) {
	t.Helper()
	runs := pool.Submit("alice", sleep(40, 1, 1, estimate+"45"))
	pool.WaitStatus(pooltest.Running, time.Minute, runs...)
	jobs := pool.Submit("bob", sleep(1, 2, 1, estimate+"1"))
	for i, restart := range []func(){
		func() { pool.Kill("negotiator") },
		func() { pool.As("root", "condor_restart", "-daemon", "negotiator") },
	} {
		set := 3000 * (i + 1)
		pool.As("root", "condor_userprio", "-setfactor", "bob@pool.test", strconv.Itoa(set))
		before := started(pool)
		restart()
		jobs = append(jobs, pool.Submit("bob", sleep(1, 1, 1, estimate+"1"))...)
		pool.Wait("another negotiator", time.Minute, func() bool { return started(pool) > before })
		pool.Wait("the factor", time.Minute, func() bool { return hasFactor(pool, "bob@pool.test", float64(set)) })
	}
	pool.WaitDone(2*time.Minute, append(jobs, runs...)...)
	audit := pool.Audit()
	for _, job := range append(jobs, runs...) {
		require.Len(t, runsOf(audit, job), 1, "%v", job)
	}
}

// poolRestart has all daemons restarted, as the original does: what runs is evicted and runs again,
// cycles go on, and the factor stays.
func poolRestart(t *testing.T, pool *ourPool) {
	t.Helper()
	pool.permit("start failed", "start late", "overrun", "slot lost", "slot ended")
	jobs := pool.Submit("alice", sleep(10, 1, 1, estimate+"10"))
	pool.WaitStatus(pooltest.Running, time.Minute, jobs...)
	jobs = append(jobs, pool.Submit("bob", sleep(1, 2, 1, estimate+"1"))...)
	pool.As("root", "condor_userprio", "-setfactor", "bob@pool.test", "9000")
	before := started(pool)
	pool.As("root", "condor_restart")
	pool.Wait("another negotiator", 2*time.Minute, func() bool {
		out, err := pool.Try("root", "condor_status", "-negotiator", "-af", "DaemonStartTime")
		return err == nil && out > fmt.Sprintln(before)
	})
	pool.Wait("the factor", time.Minute, func() bool { return hasFactor(pool, "bob@pool.test", 9000) })
	cycles := func() int { return strings.Count(pool.Log("NegotiatorLog"), "Started Negotiation Cycle") }
	seen := cycles()
	pool.Wait("another cycle", time.Minute, func() bool { return cycles() > seen })
	pool.WaitDone(3*time.Minute, jobs...)
	require.Len(t, runsOf(pool.Audit(), jobs[0]), 2, "it was evicted and ran again")
	pool.As("root", "condor_userprio", "-setfactor", "bob@pool.test", "1000")
	pool.Wait("the old factor", time.Minute, func() bool { return hasFactor(pool, "bob@pool.test", 1000) })
}

// underBoth runs a test of several pools under our negotiator and, if asked to, under the stock
// one. The test prepares its pools, which are down, with the function.
func underBoth(t *testing.T, test func(*testing.T, func(settings []string, lines string) *ourPool)) {
	t.Helper()
	t.Run("ours", func(t *testing.T) {
		t.Parallel()
		test(t, func(settings []string, lines string) *ourPool { return prepareOurs(t, settings, lines) })
	})
	t.Run("stock", func(t *testing.T) {
		t.Parallel()
		pooltest.Need(t)
		if !*withStock {
			t.Skip("skipped: it is only for comparison; run it with -pool -stock")
		}
		test(t, func(settings []string, lines string) *ourPool {
			return &ourPool{Pool: pooltest.Prepare(t, append(slices.Clone(settings), stockPace+"\n"+lines)...)}
		})
	})
}

// trust has pools believe each other's users and daemons: they get the keys and tokens of the
// first.
func trust(t *testing.T, first *ourPool, others ...*ourPool) {
	t.Helper()
	folders := []string{"etc/condor/passwords.d", "etc/condor/tokens.d"}
	for _, user := range []string{"alice", "bob", "carol", "dave"} {
		folders = append(folders, "home/"+user+"/.condor/tokens.d")
	}
	for _, other := range others {
		for _, folder := range folders {
			from, to := filepath.Join(first.Dir, folder)+"/.", filepath.Join(other.Dir, folder)
			out, err := exec.Command("cp", "-a", from, to).CombinedOutput() //nolint:gosec // of this test
			require.NoError(t, err, string(out))
		}
	}
}

// What becomes of claims when jobs end. The pools of these tests have each end with its job, so ours lends
// none; by HTCondor's defaults they serve further jobs, and ours lends them.
const (
	endsClaims  = "BACKFILL_LEASE_TIME = 0\n"
	keepsClaims = "CLAIM_WORKLIFE = 1200\nCLAIM_PARTITIONABLE_LEFTOVERS = True\n"
)

// TestStagedFlocking stages job_flocking_to and job_aggressive_flocking: jobs of a schedd whose own
// pool has no slot for them run in others. FLOCK_INCREMENT lets the schedd turn to two at once.
func TestStagedFlocking(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string]string{"claims end": endsClaims, "claims are kept": keepsClaims} {
		t.Run(name, func(t *testing.T) { stageFlocking(t, lines) }) // one after the other: each has six pools
	}
}

// stageFlocking stages flocking to pools with these lines of configuration.
func stageFlocking(t *testing.T, lines string) {
	t.Helper()
	underBoth(t, func(t *testing.T, prepare func([]string, string) *ourPool) {
		t.Helper()
		remote := []*ourPool{
			prepare([]string{"CPUS=2", "NODES=1"}, lines),
			prepare([]string{"CPUS=2"}, "STARTD_ARGS = -f -n n2\n"+lines),
		}
		home := prepare([]string{"CPUS=2", "NODES=2", "SCHEDDS=2"}, fmt.Sprintf("START = False\n"+
			"s2.FLOCK_TO = 127.0.0.1:%d, 127.0.0.1:%d\ns2.FLOCK_INCREMENT = 2", remote[0].Port, remote[1].Port))
		trust(t, home, remote...)
		for _, pool := range remote {
			pool.Up()
		}
		home.Up("NODES=0") // the audit knows the nodes of the others

		const flocks = "s2@" + pooltest.Host
		stays := home.Submit("alice", sleep(1, 1, 1, estimate+"1"))
		one := home.SubmitTo(flocks, "alice", sleep(1, 1, 1, estimate+"1"))
		home.WaitDone(2*time.Minute, one...)
		began := time.Now()
		many := home.SubmitTo(flocks, "alice", sleep(3, 1, 40, estimate+"3"))
		home.WaitDone(3*time.Minute, many...)
		turned := regexp.MustCompile(`Increasing flock level for \S+ to 2 from 0\.`)
		require.True(t, turned.MatchString(home.Log("SchedLog.s2")), "the schedd turned to both at once")
		audit := home.Audit()
		nodes := map[string]int{}
		for _, job := range slices.Concat(one, many) {
			runs := runsOf(audit, job)
			require.Len(t, runs, 1, "%v", job)
			nodes[runs[0].Node]++
		}
		t.Logf("runs by node: %v; %d jobs took %.0f s", nodes, len(many), time.Since(began).Seconds())
		require.Positive(t, nodes["n1"], "the first pool's node")
		require.Positive(t, nodes[""], "the second pool's node, which has no name in events")
		require.Equal(t, pooltest.Idle, home.Statuses()[stays[0]], "its schedd does not flock")
		for i, node := range []string{"n1", ""} {
			require.Empty(t, remote[i].Queue())
			countsOnce(t, remote[i], nodes[node], len(many)+len(one))
		}
	})
}

// countsOnce requires that a pool of ours counts the promise of each job once: as kept if it has started
// the job, as elsewhere if another pool has. So all pools together count no job as kept twice.
func countsOnce(t *testing.T, pool *ourPool, ran, all int) {
	t.Helper()
	if pool.Ads("-negotiator")[0].Text("BackfillVersion") == "" {
		return // the stock negotiator promises nothing
	}
	counted := map[string]int{}
	pool.Wait("the last promise to be counted", time.Minute, func() bool {
		for _, ad := range pool.Ads("-negotiator") {
			for _, outcome := range []string{"Kept", "Broken", "Elsewhere", "Gone", "Open"} {
				counted[outcome] = ad.Int("BackfillPromises" + outcome)
			}
		}
		return counted["Kept"] > 0 && counted["Open"] == 0
	})
	t.Logf("of %d jobs %d ran here; promises: %v", all, ran, counted)
	require.LessOrEqual(t, counted["Kept"], ran)
	require.LessOrEqual(t, counted["Elsewhere"], all-ran)
	require.Positive(t, counted["Elsewhere"])
	require.Zero(t, counted["Broken"])
	require.Zero(t, counted["Gone"])
}

// highly are lines of configuration for one of two central managers (%[1]d and %[2]d are its port
// and the other's, %[3]d and %[4]d those of the primary and the other one, %[5]s its daemons).
const highly = `
MASTER_NAME = m%[1]d
COLLECTOR_HOST = 127.0.0.1:%[1]d, 127.0.0.1:%[2]d
DAEMON_LIST = %[5]s HAD REPLICATION
MASTER_NEGOTIATOR_CONTROLLER = HAD
HAD_LIST = 127.0.0.1:%[3]d, 127.0.0.1:%[4]d
HAD_USE_PRIMARY = True
HAD_USE_SHARED_PORT = True
HAD_CONNECTION_TIMEOUT = 2
HAD_USE_REPLICATION = True
REPLICATION_LIST = $(HAD_LIST)
REPLICATION_INTERVAL = 5
`

// replicate has our state copied instead of the stock negotiator's.
const replicate = "STATE_FILE = $(SPOOL)/backfill/negotiator.db\n"

// manager is a central manager of several, and the file of its negotiator's state.
type manager struct {
	*ourPool
	state string
}

// active counts the negotiators that run there.
func (m manager) active() int {
	out, _ := m.Try("root", "pgrep", "-f", `^([^ ]*/)?(condor_)?negotiator( -.*)?$`) // it may be down
	return len(strings.Fields(out))
}

// managers prepares two central managers, both down. The second one also has the schedd and the
// machine of the pool.
func managers(t *testing.T, prepare func([]string, string) *ourPool) (first, second manager) {
	t.Helper()
	first.ourPool, second.ourPool = prepare([]string{"CPUS=2"}, ""), prepare([]string{"CPUS=2"}, "")
	trust(t, first.ourPool, second.ourPool)
	for _, m := range []manager{first, second} {
		m.errors = []string{
			"it ends in its headers, after 0 bytes",  // a copy of what was not there yet
			"NOTHING IS MATCHED: another negotiator", // until the other one has stepped down
		}
		m.permit("start failed", "start late", "slot lost", "slot ended", "overrun")
	}
	for m, daemons := range map[*manager]string{&first: "MASTER COLLECTOR NEGOTIATOR", &second: "$(DAEMON_LIST)"} {
		other := first.Port + second.Port - m.Port
		lines := fmt.Sprintf(highly, m.Port, other, first.Port, second.Port, daemons)
		spool := filepath.Join(m.Dir, "var/spool/condor")
		m.state = filepath.Join(spool, "Accountantnew.log")
		if _, err := os.Stat(filepath.Join(m.Dir, "usr/local/bin/negotiator")); err == nil {
			lines += replicate
			folder := filepath.Join(spool, "backfill")
			m.state = filepath.Join(folder, "negotiator.db")
			require.NoError(t, os.MkdirAll(folder, 0o755))
			//nolint:gosec // the names are this test's
			out, err := exec.Command("chown", "-R", "--reference="+filepath.Join(m.Dir, "var/lib/condor"), spool).CombinedOutput()
			require.NoError(t, err, string(out))
		}
		//nolint:gosec // nothing is secret
		require.NoError(t, os.WriteFile(filepath.Join(m.Dir, "etc/condor/config.d/99-pools.conf"), []byte(lines), 0o644))
	}
	return first, second
}

// TestStagedHAD stages job_had_basic, and more: of two central managers the negotiator of the
// primary one is at work, and no other. If that machine is lost, the other takes over, with the
// first one's state, and steps down when it is there again.
func TestStagedHAD(t *testing.T) {
	t.Parallel()
	underBoth(t, func(t *testing.T, prepare func([]string, string) *ourPool) {
		t.Helper()
		first, second := managers(t, prepare)
		second.Up()
		first.Up()
		// works waits until one negotiator is at work, on that manager, and has jobs run.
		works := func(m manager) {
			t.Helper()
			began := time.Now()
			other := first
			if m.ourPool == first.ourPool {
				other = second
			}
			alone := func() bool { return other.active() == 0 && m.active() == 1 } // that one does not come back
			second.Wait("the one negotiator", 2*time.Minute, alone)
			t.Logf("at work on %d after %.0f s", m.Port, time.Since(began).Seconds())
			second.WaitDone(2*time.Minute, second.Submit("bob", sleep(1, 1, 3, estimate+"1"))...)
			t.Logf("jobs are done after %.0f s", time.Since(began).Seconds())
			require.True(t, alone(), "it is the same one")
		}
		works(first)
		first.Kill("negotiator")
		works(first)

		runs := second.Submit("alice", sleep(150, 1, 1, estimate+"200"))
		second.WaitStatus(pooltest.Running, time.Minute, runs...)
		second.As("root", "condor_userprio", "-setfactor", "bob@pool.test", "3000")
		set := time.Now()
		second.Wait("a copy of the state", time.Minute, func() bool {
			file, err := os.Stat(second.state)
			return err == nil && file.ModTime().After(set)
		})
		_, _ = first.Try("root", "sh", "-c", "kill -KILL -1")
		first.Down()
		works(second)
		require.True(t, hasFactor(second.ourPool, "bob@pool.test", 3000))
		first.Up()
		works(first)
		require.True(t, hasFactor(second.ourPool, "bob@pool.test", 3000))
		second.WaitDone(3*time.Minute, runs...)
		require.Len(t, runsOf(second.Audit(), runs[0]), 1)
		first.Down() // it has no queue for an audit to read
	})
}
