package htcondor_test

import (
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestDaemonsFail kills the daemons that run jobs, and stops the collector.
func TestDaemonsFail(t *testing.T) {
	t.Parallel()
	ours(t, []string{"NODES=2", "CPUS=4", "SLOTS=consumption"}).runAll(t, []scenario{
		{"no collector", noCollector},
		{"the schedd is killed", scheddKilled},
		{"a startd is killed", startdKilled}, // last, because it permits broken guarantees
	})
}

// fill submits jobs that occupy two nodes of four cores, and others that wait for them with a
// promise.
func (p *ourPool) fill(t *testing.T, seconds int) (run, wait []pooltest.JobID) {
	t.Helper()
	run = p.Submit("alice", sleep(seconds, 2, 4, estimate+strconv.Itoa(seconds+5)))
	p.WaitStatus(pooltest.Running, time.Minute, run...)
	wait = p.Submit("bob", sleep(2, 4, 3, estimate+"5"))
	p.promises(t, wait...)
	return run, wait
}

// noCollector stops the collector for half a minute. Meanwhile nothing is decided and nothing
// forgotten.
func noCollector(t *testing.T, pool *ourPool) {
	t.Helper()
	run, wait := pool.fill(t, 25)
	before := pool.promises(t, wait...)
	pool.As("root", "condor_off", "-daemon", "collector")
	off := time.Now()
	pool.Wait("the negotiator to notice", time.Minute, func() bool {
		return strings.Contains(pool.Log("NegotiatorLog"), "the pool cannot be looked at")
	})
	late := pool.Submit("carol", sleep(1, 1, 1, estimate+"1"))
	time.Sleep(time.Until(off.Add(30 * time.Second)))
	pool.As("root", "condor_on", "-daemon", "collector")
	pool.WaitDone(2*time.Minute, slices.Concat(run, wait, late)...)
	audit := pool.Audit()
	for _, job := range slices.Concat(run, wait, late) {
		require.Len(t, runsOf(audit, job), 1, "%v", job)
	}
	require.NotEmpty(t, before)
}

// scheddKilled kills the schedd. Running jobs go on, and promises stay the same.
func scheddKilled(t *testing.T, pool *ourPool) {
	t.Helper()
	run, wait := pool.fill(t, 20)
	before := pool.promises(t, wait...)
	pool.Kill("schedd")
	late := pool.Submit("carol", sleep(1, 1, 1, estimate+"1"))
	for job, guarantee := range pool.promises(t, wait...) {
		require.Equal(t, before[job], guarantee, "%v", job)
	}
	pool.WaitDone(3*time.Minute, slices.Concat(run, wait, late)...)
}

// startdKilled kills a startd with everything that runs there. Its jobs run again.
func startdKilled(t *testing.T, pool *ourPool) {
	t.Helper()
	pool.permit("slot lost", "slot ended", "slot changed", "start failed", "start late")
	run, wait := pool.fill(t, 20)
	pool.Kill("n1")
	pool.WaitDone(3*time.Minute, slices.Concat(run, wait)...)
	audit := pool.Audit()
	again := 0
	for _, job := range run {
		again += len(runsOf(audit, job)) - 1
	}
	require.Equal(t, 2, again, "two jobs ran there")
}

// secondCollector configures another collector behind the same port, to which all daemons also
// report.
var secondCollector = []string{
	"COLLECTOR_C2 = $(COLLECTOR)", "COLLECTOR_C2_ARGS = -f -local-name c2 -sock c2",
	"c2.COLLECTOR_LOG = $(LOG)/CollectorLog.c2", "c2.COLLECTOR_ADDRESS_FILE = $(LOG)/.collector_address.c2",
	"DAEMON_LIST = $(DAEMON_LIST) COLLECTOR_C2", "DC_DAEMON_LIST = $(DC_DAEMON_LIST) COLLECTOR_C2",
	"COLLECTOR_HOST = $(COLLECTOR_HOST), 127.0.0.1:$(SHARED_PORT_PORT)?sock=c2",
}

// TestTwoCollectors stops one collector, then both, and restarts the first.
func TestTwoCollectors(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"NODES=1", "CPUS=4", "SLOTS=consumption"}, secondCollector...)
	run := func() {
		t.Helper()
		pool.WaitDone(2*time.Minute, pool.Submit("alice", sleep(1, 1, 1))...)
	}
	blind := func() bool { return strings.Contains(pool.Log("NegotiatorLog"), "the pool cannot be looked at") }
	run()
	pool.As("root", "condor_off", "-daemon", "collector")
	pool.cycles(t, 3)
	run()
	require.False(t, blind(), "the other one is there")
	pool.As("root", "condor_off", "-daemon", "collector_c2")
	pool.Wait("the negotiator to notice", time.Minute, blind)
	pool.As("root", "condor_on", "-daemon", "collector")
	run()
}

