package htcondor_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
	"github.com/condor-backfill/condor-backfill/negotiator/drains"
)

// drains asks the negotiator about drains, as root, who may drain.
func (p *ourPool) drains(t *testing.T, words ...string) (all []drains.Listed) {
	t.Helper()
	out := p.As("root", append([]string{"negotiator", "drain", "--json"}, words...)...)
	require.NoError(t, json.Unmarshal([]byte(out), &all), out)
	return all
}

// TestDrainBy has a machine be empty by a time: short jobs fill it until then, none crosses, one that
// would cross goes elsewhere or waits, and all go on when the drain is cancelled. HTCondor has nothing
// like it: condor_drain idles a machine from the first moment.
func TestDrainBy(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"NODES=2", "CPUS=2"}, "BACKFILL_POLICY = easy", "BACKFILL_START_SLACK = 3")
	pool.permit("start failed", "start late", "lease")
	pool.MayIdle("machines that are drained idle")
	_, err := pool.Try("alice", "negotiator", "drain", "n1", "--by", "1m")
	require.Error(t, err, "a user may not")
	_, err = pool.Try("root", "negotiator", "drain", "n9", "--by", "1m")
	require.ErrorContains(t, err, "there is no slot or machine n9 in the pool")
	short := pool.Submit("alice", sleep(4, 1, 60, on("n1"), estimate+"5"))
	pool.Wait("the first job to start", time.Minute, func() bool { // where the machine is busy it may be over, too
		return pool.Statuses()[short[0]] != pooltest.Idle
	})
	deadline := time.Now().Add(50 * time.Second).Truncate(time.Second)
	asked := pool.drains(t, "n1", "--by", deadline.UTC().Format(time.RFC3339))
	require.Equal(t, "slot1@n1@"+pooltest.Host, asked[0].Slot)
	require.Equal(t, deadline.Unix(), asked[0].By)
	require.True(t, strings.HasPrefix(asked[0].AskedBy, "root@"), asked[0].AskedBy)
	waits := pool.Submit("bob", sleep(1, 1, 1, on("n1"), estimate+"600"))
	elsewhere := pool.Submit("bob", sleep(1, 1, 1, estimate+"600"))
	pool.WaitDone(time.Minute, elsewhere...)
	pool.Wait("an explanation", time.Minute, func() bool {
		out, wrong := pool.Try("bob", "negotiator", "explain", waits[0].String())
		return wrong == nil && strings.Contains(out, "slot1@n1@"+pooltest.Host+" is drained by ") &&
			strings.Contains(out, "(asked by root@")
	})
	pool.Kill("negotiator") // the drain outlives it
	time.Sleep(time.Until(deadline.Add(10 * time.Second)))
	listed := pool.drains(t)
	require.Len(t, listed, 1)
	require.Zero(t, listed[0].Jobs, "%v", listed)
	require.Equal(t, pooltest.Idle, pool.Statuses()[waits[0]])
	filled(t, pool, short, deadline)

	pool.As("root", "negotiator", "drain", "n1", "--cancel")
	require.Empty(t, pool.drains(t))
	pool.WaitDone(time.Minute, waits...)
	pool.As("alice", "condor_rm", "alice")
	pool.Audit().Check(t)
}

// filled checks that of jobs on a machine that is to be empty by a time some ran until shortly before,
// and none at or after it.
func filled(t *testing.T, pool *ourPool, jobs []pooltest.JobID, deadline time.Time) {
	t.Helper()
	audit, ran := pool.Audit(), 0
	var last time.Time
	for _, job := range jobs {
		for _, run := range runsOf(audit, job) {
			ran++
			require.False(t, run.End.IsZero(), "job %v runs on", job)
			if run.End.After(last) {
				last = run.End
			}
		}
	}
	t.Logf("%d of %d jobs ran, the last ended %.1f s before the machine was to be empty", ran, len(jobs), deadline.Sub(last).Seconds())
	require.Greater(t, ran, 4)
	require.Less(t, ran, len(jobs))
	require.False(t, last.After(deadline))
	require.Less(t, deadline.Sub(last), 25*time.Second, "it is filled until then")
}

// TestShutdownByClock has a startd shut down at an instant that the clock says: no job starts there
// that would cross it, and shorter ones do. Under the stock negotiator jobs cross it.
func TestShutdownByClock(t *testing.T) {
	t.Parallel()
	bothRun(t, []string{"NODES=2", "CPUS=2"}, "BACKFILL_POLICY = easy\nBACKFILL_START_SLACK = 3\n"+
		"STARTD_ATTRS = $(STARTD_ATTRS) ShutsAt\n", []scenario{{"shuts down", shutsDown}})
}

// shutsDown has a machine's startd end at an instant, which its ad says beforehand.
func shutsDown(t *testing.T, pool *ourPool) {
	t.Helper()
	pool.permit("start failed", "start late", "lease", "slot lost", "slot ends")
	pool.MayIdle("a machine idles that is about to shut down")
	at := time.Now().Add(70 * time.Second).Truncate(time.Second)
	file := filepath.Join(pool.Dir, "etc/condor/config.d/50-clock.conf")
	lines := fmt.Sprintf("n1.ShutsAt = %d\nn1.DAEMON_SHUTDOWN = time() >= %d\n", at.Unix(), at.Unix())
	require.NoError(t, os.WriteFile(file, []byte(lines), 0o644)) //nolint:gosec // nothing is secret
	pool.Wait("the ad of condor_master", time.Minute, func() bool { return len(pool.Ads("-master")) == 1 })
	pool.As("root", "condor_reconfig", "-all")
	pool.Wait("the startd to say when it shuts down", 30*time.Second, func() bool {
		return len(pool.Slots("-constraint", fmt.Sprintf("ShutsAt == %d && DaemonShutdown isnt undefined", at.Unix()))) == 1
	})
	short := pool.Submit("alice", sleep(4, 1, 60, on("n1"), estimate+"5"))
	crosses := pool.Submit("bob", sleep(600, 1, 1, on("n1"), estimate+"600"))
	time.Sleep(time.Until(at.Add(15 * time.Second)))
	crossing := len(runsOf(pool.Audit(), crosses[0]))
	t.Logf("the job that would cross the shutdown was started %d times", crossing)
	if pool.explains() {
		require.Zero(t, crossing)
		filled(t, pool, short, at.Add(time.Second))
	}
	pool.As("alice", "condor_rm", "alice")
	pool.As("bob", "condor_rm", "bob")
}
