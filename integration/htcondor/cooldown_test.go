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

// oftenCycles has both negotiators begin cycles as often as they may, and at least every five seconds.
const oftenCycles = "NEGOTIATOR_INTERVAL = 5\nNEGOTIATOR_CYCLE_DELAY = 1\nNEGOTIATOR_MIN_INTERVAL = 1\n" +
	"SCHEDD_INTERVAL = 5\nSCHEDD_MIN_INTERVAL = 1"

// cooledFor is for how many seconds the pools of these tests let vacated jobs cool down.
const cooledFor = 12

// TestCoolDown has jobs of alice cool down while bob's short jobs come, under the stock negotiator and
// under ours: his do not wait longer for that. A job that is vacated runs again when it has cooled down.
func TestCoolDown(t *testing.T) {
	t.Parallel()
	pooltest.Need(t)
	lines := fmt.Sprint("SYSTEM_ON_VACATE_COOL_DOWN = ", cooledFor, "\n", oftenCycles)
	var longest, mean [2]time.Duration
	t.Run("stock", func(t *testing.T) {
		pool := pooltest.Start(t, "CPUS=4", "EXTRA="+lines)
		mean[0], longest[0] = besideIdle(t, pool, coolingJobs())
	})
	t.Run("ours", func(t *testing.T) {
		pool := ours(t, []string{"CPUS=4"}, lines)
		mean[1], longest[1] = besideIdle(t, pool.Pool, coolingJobs())
		cooling := pool.startTimes(t)
		for _, ad := range pool.Queue("-constraint", "JobCoolDownExpiration > time()") {
			require.Contains(t, cooling[ad.Job().String()].Reason, "cools down until ")
		}
		again := vacated(t, pool)
		require.InDelta(t, cooledFor, again.Seconds(), 5, "a job that was vacated runs again when it has cooled down")
		require.NotContains(t, pool.Log("NegotiatorLog"), "left out for a while")
		require.NotContains(t, pool.Log("NegotiatorLog"), "was not started")
	})
	t.Logf("mean and longest wait of bob's jobs: stock %.1f s, %.1f s; ours %.1f s, %.1f s",
		mean[0].Seconds(), longest[0].Seconds(), mean[1].Seconds(), longest[1].Seconds())
	if mean[0] > 0 && mean[1] > 0 { // else -run has left one out
		require.LessOrEqual(t, mean[1].Seconds(), 1.3*mean[0].Seconds()+0.5, "times are whole seconds")
		require.LessOrEqual(t, longest[1].Seconds(), 1.3*longest[0].Seconds()+2)
	}
}

// TestRefusedJobs has a schedd refuse jobs of alice by a rule that it tells nobody while bob's short
// jobs come, under the stock negotiator and under ours. Ours learns it: the jobs wait, not the slots.
func TestRefusedJobs(t *testing.T) {
	t.Parallel()
	pooltest.Need(t)
	lines := "START_VANILLA_UNIVERSE = JOB.Forbidden =!= true\n" + oftenCycles
	forbidden := sleep(3, 1, 12, estimate+"10", "+Forbidden = true")
	var longest, mean [2]time.Duration
	t.Run("stock", func(t *testing.T) {
		mean[0], longest[0] = besideIdle(t, pooltest.Start(t, "CPUS=4", "EXTRA="+lines), forbidden)
	})
	t.Run("ours", func(t *testing.T) {
		// A schedd that may use a claim for another job does not ask the rule of that one.
		pool := ours(t, []string{"CPUS=4"}, lines, "BACKFILL_LEASE_TIME = 0")
		pool.permit("start failed", "start late", "overrun", "job changed")
		mean[1], longest[1] = besideIdle(t, pool.Pool, forbidden)
		plans, reasons := pool.startTimes(t), map[string]int{}
		for _, ad := range pool.Queue("-constraint", "Forbidden") {
			why, _, _ := strings.Cut(plans[ad.Job().String()].Reason, ";")
			reasons[why]++
		}
		t.Logf("%v", reasons)
		pool.As("root", "condor_qedit", "-constraint", "Forbidden", "Forbidden", "false")
		alice := pool.Queue()
		var all []pooltest.JobID
		for _, ad := range alice {
			all = append(all, ad.Job())
		}
		pool.WaitDone(3*time.Minute, all...)
	})
	t.Logf("mean and longest wait of bob's jobs: stock %.1f s, %.1f s; ours %.1f s, %.1f s",
		mean[0].Seconds(), longest[0].Seconds(), mean[1].Seconds(), longest[1].Seconds())
	if mean[0] > 0 && mean[1] > 0 { // else -run has left one out
		require.LessOrEqual(t, mean[1].Seconds(), 1.3*mean[0].Seconds()+3, "the first matches take seconds to be known as refused")
		require.Less(t, longest[1].Seconds(), 20.)
	}
}

// coolingJobs are jobs that cool down for an hour.
func coolingJobs() string {
	return sleep(3, 1, 12, estimate+"10", fmt.Sprint("+JobCoolDownExpiration = ", time.Now().Add(time.Hour).Unix()))
}

// besideIdle submits jobs of alice that may not run, and then short ones of bob, for which there are
// always idle cores. It returns how long these wait.
func besideIdle(t *testing.T, pool *pooltest.Pool, description string) (mean, longest time.Duration) {
	t.Helper()
	pool.Wait("the negotiator", time.Minute, func() bool { return len(pool.Ads("-negotiator")) == 1 })
	pool.WaitDone(time.Minute, pool.Submit("bob", sleep(1, 1, 1, estimate+"10"))...)
	idle := pool.Submit("alice", description)
	time.Sleep(3 * time.Second) // both negotiators see them before bob's come
	var bobs []pooltest.JobID
	for range 10 {
		bobs = append(bobs, pool.Submit("bob", sleep(3, 1, 1, estimate+"10"))...)
		time.Sleep(2 * time.Second) // the pace of the load, not a wait for something
	}
	pool.WaitDone(3*time.Minute, bobs...)
	m := pool.Audit().Measure(4, bobs...)
	require.Equal(t, len(bobs), m.Jobs)
	statuses := pool.Statuses()
	for _, job := range idle {
		require.Equal(t, pooltest.Idle, statuses[job])
	}
	return m.MeanWait, m.MaxWait
}

// vacated vacates a job that runs, and returns how long it takes until it runs again.
func vacated(t *testing.T, pool *ourPool) time.Duration {
	t.Helper()
	job := pool.Submit("bob", sleep(15, 1, 1, estimate+"20"))
	pool.WaitStatus(pooltest.Running, time.Minute, job...)
	pool.As("root", "condor_vacate_job", job[0].String())
	pool.Wait("the reason", 30*time.Second, func() bool {
		return strings.Contains(pool.startTimes(t)[job[0].String()].Reason, "cools down until ")
	})
	pool.WaitDone(time.Minute, job...)
	runs := runsOf(pool.Audit(), job[0])
	require.Len(t, runs, 2)
	slices.SortFunc(runs, func(a, b pooltest.Run) int { return a.Start.Compare(b.Start) })
	return runs[1].Start.Sub(runs[0].End)
}
