package htcondor_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestScheddsFail stops one of three schedds for half a minute and kills another. Meanwhile the
// third one's jobs start, waiting jobs keep their promises, and in the end everything has run once.
func TestScheddsFail(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"NODES=3", "CPUS=4", "SLOTS=consumption", "SCHEDDS=3"})
	// Jobs of a stopped schedd cannot start at their time.
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
	pool.Wait("guarantees", time.Minute, func() bool { return len(promises()) == len(wait) })
	before := promises()

	pool.Signal("s2", syscall.SIGSTOP)
	stopped := time.Now()
	goOn := func() { pool.Signal("s2", syscall.SIGCONT) }
	defer func() { goOn() }()
	pool.Kill("s3")
	late := pool.Submit("carol", sleep(1, 1, 3, estimate+"1"))
	pool.Wait("the jobs of the schedd that answers", time.Minute, func() bool {
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

// TestSlotThatTakesNoClaims stops a startd that every job ranks highest. Its ads remain, but claims
// on it fail.
func TestSlotThatTakesNoClaims(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"NODES=2", "CPUS=2", "SLOTS=consumption"}, "REQUEST_CLAIM_TIMEOUT = 20")
	pool.permit("start late", "start failed", "job changed", "slot changed")
	pool.Wait("two slots", time.Minute, func() bool { return len(pool.Slots()) == 2 })
	pool.Signal("n1", syscall.SIGSTOP)
	goOn := func() { pool.Signal("n1", syscall.SIGCONT) }
	defer func() { goOn() }()
	liked := pool.Submit("alice", sleep(1, 1, 1, estimate+"1", `rank = regexp("@n1@", TARGET.Name)`))
	only := pool.Submit("bob", sleep(1, 1, 1, estimate+"1", on("n1")))
	pool.WaitDone(3*time.Minute, liked...)
	pool.Wait("a pause", time.Minute, func() bool {
		return strings.Contains(pool.Log("NegotiatorLog"),
			"a slot is left out for a while: starts fail there: slot=slot1@n1@")
	})
	pool.Wait("an explanation", 2*time.Minute, func() bool {
		out, err := pool.Try("bob", "negotiator", "explain", only[0].String())
		return err == nil && strings.Contains(out, "left out") && strings.Contains(out, "slot1@n1@")
	})
	require.Positive(t, pool.Slots("-constraint", `Name == "slot1@n1@pool.test"`)[0].Int("DaemonStartTime"))
	goOn()
	goOn = func() {}
	pool.WaitDone(4*time.Minute, only...)
	pool.Audit().Check(t)
	paused, _ := strconv.Atoi(strings.TrimSpace(pool.As("root", "condor_status", "-negotiator", "-af",
		"BackfillSlotsPaused")))
	t.Logf("left out in the end: %d; lines: %d", paused,
		strings.Count(pool.Log("NegotiatorLog"), "a slot is left out for a while"))
}

// TestScheddRunsSoManyAtOnce has a schedd at MAX_JOBS_RUNNING, which silently drops further
// matches.
func TestScheddRunsSoManyAtOnce(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"NODES=2", "CPUS=4", "SLOTS=consumption"}, "MAX_JOBS_RUNNING = 2")
	pool.Wait("two slots", time.Minute, func() bool { return len(pool.Slots()) == 2 })
	jobs := pool.Submit("alice", sleep(6, 1, 15, estimate+"20"))
	pool.Wait("an explanation", time.Minute, func() bool {
		out, err := pool.Try("alice", "negotiator", "explain", jobs[5].String())
		return err == nil && strings.Contains(out, "its schedd runs no more than 2 jobs at once")
	})
	pool.WaitDone(4*time.Minute, jobs...)
	pool.Audit().Check(t)
	for _, bad := range []string{"starts fail there", "was not started in time"} {
		require.NotContains(t, pool.Log("NegotiatorLog"), bad)
	}
}
