package htcondor_test

import (
	"slices"
	"testing"
	"time"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestAStaticSlotThatVacates evicts a job that takes its time to end. Meanwhile its slot refuses all
// jobs, which breaks no promise: the next job runs there, long before the other slot is free.
func TestAStaticSlotThatVacates(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"NODES=3"}, mixed)
	pool.permit("start failed") // of the evicted job
	const slow = "executable = /bin/sh\n" + `arguments = "-c 'trap ''sleep 8; exit'' TERM; sleep 300 & wait'"`
	evicted := pool.Submit("alice", sleep(1, 1, 1, on("n2"), estimate+"45", slow))
	stays := pool.Submit("alice", sleep(600, 1, 1, on("n2"), estimate+"600"))
	pool.WaitStatus(pooltest.Running, time.Minute, append(evicted, stays...)...)
	next := pool.Submit("bob", sleep(1, 1, 1, on("n2"), estimate+"1"))
	pool.promises(t, next...)
	pool.As("root", "condor_vacate_job", evicted[0].String())
	pool.Wait("a slot that vacates", time.Minute, func() bool {
		return slices.ContainsFunc(pool.Slots(), func(slot pooltest.Ad) bool { return slot["State"] == "Preempting" })
	})
	pool.cycles(t, 1)
	pool.WaitDone(2*time.Minute, next...)
}
