package htcondor_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// scavenger has a job be a scavenger.
const scavenger = "+BackfillScavenger = True"

// scavenged starts a pool as it is by default, but for scavengers that come back: those are no starts that failed.
func scavenged(t *testing.T, settings []string, lines ...string) *ourPool {
	t.Helper()
	file, err := os.ReadFile("../../configs/htcondor/backfill.conf")
	require.NoError(t, err)
	pool := ours(t, settings, append([]string{htcondorsDefaults, string(file), "NEGOTIATOR_DEBUG = D_FULLDEBUG\n"}, lines...)...)
	pool.permit("start failed")
	return pool
}

// runsOfAll counts the runs of jobs.
func runsOfAll(a pooltest.Audit, jobs ...pooltest.JobID) (n int) {
	for _, job := range jobs {
		n += len(runsOf(a, job))
	}
	return n
}

// TestScavengersMakeWay: a job that arrives where only scavengers run is started at once; on a partitionable slot
// three of them make way for a wide one. They say so, come back, and complete.
func TestScavengersMakeWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings         []string
		count, cpus, way int
	}{
		"static":        {[]string{"NODES=1", "CPUS=2", "SLOTS=static"}, 2, 1, 1},
		"partitionable": {[]string{"NODES=1", "CPUS=4"}, 4, 3, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := scavenged(t, c.settings)
			all := pool.Submit("alice", sleep(40, 1, c.count, scavenger))
			t.Logf("scavengers run after %v, where all is idle", runningIn(pool, time.Minute, all...))
			explained := pool.ask(t, "explain", "--json", all[0].String())
			require.Len(t, explained, 1)
			require.Contains(t, explained[0].Reason, "a scavenger: ")
			other := pool.Submit("bob", sleep(15, c.cpus, 1, estimate+"15"))
			t.Logf("the job runs after %v", runningIn(pool, time.Minute, other...))
			pool.Wait("scavengers that tell for whom they left", time.Minute, func() bool {
				left := 0
				for _, plan := range pool.startTimes(t) {
					if plan.Reason != "" && plan.Start == nil {
						left++
					}
				}
				return left == c.way
			})
			for job, plan := range pool.startTimes(t) {
				t.Logf("%s: %s, %s", job, plan.Situation, plan.Reason)
				require.Contains(t, plan.Reason, "a scavenger: displaced by "+other[0].String())
			}
			pool.WaitDone(time.Minute, other...)
			pool.WaitDone(3*time.Minute, all...)
			audit := pool.Audit()
			require.Len(t, runsOf(audit, other[0]), 1)
			require.Equal(t, c.count+c.way, runsOfAll(audit, all...), "as few as possible began anew, once")
			require.Zero(t, pool.usage(t)["alice@pool.test"], "nobody is charged for scavengers")
		})
	}
}

// TestScavengersFillAReservation: a machine is drained for a wide job, and most of it is idle long before. Scavengers
// fill it, and the wide job starts when it would without them, but for the seconds in which they leave.
func TestScavengersFillAReservation(t *testing.T) {
	t.Parallel()
	late := map[bool]time.Duration{}
	for _, with := range []bool{false, true} {
		t.Run(map[bool]string{false: "without", true: "with"}[with], func(t *testing.T) {
			pool := scavenged(t, []string{"NODES=1", "CPUS=4"})
			last := pool.Submit("bob", sleep(45, 1, 1, estimate+"45"))
			pool.WaitStatus(pooltest.Running, time.Minute, last...)
			wide := pool.Submit("carol", sleep(5, 4, 1, estimate+"5"))
			pool.promises(t, wide...)
			var all []pooltest.JobID
			if with {
				all = pool.Submit("alice", sleep(60, 1, 3, scavenger))
				pool.WaitStatus(pooltest.Running, time.Minute, all...)
			}
			pool.WaitDone(2*time.Minute, wide...)
			audit := pool.Audit()
			late[with] = runsOf(audit, wide[0])[0].Start.Sub(runsOf(audit, last[0])[0].End)
			t.Logf("the wide job began %v after its last cpu was free", late[with])
			if with {
				used := time.Duration(0)
				for _, job := range all {
					run := runsOf(audit, job)[0]
					used += run.End.Sub(run.Start)
				}
				t.Logf("scavengers used %v of cpu time that was drained", used)
				pool.WaitDone(3*time.Minute, all...)
				require.Equal(t, 6, runsOfAll(pool.Audit(), all...))
			}
		})
	}
	t.Logf("with scavengers it began %v later", late[true]-late[false])
	require.Less(t, late[true]-late[false], 10*time.Second)
}

