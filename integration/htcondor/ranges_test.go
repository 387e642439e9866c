package htcondor_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

var rangesFor = flag.Duration("ranges", 150*time.Second, "for how long TestToldRangesHold submits jobs")

// TestToldRangesHold: with the usual start slack, about eight of ten jobs begin in the range that they are
// told, as the event log has it, and the middle of it is neither late nor early. Three users submit jobs
// of random lengths; two thirds of the estimates are too long.
func TestToldRangesHold(t *testing.T) {
	for _, policy := range []string{"slack", "conservative"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			pool := ours(t, []string{"NODES=2", "CPUS=8", "SLOTS=consumption"}, "BACKFILL_POLICY = "+policy,
				"BACKFILL_START_SLACK = 60\nNEGOTIATOR_INTERVAL = 60\nSCHEDD_INTERVAL = 30")
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
				if time.Since(asked) < 20*time.Second {
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
			within, late := 0, []int64{}
			for _, id := range ids {
				for _, plan := range told[id.String()] {
					began := runsOf(audit, id)[0].Start.Unix()
					late = append(late, began-*plan.P50)
					if *plan.P10 <= began && began <= *plan.P90 {
						within++
					}
				}
			}
			require.Greater(t, len(late), 15, "ranges were told")
			slices.Sort(late)
			t.Logf("%s: of %d ranges that %d jobs were told %d %% held; the jobs began later than the middle by: "+
				"p10 %d s, median %d s, p90 %d s\n%s", policy, len(late), len(told), 100*within/len(late), late[len(late)/10],
				late[len(late)/2], late[len(late)*9/10], pool.As("alice", "negotiator", "start-times", "--accuracy"))
			require.Greater(t, float64(within)/float64(len(late)), 0.55)
			require.InDelta(t, 0, late[len(late)/2], 15)
		})
	}
}

// someNap describes a job of some seconds.
func someNap(random *rand.Rand) string {
	asks := 10 + random.IntN(40)
	run := asks
	if random.IntN(3) > 0 {
		run = 1 + int(float64(asks)*random.Float64())
	}
	return sleep(run, 1+random.IntN(3), 1, estimate+fmt.Sprint(asks))
}
