package htcondor_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// Jobs of bob are preferred by each machine, which lets a job 20 s to leave.
const bobsMachines = `
RANK = TARGET.Owner == "bob"
MachineMaxVacateTime = 20
`

// evictions permits what the displaced jobs do: their starts count as failed.
func evictions(pool *ourPool) { pool.permit("start failed", "preempted", "start late", "overrun") }

// runningIn waits until jobs run, and returns after how long.
func runningIn(pool *ourPool, within time.Duration, jobs ...pooltest.JobID) time.Duration {
	began := time.Now()
	pool.WaitStatus(pooltest.Running, within, jobs...)
	return time.Since(began).Round(time.Second)
}

// TestStartdRank: a machine that prefers bob takes its slot from alice for him, a static and a
// dynamic one, and alice's job begins anew once he has finished.
func TestStartdRank(t *testing.T) {
	t.Parallel()
	for _, slots := range []string{"static", "partitionable"} {
		t.Run(slots, func(t *testing.T) {
			t.Parallel()
			bothRun(t, []string{"NODES=1", "CPUS=2", "SLOTS=" + slots}, bobsMachines, []scenario{{"rank", ownersJob}})
		})
	}
}

// TestTimeSensitive stages job_startd_rank_preempt of HTCondor's own tests: a machine prefers a job
// of the same user that its user gave a lower priority. The other one has ten minutes to leave, and
// does not use them.
func TestTimeSensitive(t *testing.T) {
	t.Parallel()
	const lines = "RANK = TARGET.TimeSensitive =?= True\nMaxJobRetirementTime = 0\n"
	bothRun(t, []string{"CPUS=1"}, lines, []scenario{{"job_startd_rank_preempt", timeSensitive}})
}

func timeSensitive(t *testing.T, pool *ourPool) {
	t.Helper()
	evictions(pool)
	normal := pool.Submit("alice", sleep(600, 1, 1, estimate+"600", "priority = 100"))
	pool.WaitStatus(pooltest.Running, time.Minute, normal...)
	sensitive := pool.Submit("alice", sleep(1, 1, 1, estimate+"1", "priority = 1", "+TimeSensitive = true"))
	pool.WaitDone(time.Minute, sensitive...)
	require.Contains(t, pool.Log("StartLog"), "preempting claim based on machine rank")
	pool.WaitStatus(pooltest.Running, time.Minute, normal...)
	pool.As("alice", "condor_rm", "alice")
}

func ownersJob(t *testing.T, pool *ourPool) {
	t.Helper()
	evictions(pool)
	guests := pool.Submit("alice", sleep(60, 1, 2, estimate+"60"))
	pool.WaitStatus(pooltest.Running, time.Minute, guests...)
	owners := pool.Submit("bob", sleep(10, 1, 1, estimate+"10"))
	t.Logf("the owner's job runs after %v", runningIn(pool, 45*time.Second, owners...))
	pool.WaitDone(time.Minute, owners...)
	pool.WaitDone(3*time.Minute, guests...)
	audit := pool.Audit()
	require.Len(t, runsOf(audit, owners[0]), 1)
	require.Equal(t, 3, len(runsOf(audit, guests[0]))+len(runsOf(audit, guests[1])), "one of them began anew")
	require.Contains(t, pool.Log("MatchLog"), "preempting alice@pool.test")
}

// TestOwnersJobByDefault: with RANK and no other setting an owner's job has its slot within seconds,
// however long the guest's job there still runs.
func TestOwnersJobByDefault(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"NODES=1", "CPUS=1", "SLOTS=static"}, "RANK = TARGET.Owner == \"bob\"\n",
		[]scenario{{"rank alone", ownersJobByDefault}})
}

func ownersJobByDefault(t *testing.T, pool *ourPool) {
	t.Helper()
	evictions(pool)
	guest := pool.Submit("alice", sleep(150, 1, 1, estimate+"60"))
	pool.WaitStatus(pooltest.Running, time.Minute, guest...)
	owners := pool.Submit("bob", sleep(5, 1, 1, estimate+"5"))
	t.Logf("the owner's job runs after %v", runningIn(pool, 30*time.Second, owners...))
	pool.WaitDone(time.Minute, owners...)
	runs := runsOf(pool.Audit(), guest[0])
	require.Less(t, runs[0].End.Sub(runs[0].Start), time.Minute, "it was evicted")
	require.Contains(t, pool.Log("MatchLog"), "preempting alice@pool.test")
	pool.WaitStatus(pooltest.Running, time.Minute, guest...)
	pool.As("alice", "condor_rm", "alice")
}

// TestUserPriority: after some seconds of running a job makes way for one of a user with a much
// better priority, and not before.
func TestUserPriority(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"NODES=1", "CPUS=2", "SLOTS=static"}, `
MachineMaxVacateTime = 20
PREEMPTION_REQUIREMENTS = MY.TotalJobRunTime > 20 && RemoteUserPrio > TARGET.SubmitterUserPrio * 1.2
`, []scenario{{"priority", betterUser}})
}

