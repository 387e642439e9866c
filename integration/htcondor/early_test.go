package htcondor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// refusing has startds refuse claims of a job until the time RefuseUntil, although their ads match
// it: only the ads that schedds send with a claim have the first attribute.
const refusing = "START = TARGET._condor_SEND_CLAIMED_AD =?= undefined || TARGET.RefuseUntil =?= undefined || " +
	"time() >= TARGET.RefuseUntil"

// TestStartsThatFailAtOnce has startds refuse claims, and vacates jobs in their first second. In both
// cases the jobs run within seconds, and their slots are not left out.
func TestStartsThatFailAtOnce(t *testing.T) {
	t.Parallel()
	for _, slots := range []string{"partitionable", "consumption"} {
		t.Run(slots, func(t *testing.T) {
			t.Parallel()
			pool := ours(t, []string{"NODES=2", "CPUS=2", "SLOTS=" + slots}, "NEGOTIATOR_INTERVAL = 60", refusing)
			pool.permit("start failed")
			pool.WaitDone(time.Minute, pool.Submit("alice", sleep(1, 1, 1, estimate+"20"))...)
			again, back := startFailsAtOnce(t, pool.Pool)
			require.Less(t, again, 15*time.Second, "usually 2 s")
			require.Less(t, back, 15*time.Second, "usually 2 s")
			require.NotContains(t, pool.Log("NegotiatorLog"), "left out for a while")
		})
	}
}

// TestStartsThatFailAtOnceUnderStock measures the same with the stock negotiator.
func TestStartsThatFailAtOnceUnderStock(t *testing.T) {
	t.Parallel()
	pool := pooltest.Start(t, "NODES=2", "CPUS=2", "EXTRA=SCHEDD_MIN_INTERVAL = 1\n"+refusing)
	pool.WaitDone(time.Minute, pool.Submit("alice", sleep(1, 1, 1))...)
	startFailsAtOnce(t, pool)
}

// startFailsAtOnce has a claim of a job refused, then vacates a job as soon as it runs. It returns
// after which time they ran again.
func startFailsAtOnce(t *testing.T, pool *pooltest.Pool) (again, back time.Duration) {
	t.Helper()
	pool.Wait("free slots", time.Minute, func() bool { return len(pool.Slots("-constraint", `State == "Claimed"`)) == 0 })
	var job []pooltest.JobID
	var refused time.Time
	refusal := "Request was NOT accepted"
	for range 10 { // until the first claim comes in time to be refused
		until := time.Now().Unix() + 2
		job = pool.Submit("alice", sleep(1, 1, 1, estimate+"20", fmt.Sprint("+RefuseUntil = ", until)))
		for refused = time.Now(); time.Now().Unix() < until; refused = time.Now() {
			if strings.Contains(pool.Log("SchedLog"), refusal) {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		pool.WaitDone(2*time.Minute, job...)
		if strings.Contains(pool.Log("SchedLog"), refusal) {
			break
		}
	}
	require.Equal(t, 1, strings.Count(pool.Log("SchedLog"), refusal))
	runs := runsOf(pool.Audit(), job[0])
	require.Len(t, runs, 1)
	again = runs[0].Start.Sub(refused)

	vacated := pool.Submit("alice", sleep(2, 1, 1, estimate+"20"))
	pool.WaitStatus(pooltest.Running, time.Minute, vacated...)
	pool.As("root", "condor_vacate_job", vacated[0].String())
	pool.WaitDone(2*time.Minute, vacated...)
	runs = runsOf(pool.Audit(), vacated[0])
	require.Len(t, runs, 2, "it was vacated while it ran")
	back = runs[1].Start.Sub(runs[0].End)
	t.Logf("a job ran %.1f s after its claim was refused; one that was vacated after %.1f s ran again %.1f s later",
		again.Seconds(), runs[0].End.Sub(runs[0].Start).Seconds(), back.Seconds())
	return again, back
}
