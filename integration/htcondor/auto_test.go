package htcondor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestThePoolChoosesItsPolicy: while short jobs wait behind a long one, the order that serves them
// first is put in charge. The log, the Negotiator ad and explain say so.
func TestThePoolChoosesItsPolicy(t *testing.T) {
	t.Parallel()
	pool := ours(t, nil, "BACKFILL_POLICY = auto",
		// The order in charge when the running job ends decides, so a play is of a minute of it.
		"BACKFILL_POLICY_OPTIONS = portfolio=\"easy:fcfs easy:sjf\" every=60 work=0 window=0")
	full := pool.Submit("alice", sleep(45, 8, 1, estimate+"45"))
	pool.WaitStatus(pooltest.Running, time.Minute, full...)
	long := pool.Submit("alice", sleep(5, 8, 1, estimate+"3000"))
	short := pool.Submit("alice", sleep(1, 8, 2, estimate+"1"))
	inCharge := func() string { return pool.Ads("-negotiator")[0].Text("BackfillPolicyInCharge") }
	pool.Wait("another policy", 30*time.Second, func() bool { return inCharge() == "easy:sjf" })
	require.Contains(t, pool.Log("NegotiatorLog"), "policy=easy:sjf why=")
	require.Contains(t, pool.As("alice", "negotiator", "explain", long[0].String()), "easy:sjf, chosen at ")
	pool.WaitDone(2*time.Minute, append(long, short...)...)
	audit := pool.Audit()
	audit.Check(t)
	for _, job := range short {
		require.True(t, runsOf(audit, job)[0].Start.Before(runsOf(audit, long[0])[0].Start), "%v comes first", job)
	}
	pool.Wait("the base again, as nobody waits", 30*time.Second, func() bool { return inCharge() == "easy:fcfs" })
}
