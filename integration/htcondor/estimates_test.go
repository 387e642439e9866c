package htcondor_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestEstimatorsAreSwitched changes estimators while jobs run: from one to the requested times, to
// another one, and to a policy that gives guarantees. What was learned outlives the negotiator, and
// a held job teaches nothing.
func TestEstimatorsAreSwitched(t *testing.T) {
	t.Parallel()
	const requested = 1000
	asks := estimate + strconv.Itoa(requested)
	pool := ours(t, []string{"NODES=1", "CPUS=4", "SLOTS=consumption"}, estimators("easy", "user"))
	// Jobs run for longer than the time between two cycles, so that they are seen running.
	pool.WaitDone(time.Minute, pool.Submit("alice", sleep(8, 1, 4, asks))...)
	long := pool.Submit("alice", sleep(600, 3, 1, asks))
	stops := pool.Submit("alice", sleep(600, 1, 1, asks))
	pool.WaitStatus(pooltest.Running, time.Minute, append(stops, long...)...)
	next := pool.Submit("alice", sleep(1, 4, 1, asks))
	other := pool.Submit("bob", sleep(1, 4, 1, asks))
	began := runsOf(pool.Audit(), long[0])[0].Start.Unix()

	foretold := pool.planned(t, next[0], func(p jobPlan) bool { return p.Start != nil && p.Predicted != nil })
	require.EqualValues(t, requested, *foretold.Requested)
	require.Less(t, *foretold.Predicted, int64(requested/2), "alice's jobs ran for some seconds")
	require.Less(t, *foretold.Start, began+requested, "so the one that runs is taken to end before long")
	unknown := pool.planned(t, other[0], func(p jobPlan) bool { return p.Start != nil })
	require.Nil(t, unknown.Predicted, "nothing is known of bob's jobs")
	require.Contains(t, pool.As("alice", "negotiator", "explain", next[0].String()),
		fmt.Sprintf("%d s requested, %d s expected", requested, *foretold.Predicted))

	pool.reconfigure(estimators("easy", "requested"), "estimates: user → requested")
	plain := pool.planned(t, next[0], func(p jobPlan) bool { return p.Start != nil && p.Predicted == nil })
	require.GreaterOrEqual(t, *plain.Start, began+requested)

	pool.reconfigure(estimators("easy", "tsafrir"), "estimates: requested → tsafrir")
	pool.As("alice", "condor_hold", stops[0].String())
	pool.Wait("the negotiator to notice", time.Minute, func() bool {
		_, err := pool.Try("alice", "negotiator", "explain", stops[0].String())
		return err != nil
	})
	pool.Kill("negotiator")
	var known []string
	pool.Wait("the next negotiator", time.Minute, func() bool {
		known = regexp.MustCompile(`run times are known: jobs=(\d+)`).FindStringSubmatch(pool.Log("NegotiatorLog"))
		return known != nil
	})
	require.LessOrEqual(t, known[1], "4", "those that ended")
	foretold = pool.planned(t, next[0], func(p jobPlan) bool { return p.Start != nil && p.Predicted != nil })
	require.Less(t, *foretold.Predicted, int64(requested/2))
	require.Less(t, *foretold.Start, began+requested)

	pool.reconfigure(estimators("conservative", "tsafrir"), "policy: easy → conservative")
	sure := pool.planned(t, next[0], func(p jobPlan) bool { return p.Guarantee != nil })
	require.GreaterOrEqual(t, *sure.Guarantee, began+requested, "guaranteed is what follows from requests")
	require.Less(t, *sure.Start, *sure.Guarantee, "it is expected earlier")
	require.NotNil(t, sure.Predicted)
	require.Contains(t, sure.Reason, "guaranteed by")

	pool.As("alice", "condor_rm", long[0].String())
	pool.WaitDone(time.Minute, next[0], other[0])
}

// estimators returns lines of configuration.
func estimators(policy, name string) string { // starts as predicted, not drawn
	return fmt.Sprintf("BACKFILL_ORDER = fcfs\nBACKFILL_POLICY = %s\nBACKFILL_ESTIMATES = %s\n"+
		"BACKFILL_ESTIMATES_OPTIONS = threshold=2\nBACKFILL_FUTURES = 1", policy, name)
}

// reconfigure replaces lines of a pool's configuration and waits until the negotiator logs the
// change.
func (p *ourPool) reconfigure(lines, says string) {
	p.Wait("the ad of condor_master", time.Minute, func() bool { return len(p.Ads("-master")) == 1 })
	p.Config("EXTRA=" + ourNegotiator + lines)
	p.Wait(says, time.Minute, func() bool { return strings.Contains(p.Log("NegotiatorLog"), says) })
}

// planned waits for a plan of the job that satisfies the condition.
func (p *ourPool) planned(t *testing.T, job pooltest.JobID, condition func(jobPlan) bool) (plan jobPlan) {
	t.Helper()
	p.Wait("a plan of job "+job.String(), time.Minute, func() bool {
		plan = p.startTimes(t)[job.String()]
		return condition(plan)
	})
	return plan
}
