package htcondor_test

import (
	"flag"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

var rangesFor = flag.Duration("ranges", 130*time.Second, "for how long TestToldRangesHold submits jobs")

// usual are lines of configuration that put intervals and start slack back to what is usual.
const usual = "BACKFILL_START_SLACK = 60\nNEGOTIATOR_INTERVAL = 60\nSCHEDD_INTERVAL = 30\n"

// TestToldRangesHold: with the usual start slack, about eight of ten jobs begin in the range that they are
// told, as the event log has it, and the middle of it is neither late nor early. Three users submit jobs
// of random lengths; two thirds of the estimates are too long.
func TestToldRangesHold(t *testing.T) {
	// Under slack the queue's order decides more, and user priorities change faster than plays know.
	for policy, least := range map[string]float64{"slack": 0.1, "conservative": 0.55} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			pool := ours(t, []string{"NODES=2", "CPUS=8", "SLOTS=consumption"}, "BACKFILL_POLICY = "+policy, usual)
			within, late := listen(t, pool)
			require.Greater(t, within, least)
			require.InDelta(t, 0, late, 15)
		})
	}
}

// TestAnObserverTellsRanges: beside the stock negotiator, an observer tells ranges, and how true they
// were.
func TestAnObserverTellsRanges(t *testing.T) {
	t.Parallel()
	pool := &ourPool{Pool: pooltest.Prepare(t, "NODES=2", "CPUS=8", "SLOTS=consumption",
		"EXTRA="+strings.ReplaceAll(ourNegotiator, "NEGOTIATOR_INTERVAL = 2", "NEGOTIATOR_INTERVAL = 20")+
			"BACKFILL_POLICY = easy\nBACKFILL_START_SLACK = 60")}
	pool.Install(built(t, "../../negotiator/cmd/negotiator"))
	pool.Up()
	pool.As("condor", "sh", "-c", "negotiator --observe -t >/dev/null 2>&1 &")
	_, late := listen(t, pool)
	require.InDelta(t, 0, late, 60)
	require.Regexp(t, `(?m)^ arrival +[1-9].*[0-9] % of [1-9]`, pool.As("alice", "negotiator", "start-times", "--accuracy"))
}

// listen submits jobs at random times, and asks every 20 s when they start. It returns the share of the
// ranges in which jobs began, and how many seconds later than the middle they did in the median.
func listen(t *testing.T, pool *ourPool) (within float64, late int64) {
	t.Helper()
	pool.Wait("the negotiator", time.Minute, func() bool { return len(pool.Ads("-negotiator")) == 1 })
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test's
	var ids []pooltest.JobID
	told := map[string][]jobPlan{} // by job, all that it was told
	begin, asked := time.Now(), time.Now()
	for next := begin; time.Since(begin) < *rangesFor || !pool.allDone(ids); time.Sleep(time.Second) {
		require.Less(t, time.Since(begin), *rangesFor+4*time.Minute, "some jobs starve")
		for time.Since(begin) < *rangesFor && !time.Now().Before(next) {
			ids = append(ids, pool.Submit([]string{"alice", "bob", "carol"}[random.IntN(3)], someNap(random))...)
			next = next.Add(time.Duration(random.ExpFloat64() * 2.2 * float64(time.Second)))
		}
		if time.Since(asked) < 20*time.Second || time.Since(begin) > *rangesFor-20*time.Second { // others come no more
			continue
		}
		asked = time.Now()
		for job, plan := range pool.startTimes(t) {
			if plan.ranged() {
				told[job] = append(told[job], plan)
			}
		}
	}
	audit := pool.Audit()
	audit.Check(t)
	var lates []int64
	hold := 0
	for _, id := range ids {
		for _, plan := range told[id.String()] {
			began := runsOf(audit, id)[0].Start.Unix()
			lates = append(lates, began-*plan.P50)
			if *plan.P10 <= began && began <= *plan.P90 {
				hold++
			}
		}
	}
	require.Greater(t, len(lates), 15, "ranges were told")
	slices.Sort(lates)
	within, late = float64(hold)/float64(len(lates)), lates[len(lates)/2]
	t.Logf("of %d ranges that %d of %d jobs were told %.0f %% held; jobs began later than the middle by %d s in the "+
		"median, from %d s (p10) to %d s (p90)\n%s", len(lates), len(told), len(ids), 100*within, late,
		lates[len(lates)/10], lates[len(lates)*9/10], pool.As("alice", "negotiator", "start-times", "--accuracy"))
	return within, late
}

// someNap describes a job of some seconds.
func someNap(random *rand.Rand) string {
	asks := 10 + random.IntN(40)
	run := asks
	if random.IntN(3) > 0 {
		run = 1 + int(float64(asks)*random.Float64())
	}
	return sleep(run, 1+random.IntN(3), 1, estimate+strconv.Itoa(asks))
}