// TestCollectorOnAnyPort runs a pool whose collector has a port of the system's choice, and has it
// restart at another one.
func TestCollectorOnAnyPort(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"CPUS=4"}, "USE_SHARED_PORT = False", "COLLECTOR_HOST = 127.0.0.1:0")
	run := func() string {
		t.Helper()
		pool.WaitDone(2*time.Minute, pool.Submit("alice", sleep(1, 1, 1))...)
		require.Empty(t, pool.startTimes(t), "the tool finds it, too")
		address, _, _ := strings.Cut(pool.Log(".collector_address"), "\n")
		return address
	}
	before := run()
	// condor_master gives the collector its former port, unless the file is lost when it looks.
	pool.As("root", "condor_off", "-fast", "-daemon", "collector")
	pool.Wait("the end of the collector", time.Minute, func() bool {
		return regexp.MustCompile(`The COLLECTOR \(pid \d+\) exited`).MatchString(pool.Log("MasterLog"))
	})
	_ = os.Remove(pool.Dir + "/var/log/condor/.collector_address")
	pool.As("root", "condor_reconfig")
	pool.As("root", "condor_on", "-daemon", "collector")
	pool.Wait("another port", time.Minute, func() bool {
		now, _, _ := strings.Cut(pool.Log(".collector_address"), "\n")
		return now != "" && now != before
	})
	require.NotEqual(t, before, run())
}

// TestNegotiatorKilled kills the negotiator repeatedly under load: the next one knows the promises
// and the usage of the one before.
func TestNegotiatorKilled(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"NODES=2", "CPUS=4", "SLOTS=consumption"})
	// Jobs whose time comes without a negotiator start late, and so do those that were about to
	// start when it died, or to be started by their schedd under a lease; they also end later.
	pool.permit("start late", "lease", "overrun")
	kept := 0
	random := rand.New(rand.NewPCG(7, 7))
	var jobs []pooltest.JobID
	submit := func(user string, count int) {
		var all []string
		for range count {
			seconds := 1 + random.IntN(6)
			all = append(all, sleep(seconds, 1+random.IntN(4), 1, estimate+strconv.Itoa(seconds+2)))
		}
		jobs = append(jobs, pool.Submit(user, strings.Join(all, "\n"))...)
	}
	// loaded returns the plans of waiting jobs, enough of them to last until the next negotiator answers,
	// also on a machine that is slow.
	loaded := func() map[string]jobPlan {
		const enough, more = 12, 12
		for range 10 {
			plans, promised := pool.startTimes(t), 0
			for _, plan := range plans {
				if plan.Guarantee != nil {
					promised++
				}
			}
			if promised >= enough {
				return plans
			}
			submit("bob", more)
			pool.cycles(t, 1)
		}
		require.Fail(t, "jobs end faster than they are submitted")
		return nil
	}
	submit("alice", 12)
	pool.WaitDone(time.Minute, jobs[0])
	for range 5 {
		promised := loaded()
		used := pool.usage(t)
		time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
		pool.Kill("negotiator")
		submit("carol", 2)
		again := pool.startTimes(t) // from the next negotiator
		causes := pool.broken()
		broken := slices.Concat(causes["start late"], causes["lease"], causes["overrun"])
		known := 0
		for job, before := range promised {
			now, waits := again[job]
			if before.Guarantee == nil || !waits {
				continue
			}
			known++
			if !slices.Contains(broken, job) {
				require.Equal(t, *before.Guarantee, *now.Guarantee, "the guarantee of job %s", job)
				kept++
			}
		}
		require.Positive(t, known, "no job waited on both sides: there is too little load")
		after := pool.usage(t)
		for user, before := range used {
			require.GreaterOrEqual(t, after[user], before, "the usage of %s", user)
		}
	}
	require.Positive(t, kept, "no guarantee outlived a negotiator")
	pool.WaitDone(3*time.Minute, jobs...)
	audit := pool.Audit()
	var total float64
	for _, run := range audit.Runs {
		require.Len(t, runsOf(audit, run.Job), 1, "%v", run.Job)
		total += run.End.Sub(run.Start).Seconds()
	}
	var charged float64
	pool.Wait("the end of what is charged", 2*time.Minute, func() bool {
		before := charged
		charged = 0
		for _, seconds := range pool.usage(t) {
			charged += seconds
		}
		pool.cycles(t, 1)
		return charged == before
	})
	t.Logf("%d jobs ran for %.0f s, and %.0f s were charged", len(jobs), total, charged)
	// Nothing is charged while there is no negotiator. A job is charged from its match on, until a
	// look finds that it has ended.
	const starts, ends = 3, 2
	require.Greater(t, charged, 0.5*total)
	require.Less(t, charged, total+float64((starts+ends)*len(jobs)))
}

// usage returns for how many seconds each user had slots.
func (p *ourPool) usage(t *testing.T) map[string]float64 {
	t.Helper()
	var out string
	var err error
	p.Wait("condor_userprio", time.Minute, func() bool {
		out, err = p.Try("root", "condor_userprio", "-allusers", "-af", "Name", "AccumulatedUsage")
		return err == nil
	})
	used := map[string]float64{}
	for line := range strings.Lines(out) {
		name, seconds, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseFloat(seconds, 64); err == nil && strings.Contains(name, "@") {
			used[name] = n
		}
	}
	return used
}