// TestScavengersOfAKilledNegotiator kills our negotiator while scavengers run, and while they make way: nothing
// starts twice, and all come back.
func TestScavengersOfAKilledNegotiator(t *testing.T) {
	t.Parallel()
	pool := scavenged(t, []string{"NODES=1", "CPUS=4"})
	const slow = "executable = /bin/sh\n" + `arguments = "-c 'trap ''sleep 8; exit'' TERM; sleep 40 & wait'"`
	all := pool.Submit("alice", sleep(1, 1, 4, scavenger, slow))
	pool.WaitStatus(pooltest.Running, time.Minute, all...)
	pool.Kill("negotiator")
	pool.cycles(t, 0)
	require.Len(t, pool.Queue("-constraint", "JobStatus == 2"), 4, "they run on")
	other := pool.Submit("bob", sleep(5, 3, 1, estimate+"5"))
	pool.Wait("scavengers that leave", time.Minute, func() bool {
		return strings.Contains(pool.Log("NegotiatorLog"), "scavengers make way")
	})
	pool.Kill("negotiator")
	t.Logf("the job runs after %v more", runningIn(pool, time.Minute, other...))
	pool.WaitDone(time.Minute, other...)
	pool.WaitDone(4*time.Minute, all...)
	audit := pool.Audit()
	require.Len(t, runsOf(audit, other[0]), 1)
	require.Equal(t, 7, runsOfAll(audit, all...))
}

// TestScavengersMakeWayForAGang: two nodes full of scavengers make way for a gang. Neither that nor the end of jobs
// tells its schedd anything, which would ask for the gang's slots minutes later by itself.
func TestScavengersMakeWayForAGang(t *testing.T) {
	t.Parallel()
	for _, scavengers := range []bool{true, false} {
		t.Run(map[bool]string{true: "scavengers", false: "jobs that end"}[scavengers], func(t *testing.T) {
			t.Parallel()
			pool := scavenged(t, []string{"NODES=2", "CPUS=2"}, "UNUSED_CLAIM_TIMEOUT = 5\n") // the gang gives slots back
			job := sleep(30, 1, 4, estimate+"30")
			if scavengers {
				job = sleep(45, 1, 4, scavenger)
			}
			all := pool.Submit("alice", job)
			pool.WaitStatus(pooltest.Running, time.Minute, all...)
			wide := pool.Submit("carol", gang(5, 2, 2, estimate+"5"))
			t.Logf("the gang runs after %v", runningIn(pool, 2*time.Minute, wide...))
			pool.WaitDone(2*time.Minute, wide...)
			pool.WaitDone(4*time.Minute, all...)
			if audit := pool.Audit(); scavengers {
				require.Equal(t, 8, runsOfAll(audit, all...))
			} else {
				last := time.Time{}
				for _, one := range all {
					if end := runsOf(audit, one)[0].End; end.After(last) {
						last = end
					}
				}
				t.Logf("which is %v after the last job has ended", runsOf(audit, wide[0])[0].Start.Sub(last))
			}
		})
	}
}

// TestScavengersGiveLicensesBack: a scavenger on another machine leaves so that a job has its license. One that
// could retire where it would run, and does not say that it need not, does not start, and says what to do.
func TestScavengersGiveLicensesBack(t *testing.T) {
	t.Parallel()
	pool := scavenged(t, []string{"NODES=2", "CPUS=2"}, "SW_LIMIT = 1\n", "n2.MAXJOBRETIREMENTTIME = 600\n")
	const license = "concurrency_limits = sw"
	one := pool.Submit("alice", sleep(40, 1, 1, scavenger, license, on("n1")))
	pool.WaitStatus(pooltest.Running, time.Minute, one...)
	retires := pool.Submit("alice", sleep(5, 1, 1, scavenger, on("n2")))
	pool.Wait("a scavenger that says why it waits", time.Minute, func() bool {
		plans := pool.ask(t, "explain", "--json", retires[0].String())
		return len(plans) == 1 && plans[0].Situation == "waits"
	})
	require.Contains(t, pool.ask(t, "explain", "--json", retires[0].String())[0].Reason, "max_job_retirement_time = 0")
	at := pool.Submit("alice", sleep(5, 1, 1, scavenger, on("n2"), "max_job_retirement_time = 0"))
	pool.WaitDone(time.Minute, at...)
	other := pool.Submit("bob", sleep(5, 1, 1, license, on("n2"), estimate+"5"))
	t.Logf("the job runs after %v", runningIn(pool, time.Minute, other...))
	pool.WaitDone(time.Minute, other...)
	pool.WaitDone(3*time.Minute, one...)
	require.Equal(t, 2, runsOfAll(pool.Audit(), one...))
	require.Len(t, pool.Queue(), 1)
}
