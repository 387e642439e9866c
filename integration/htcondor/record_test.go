package htcondor_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
	"github.com/condor-backfill/condor-backfill/negotiator/record"
	"github.com/condor-backfill/condor-backfill/negotiator/record/replay"
)

// checkRecord decides all that the negotiator decided in the test again, whatever happened to it: each decision must
// be the same.
func (p *ourPool) checkRecord(t *testing.T) {
	t.Helper()
	path := filepath.Join(p.Dir, "var/spool/condor/backfill.rec")
	files, err := record.Former(path)
	require.NoError(t, err)
	began, r := time.Now(), replay.New(replay.Options{Deciders: replay.Linked})
	for _, file := range append(files, path) {
		from, openErr := record.Open(file)
		if openErr != nil {
			t.Logf("no record: %v", openErr) // the negotiator was never up, or was killed at once
			continue
		}
		err = r.Run(context.WithoutCancel(t.Context()), from)
		from.Close()
		if errors.Is(err, replay.ErrNotLinked) {
			t.Logf("the record is not replayed: %v", err)
			return
		}
		require.NoError(t, err, file)
	}
	result := r.Result()
	if d := result.First; d != nil {
		require.Equal(t, d.Actions(d.Was), d.Actions(d.Is), "%v", d)
	}
	t.Logf("the record: %d runs, %d rounds, of these %d of the fallback, %d actions, %d states, %d changes, of %d s, "+
		"decided again in %v", result.Begins, result.Rounds, result.FellBack, result.Actions, result.States, result.Changes,
		result.To-result.From, time.Since(began).Round(time.Millisecond))
}

// TestRecordOfManyJobs has three users submit jobs of all shapes while a policy is replaced, the negotiator killed and
// a machine lost. It takes a minute, or as long as RECORD_FOR says; RECORD_OUT is where its record is kept.
func TestRecordOfManyJobs(t *testing.T) {
	t.Parallel()
	length := time.Minute
	if text := os.Getenv("RECORD_FOR"); text != "" {
		var err error
		length, err = time.ParseDuration(text)
		require.NoError(t, err)
	}
	const lines = "BACKFILL_START_SLACK = 60\n"
	pool := ours(t, []string{"NODES=3", "CPUS=8"}, lines+"BACKFILL_POLICY = slack")
	configure := func(policy string) { pool.Config("EXTRA=" + ourNegotiator + lines + "BACKFILL_POLICY = " + policy) }
	pool.permit("slot lost", "start failed", "start late", "policy changed", "overrun", "job changed", "slot changed")
	random := rand.New(rand.NewPCG(1, 2))
	users := []string{"alice", "bob", "carol"}
	var jobs []pooltest.JobID
	began := time.Now()
	events := []func(){
		func() { pool.Kill("negotiator") },
		func() { configure("easy") },
		func() { pool.Kill("n2") },
		func() { configure("conservative") },
	}
	for done := 0; time.Since(began) < length; {
		run, cpus := 1+int(random.ExpFloat64()*25), 1<<random.IntN(4)
		jobs = append(jobs, pool.Submit(users[random.IntN(3)], sleep(min(run, 180), cpus, 1+random.IntN(2),
			fmt.Sprintf("+EstimatedRunTime = %d", run+20+random.IntN(60))))...)
		if due := time.Duration(done+1) * length / time.Duration(len(events)+1); done < len(events) && time.Since(began) > due {
			events[done]()
			done++
		}
		time.Sleep(time.Duration(random.ExpFloat64() * float64(8*time.Second))) // three quarters of what the pool can do
	}
	// On a busy machine a starter may fail to execute a job, which HTCondor puts on hold then.
	pool.Wait("the end of all jobs", 10*time.Minute, func() bool {
		now := pool.Statuses()
		for _, job := range jobs {
			if now[job] == pooltest.Held {
				pool.As("root", "condor_release", job.String())
			}
		}
		return !slices.ContainsFunc(jobs, func(job pooltest.JobID) bool { return now[job] != pooltest.Completed })
	})
	pool.Audit().Check(t)
	t.Logf("%d jobs in %v", len(jobs), time.Since(began).Round(time.Second))
	if out := os.Getenv("RECORD_OUT"); out != "" {
		time.Sleep(10 * time.Second) // until the rest is written
		path := filepath.Join(pool.Dir, "var/spool/condor/backfill.rec")
		former, err := record.Former(path)
		require.NoError(t, err)
		for _, file := range append(former, path) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(out, filepath.Base(file)), text, 0o600))
		}
	}
}
