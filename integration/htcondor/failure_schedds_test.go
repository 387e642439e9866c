package htcondor_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestScheddsFail stops one of three schedds for half a minute and kills another. The third one's jobs start
// meanwhile, what waits keeps its promise, and in the end everything has run once.
func TestScheddsFail(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"NODES=3", "CPUS=4", "SLOTS=consumption", "SCHEDDS=3"})
	// Nobody starts the jobs of a schedd that is stopped when their time comes.
	pool.permit("start late", "start failed", "overrun")
	schedds := []string{pooltest.Host, "s2@" + pooltest.Host, "s3@" + pooltest.Host}
	var run, wait []pooltest.JobID
	for _, schedd := range schedds {
		run = append(run, pool.SubmitTo(schedd, "alice", sleep(40, 1, 3, estimate+"45"))...)
	}
	pool.WaitStatus(pooltest.Running, time.Minute, run...)
	for _, schedd := range schedds {
		wait = append(wait, pool.SubmitTo(schedd, "bob", sleep(2, 4, 1, estimate+"5"))...)
	}
	promises := func() map[string]int64 {
		promised := map[string]int64{}
		plans := pool.startTimes(t)
		for _, job := range wait {
			if g := plans[fmt.Sprintf("%d.%d@%s", job.Cluster, job.Proc, job.Schedd)].Guarantee; g != nil {
				promised[job.String()] = *g
			}
		}
		return promised
	}
	pool.Wait("guarantees", 30*time.Second, func() bool { return len(promises()) == len(wait) })
	before := promises()

	pool.Signal("s2", syscall.SIGSTOP)
	stopped := time.Now()
	goOn := func() { pool.Signal("s2", syscall.SIGCONT) }
	defer func() { goOn() }()
	pool.Kill("s3")
	late := pool.Submit("carol", sleep(1, 1, 3, estimate+"1"))
	pool.Wait("the jobs of the schedd that answers", 25*time.Second, func() bool {
		done := 0
		for _, e := range pool.Events() {
			if e.Type == pooltest.Terminated && slices.Contains(late, e.Job) {
				done++
			}
		}
		return done == len(late)
	})
	t.Logf("jobs of the schedd that answers were done %.0f s after another was stopped", time.Since(stopped).Seconds())
	require.Equal(t, before, promises(), "promises of schedds that do not answer")
	time.Sleep(time.Until(stopped.Add(30 * time.Second)))
	goOn()
	goOn = func() {}
	pool.WaitDone(3*time.Minute, slices.Concat(run, wait, late)...)
	audit := pool.Audit()
	audit.Check(t)
	for _, job := range slices.Concat(wait, late) {
		require.Len(t, runsOf(audit, job), 1, "%v", job)
	}
	t.Logf("broken guarantees: %v", pool.broken())
}
