package htcondor_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// forGangs is what README.md recommends for pools with gangs: a schedd that plans for them each second, for all that wait
// and not the first alone, and claims that no other gang can use.
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

// TestGangs is what happens to jobs of several nodes at once. The audit sees to it that each runs whole.
func TestGangs(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"NODES=4", "SLOTS=consumption"}, forGangs)
	pool.runAll(t, []scenario{
		{"beside jobs of one node", gangBesideJobs},
		{"several at once", severalGangs},
		{"a small one passes one that waits", smallGangPasses},
		{"one that would delay another gets nothing", longGangWaits},
		{"the schedd crashes", gangsWithoutSchedd}, // the last: it permits broken guarantees
	})
	t.Logf("the schedd crashed by itself %d times", crashes(pool.Pool))
	if crashes(pool.Pool) > 0 {
		pool.permit("start failed", "start late", "overrun")
	}
}

// crashes counts how often the schedd died by itself.
func crashes(p *pooltest.Pool) int {
	return strings.Count(p.Log("MasterLog"), "died due to signal 11")
}

// startOf is when a job first ran.
func startOf(t *testing.T, a pooltest.Audit, job pooltest.JobID) time.Time {
	t.Helper()
	runs := runsOf(a, job)
	require.NotEmpty(t, runs, "%v ran", job)
	return runs[0].Start
}

// blocked keeps one of four nodes busy, and has a gang of all four wait for it with a promise.
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

// severalGangs run at once, though their schedd is given the slots of one after the other.
func severalGangs(t *testing.T, pool *ourPool) {
	t.Helper()
	jobs := slices.Concat(
		pool.Submit("alice", gang(20, 4, 2, estimate+"20")), pool.Submit("bob", gang(20, 3, 3, estimate+"20")), pool.Submit("carol", gang(20, 6, 1, estimate+"20")))
	pool.WaitDone(2*time.Minute, jobs...)
	require.Equal(t, 4+3+6, most(pool.Audit(), jobs...))
}

func smallGangPasses(t *testing.T, pool *ourPool) {
	t.Helper()
	waiting := pool.blocked(t)
	small := pool.Submit("carol", gang(3, 2, 2, estimate+"5"))
	pool.WaitDone(2*time.Minute, append(waiting, small...)...)
	audit := pool.Audit()
	require.True(t, startOf(t, audit, small[0]).Before(startOf(t, audit, waiting[0])), "it fits into the time that the wide one waits")
}

// longGangWaits has a gang that fits at once, and would be started by the stock negotiator. One that came later and
// is as large, but short, gets slots: its schedd must not use them for the long one, which it thinks of first.
func longGangWaits(t *testing.T, pool *ourPool) {
	t.Helper()
	waiting := pool.blocked(t)
	long := pool.Submit("carol", gang(3, 2, 2, estimate+"600"))
	short := pool.Submit("dave", gang(2, 2, 2, estimate+"3"))
	pool.WaitDone(2*time.Minute, slices.Concat(waiting, long, short)...)
	audit := pool.Audit()
	require.True(t, startOf(t, audit, short[0]).Before(startOf(t, audit, waiting[0])), "it fits into the time that the wide one waits")
	require.True(t, startOf(t, audit, waiting[0]).Before(startOf(t, audit, long[0])), "what was promised to the wide one is kept")
}

// gangsWithoutSchedd kills the schedd as a gang runs and two wait. The one that ran may have to run again.
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
