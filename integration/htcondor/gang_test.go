package htcondor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// forGangs is the configuration that README.md recommends for pools with gangs: a schedd that plans
// every second, for all waiting gangs and not only the first, and claims that no other gang can
// use.
const forGangs = `
SCHEDD_INTERVAL = 1
SCHEDD_MIN_INTERVAL = 1
DEDICATED_SCHEDULER_USE_FIFO = False
STARTD_JOB_ATTRS = $(STARTD_JOB_ATTRS) ClusterId
JOB_TRANSFORM_NAMES = OwnSlots
JOB_TRANSFORM_OwnSlots @=end
   REQUIREMENTS JobUniverse == 11
   SET Requirements ($(MY.Requirements)) && (TARGET.ClusterId =?= undefined || TARGET.ClusterId =?= MY.ClusterId)
@end
`

// TestGangs runs jobs of several nodes. The audit checks that each runs as a whole.
func TestGangs(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"NODES=4", "SLOTS=consumption"}, forGangs)
	pool.runAll(t, []scenario{
		{"beside jobs of one node", gangBesideJobs},
		{"several at once", severalGangs},
		{"a small one passes one that waits", smallGangPasses},
		{"one that would delay another gets nothing", longGangWaits},
		{"the schedd crashes", gangsWithoutSchedd}, // last, because it permits broken guarantees
	})
	t.Logf("the schedd crashed by itself %d times", crashes(pool.Pool))
	if crashes(pool.Pool) > 0 {
		pool.permit("start failed", "start late", "overrun")
	}
}

// crashes counts how often the schedd crashed.
func crashes(p *pooltest.Pool) int {
	return strings.Count(p.Log("MasterLog"), "died due to signal 11")
}

// startOf returns when a job first ran.
func startOf(t *testing.T, a pooltest.Audit, job pooltest.JobID) time.Time {
	t.Helper()
	runs := runsOf(a, job)
	require.NotEmpty(t, runs, "%v ran", job)
	return runs[0].Start
}

// blocked keeps one of four nodes busy and submits a gang that waits for all four with a promise.
func (p *ourPool) blocked(t *testing.T) (all []pooltest.JobID) {
	t.Helper()
	one := p.Submit("alice", sleep(28, 8, 1, estimate+"32"))
	p.WaitStatus(pooltest.Running, time.Minute, one...)
	wide := p.Submit("bob", gang(3, 4, 8, estimate+"5"))
	p.promises(t, wide...)
	return append(wide, one...)
}

func gangBesideJobs(t *testing.T, pool *ourPool) {
	t.Helper()
	jobs := pool.Submit("alice", sleep(12, 4, 4, estimate+"12"))
	jobs = append(jobs, pool.Submit("bob", gang(5, 3, 4, estimate+"5"))...)
	jobs = append(jobs, pool.Submit("alice", sleep(3, 1, 4, estimate+"3"))...)
	pool.WaitDone(2*time.Minute, jobs...)
	require.Len(t, runsOf(pool.Audit(), jobs[4]), 3)
}

// severalGangs checks that gangs run at once, although their schedd gets the slots of one gang at a
// time.
func severalGangs(t *testing.T, pool *ourPool) {
	t.Helper()
	jobs := slices.Concat(
		pool.Submit("alice", gang(20, 4, 2, estimate+"20")), pool.Submit("bob", gang(20, 3, 3, estimate+"20")),
		pool.Submit("carol", gang(20, 6, 1, estimate+"20")))
	pool.WaitDone(2*time.Minute, jobs...)
	require.Equal(t, 4+3+6, most(pool.Audit(), jobs...))
}

func smallGangPasses(t *testing.T, pool *ourPool) {
	t.Helper()
	waiting := pool.blocked(t)
	small := pool.Submit("carol", gang(3, 2, 2, estimate+"5"))
	pool.WaitDone(2*time.Minute, append(waiting, small...)...)
	audit := pool.Audit()
	require.True(t, startOf(t, audit, small[0]).Before(startOf(t, audit, waiting[0])),
		"it fits into the time that the wide one waits")
}

// longGangWaits has a gang that fits at once and that the stock negotiator would start. A later
// gang of the same size, but short, gets slots; its schedd must not use them for the long one,
// which it considers first.
func longGangWaits(t *testing.T, pool *ourPool) {
	t.Helper()
	waiting := pool.blocked(t)
	long := pool.Submit("carol", gang(3, 2, 2, estimate+"600"))
	short := pool.Submit("dave", gang(2, 2, 2, estimate+"3"))
	pool.WaitDone(2*time.Minute, slices.Concat(waiting, long, short)...)
	audit := pool.Audit()
	require.True(t, startOf(t, audit, short[0]).Before(startOf(t, audit, waiting[0])),
		"it fits into the time that the wide one waits")
	require.True(t, startOf(t, audit, waiting[0]).Before(startOf(t, audit, long[0])),
		"what was promised to the wide one is kept")
}

// gangsWithoutSchedd kills the schedd while a gang runs and two wait. The running one may have to
// run again.
func gangsWithoutSchedd(t *testing.T, pool *ourPool) {
	t.Helper()
	pool.permit("start failed", "start late", "overrun")
	first := pool.Submit("alice", gang(10, 3, 4, estimate+"15"))
	pool.WaitStatus(pooltest.Running, time.Minute, first...)
	jobs := append(first, pool.Submit("bob", gang(2, 4, 8, estimate+"5"))...)
	jobs = append(jobs, pool.Submit("carol", gang(2, 2, 5, estimate+"5"))...)
	pool.Kill("schedd")
	pool.WaitDone(4*time.Minute, jobs...)
}

// TestGangsOfProcs runs gangs of two procs: one of which the second has larger nodes, behind a job
// that keeps it waiting, one of the kind that HTCondor's own test has, and one of which the second
// is on hold.
func TestGangsOfProcs(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"NODES=4", "SLOTS=consumption"}, forGangs, []scenario{{"of two procs", gangsOfProcs}})
}

func gangsOfProcs(t *testing.T, pool *ourPool) {
	t.Helper()
	const another = "\nmachine_count = %d\nrequest_cpus = %d\nqueue"
	one := pool.Submit("alice", sleep(10, 8, 1, estimate+"10"))
	pool.WaitStatus(pooltest.Running, time.Minute, one...)
	larger := pool.Submit("bob", gang(5, 1, 4, estimate+"5")+fmt.Sprintf(another, 3, 8))
	alike := pool.Submit("carol", gang(2, 4, 1, estimate+"2")+fmt.Sprintf(another, 1, 1))
	pool.WaitDone(2*time.Minute, slices.Concat(one, larger, alike)...)
	onHold := pool.Submit("alice", gang(2, 2, 1, estimate+"2")+"\nhold = true"+fmt.Sprintf(another, 2, 1))
	pool.WaitDone(2*time.Minute, onHold...)
	audit := pool.Audit()
	given := func(gang []pooltest.JobID) (cpus []int) { // condor_submit names the first proc alone
		for _, run := range audit.Runs {
			if run.Job.Cluster == gang[0].Cluster {
				cpus = append(cpus, run.Given.Cpus)
			}
		}
		slices.Sort(cpus)
		return cpus
	}
	require.Equal(t, []int{4, 8, 8, 8}, given(larger))
	require.Equal(t, []int{1, 1, 1, 1, 1}, given(alike))
	require.Equal(t, []int{1, 1, 1, 1}, given(onHold), "its schedd starts the proc that is on hold as well")
}
