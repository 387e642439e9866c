package htcondor_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

var withStock = flag.Bool("stock", false, "run scenarios that compare negotiators under the stock one, too")

// bothRun runs scenarios under our negotiator and, if asked to, under the stock one.
func bothRun(t *testing.T, settings []string, lines string, scenarios []scenario) {
	t.Helper()
	t.Run("ours", func(t *testing.T) {
		t.Parallel()
		ours(t, settings, lines).runAll(t, scenarios)
	})
	t.Run("stock", func(t *testing.T) {
		t.Parallel()
		pooltest.Need(t)
		if !*withStock {
			t.Skip("skipped: it is only for comparison; run it with -pool -stock")
		}
		pool := pooltest.Start(t, append(slices.Clone(settings), stockPace+"\n"+lines)...)
		(&ourPool{Pool: pool}).runAll(t, scenarios)
	})
}

// TestDeferredJobs runs jobs that have a time of their own.
func TestDeferredJobs(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"SLOTS=consumption"}, "", []scenario{{"at a time", deferredJob}, {"each minute", cronJob}})
}

// deferredJob checks that jobs begin to run at their time, though their slots are claimed in their
// preparation, and that one which has missed its time goes on waiting.
func deferredJob(t *testing.T, pool *ourPool) {
	t.Helper()
	at := time.Now().Unix() + 30
	job := pool.Submit("alice", sleep(2, 1, 1, fmt.Sprint("deferral_time = ", at), "deferral_prep_time = 10", estimate+"5"))
	at2 := fmt.Sprint("deferral_time = ", at+1)
	early := pool.Submit("alice", sleep(2, 1, 1, at2, "deferral_prep_time = 60", estimate+"5"))
	missed := pool.Submit("alice", sleep(2, 1, 1, fmt.Sprint("deferral_time = ", at-40), "deferral_window = 5", estimate+"5"))
	pool.WaitDone(time.Minute, append(job, early...)...)
	for _, ad := range pool.History() {
		begins := map[pooltest.JobID]int64{job[0]: at, early[0]: at + 1}[ad.Job()]
		t.Logf("job %v: deferred until %d, matched at %+d, began at %+d", ad.Job(), begins,
			int64(ad.Int("JobCurrentStartDate"))-begins, int64(ad.Int("JobCurrentStartExecutingDate"))-begins)
		require.InDelta(t, begins, ad.Int("JobCurrentStartExecutingDate"), 2)
	}
	require.Equal(t, pooltest.Idle, pool.Statuses()[missed[0]])
}

// cronJob checks that a cron job runs at the beginning of two minutes, and then waits for the next.
func cronJob(t *testing.T, pool *ourPool) {
	t.Helper()
	job := pool.Submit("alice", sleep(1, 1, 1, "cron_minute = *", "cron_prep_time = 20", "cron_window = 10",
		"on_exit_remove = false", estimate+"5"))
	pool.Wait("two runs", 150*time.Second, func() bool {
		ads := pool.Queue()
		return len(ads) == 1 && ads[0].Int("NumJobCompletions") == 2
	})
	runs := runsOf(pool.Audit(), job[0])
	require.Len(t, runs, 2)
	for _, run := range runs {
		require.Less(t, run.Start.Second(), 10, "%v", run)
	}
}

// TestDeferredInAFullPool checks that a job with a time of its own makes it although others that came
// later wait for every core: one is kept for it.
func TestDeferredInAFullPool(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"CPUS=4", "SLOTS=consumption"})
	at := time.Now().Unix() + 50
	job := pool.Submit("alice", sleep(2, 1, 1, fmt.Sprint("deferral_time = ", at), "deferral_prep_time = 5",
		"deferral_window = 3", estimate+"5"))
	promised := pool.promises(t, job...)[job[0].String()]
	require.LessOrEqual(t, promised, at)
	pool.Submit("bob", sleep(6, 1, 60, estimate+"7"))
	require.Contains(t, pool.startTimes(t)[job[0].String()].Reason, "is deferred until ")
	pool.WaitDone(2*time.Minute, job...)
	ads := pool.History("-constraint", "DeferralTime > 0")
	require.Len(t, ads, 1)
	t.Logf("deferred until %d, matched at %+d, began at %+d", at, int64(ads[0].Int("JobCurrentStartDate"))-at,
		int64(ads[0].Int("JobCurrentStartExecutingDate"))-at)
	require.InDelta(t, at, ads[0].Int("JobCurrentStartExecutingDate"), 3)
	require.NotContains(t, pool.Log("NegotiatorLog"), "was not started")
}