func betterUser(t *testing.T, pool *ourPool) {
	t.Helper()
	evictions(pool)
	pool.As("root", "condor_userprio", "-setfactor", "alice@pool.test", "1000000")
	worse := pool.Submit("alice", sleep(90, 1, 2, estimate+"90"))
	pool.WaitStatus(pooltest.Running, time.Minute, worse...)
	better := pool.Submit("bob", sleep(10, 1, 1, estimate+"10"))
	t.Logf("the better user's job runs after %v", runningIn(pool, time.Minute, better...))
	pool.WaitDone(time.Minute, better...)
	pool.WaitDone(4*time.Minute, worse...)
	audit := pool.Audit()
	require.Len(t, runsOf(audit, better[0]), 1)
	require.Equal(t, 3, len(runsOf(audit, worse[0]))+len(runsOf(audit, worse[1])), "one of them began anew, once")
	for _, job := range worse {
		if runs := runsOf(audit, job); len(runs) > 1 {
			require.Greater(t, runs[0].End.Sub(runs[0].Start), 19*time.Second, "it had its time")
		}
	}
}

// TestNeighbours: an expression may ask who has the other slots of a machine, as their startd tells. Of two
// slots of a user with a bad priority only the one is taken of whose neighbour that is known to be true.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"NODES=1", "CPUS=2", "SLOTS=static"}, `
MachineMaxVacateTime = 20
STARTD_SLOT_ATTRS = RemoteUser
NEGOTIATOR_CROSS_SLOT_PRIOS = True
PREEMPTION_REQUIREMENTS = MY.SlotID == 1 && slot2_RemoteUserPrio > TARGET.SubmitterUserPrio * 1.2
`, []scenario{{"neighbours", badNeighbour}})
}

func badNeighbour(t *testing.T, pool *ourPool) {
	t.Helper()
	evictions(pool)
	pool.As("root", "condor_userprio", "-setfactor", "alice@pool.test", "1000000")
	worse := pool.Submit("alice", sleep(300, 1, 2, estimate+"300"))
	pool.WaitStatus(pooltest.Running, time.Minute, worse...)
	better := pool.Submit("bob", sleep(10, 1, 1, estimate+"10"))
	t.Logf("the better user's job runs after %v", runningIn(pool, time.Minute, better...))
	pool.WaitDone(time.Minute, better...)
	require.Equal(t, "slot1", runsOf(pool.Audit(), better[0])[0].Slot)
	pool.As("alice", "condor_rm", "alice")
}

// TestSeveralMakeWay: three jobs on dynamic slots of one machine make way for a wide one.
func TestSeveralMakeWay(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"NODES=1", "CPUS=4"}, bobsMachines+"ALLOW_PSLOT_PREEMPTION = True\n", []scenario{{"several", wideOwners}})
}

func wideOwners(t *testing.T, pool *ourPool) {
	t.Helper()
	evictions(pool)
	guests := pool.Submit("alice", sleep(60, 1, 4, estimate+"60"))
	pool.WaitStatus(pooltest.Running, time.Minute, guests...)
	wide := pool.Submit("bob", sleep(10, 3, 1, estimate+"10", "+WantPslotPreemption = True"))
	t.Logf("the wide job runs after %v", runningIn(pool, time.Minute, wide...))
	pool.WaitDone(time.Minute, wide...)
	pool.WaitDone(4*time.Minute, guests...)
	audit, runs := pool.Audit(), 0
	for _, job := range guests {
		runs += len(runsOf(audit, job))
	}
	require.Equal(t, 7, runs, "three of them began anew")
	require.Contains(t, pool.Log("MatchLog"), "preempting 3 dslots")
}

// TestRetirement: a job may run for as long as the machine grants it, however much that prefers
// another.
func TestRetirement(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"NODES=1", "CPUS=1", "SLOTS=static"}, bobsMachines+"MAXJOBRETIREMENTTIME = 30\n",
		[]scenario{{"retirement", retiringGuest}})
}

func retiringGuest(t *testing.T, pool *ourPool) {
	t.Helper()
	evictions(pool)
	guest := pool.Submit("alice", sleep(120, 1, 1, estimate+"120"))
	pool.WaitStatus(pooltest.Running, time.Minute, guest...)
	owners := pool.Submit("bob", sleep(5, 1, 1, estimate+"5"))
	t.Logf("the owner's job runs after %v", runningIn(pool, 90*time.Second, owners...))
	pool.WaitDone(time.Minute, owners...)
	runs := runsOf(pool.Audit(), guest[0])
	require.GreaterOrEqual(t, runs[0].End.Sub(runs[0].Start), 29*time.Second, "it retired")
	require.Less(t, runs[0].End.Sub(runs[0].Start), time.Minute)
	pool.WaitStatus(pooltest.Running, time.Minute, guest...)
	pool.As("alice", "condor_rm", "alice")
}

// TestKilledWhileAJobRetires kills our negotiator while a claim waits: nothing starts twice, and
// the victim comes back.
func TestKilledWhileAJobRetires(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"NODES=1", "CPUS=1", "SLOTS=static"}, bobsMachines,
		"MAXJOBRETIREMENTTIME = 40\nNEGOTIATOR_CONSIDER_EARLY_PREEMPTION = True\n")
	evictions(pool)
	guest := pool.Submit("alice", sleep(70, 1, 1, estimate+"70"))
	pool.WaitStatus(pooltest.Running, time.Minute, guest...)
	owners := pool.Submit("bob", sleep(5, 1, 1, estimate+"5"))
	pool.Wait("a claim that waits", 30*time.Second, func() bool {
		for _, slot := range pool.Slots() {
			if slot.Text("PreemptingUser") == "bob@pool.test" {
				return true
			}
		}
		return false
	})
	pool.Kill("negotiator")
	pool.WaitDone(2*time.Minute, owners...)
	pool.WaitDone(3*time.Minute, guest...)
	audit := pool.Audit()
	require.Len(t, runsOf(audit, owners[0]), 1)
	require.Len(t, runsOf(audit, guest[0]), 2)
}

// TestALeasePreempted: a machine that prefers bob takes a claim that alice's jobs use one after the
// other.
func TestALeasePreempted(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"NODES=1", "CPUS=2"}, bobsMachines, `
BACKFILL_LEASE_TIME = 60
CLAIM_WORKLIFE = 1200
START = (MY.NegotiatorMatchExprBackfillLease is undefined || MY.NegotiatorMatchExprBackfillLease)
`)
	evictions(pool)
	short := pool.Submit("alice", sleep(6, 1, 30, estimate+"6"))
	pool.Wait("claims that serve several jobs", time.Minute, func() bool { return len(pool.History()) >= 4 })
	owners := pool.Submit("bob", sleep(10, 1, 1, estimate+"10"))
	t.Logf("the owner's job runs after %v", runningIn(pool, 45*time.Second, owners...))
	pool.WaitDone(time.Minute, owners...)
	pool.WaitDone(4*time.Minute, short...)
	require.Len(t, runsOf(pool.Audit(), owners[0]), 1)
}

// TestABetterJobWaitsInstead: while a job retires for another one, a third comes that the machine prefers to
// that. Its claim waits then, and it runs once the first has retired; the second runs after it.
func TestABetterJobWaitsInstead(t *testing.T) {
	t.Parallel()
	const lines = "RANK = TARGET.Worth ?: 0\nMachineMaxVacateTime = 20\nMAXJOBRETIREMENTTIME = 60\n" +
		"NEGOTIATOR_CONSIDER_EARLY_PREEMPTION = True\n"
	for _, slots := range []string{"static", "partitionable"} {
		t.Run(slots, func(t *testing.T) {
			t.Parallel()
			bothRun(t, []string{"NODES=1", "CPUS=1", "SLOTS=" + slots}, lines, []scenario{{"instead", waitsInstead}})
		})
	}
}

func waitsInstead(t *testing.T, pool *ourPool) {
	t.Helper()
	evictions(pool)
	waits := func(user string) {
		pool.Wait("a claim of "+user+" that waits", 40*time.Second, func() bool {
			return slices.ContainsFunc(pool.Slots(), func(slot pooltest.Ad) bool {
				return slot.Text("PreemptingUser") == user+"@pool.test"
			})
		})
	}
	guest := pool.Submit("alice", sleep(300, 1, 1, estimate+"300"))
	pool.WaitStatus(pooltest.Running, time.Minute, guest...)
	began := time.Now()
	good := pool.Submit("bob", sleep(15, 1, 1, estimate+"15", "+Worth = 1"))
	waits("bob")
	better := pool.Submit("carol", sleep(15, 1, 1, estimate+"15", "+Worth = 2"))
	pool.Wait("a better claim that waits", 40*time.Second, func() bool {
		return strings.Contains(pool.Log("StartLog.n1"), "Replacing existing preempting claim with new preempting claim based on machine rank")
	})
	require.Equal(t, pooltest.Running, pool.Statuses()[guest[0]])
	pool.WaitDone(2*time.Minute, better...)
	t.Logf("the better job was done after %v", time.Since(began).Round(time.Second))
	pool.WaitDone(3*time.Minute, good...)
	pool.As("alice", "condor_rm", "alice")
	audit := pool.Audit()
	first, second := runsOf(audit, better[0]), runsOf(audit, good[0])
	require.Len(t, first, 1)
	require.Len(t, second, 1, "it was not started in between")
	require.Less(t, first[0].Start, second[0].Start)
	retired := runsOf(audit, guest[0])[0]
	// The startd has a job leave so early that it can take its time for that within its retirement.
	require.GreaterOrEqual(t, retired.End.Sub(retired.Start), 35*time.Second, "it retired")
	require.Less(t, first[0].Start.Sub(retired.Start), 100*time.Second, "the better job awaited no one else")
}
