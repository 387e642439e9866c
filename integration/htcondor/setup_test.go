package htcondor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestSetup follows the guide's first page on a pool with HTCondor's own negotiator: install, observe,
// go live, and back. Each negotiator is seen at work, and the first one's accounting goes on.
func TestSetup(t *testing.T) {
	t.Parallel()
	pool := pooltest.Start(t, "CPUS=2", "EXTRA=BACKFILL_DEFAULT_ESTIMATE = 60")
	pool.Install(built(t, "../../negotiator/cmd/negotiator"))
	setup := func(how ...string) string {
		t.Helper()
		out := pool.As("root", append([]string{"negotiator", "setup"}, how...)...)
		t.Log(out)
		return out
	}
	negotiator := func() pooltest.Ad {
		t.Helper()
		ads := pool.Ads("-negotiator")
		require.Len(t, ads, 1)
		return ads[0]
	}
	observers := func() int { return len(pool.Ads("-any", "-constraint", `MyType == "BackfillObserver"`)) }
	started := func() int { return negotiator().Int("DaemonStartTime") }

	pool.WaitDone(time.Minute, pool.Submit("alice", sleep(1, 1, 1))...)
	pool.As("root", "condor_userprio", "-setfactor", "bob@pool.test", "77")
	first := started()

	check := pool.As("root", "sh", "-c", "negotiator config check 2>&1")
	require.Contains(t, check, "START of pool.test does not heed leases")

	// Ordinary users are refused, and nothing changes.
	out, err := pool.Try("alice", "negotiator", "setup", "--observe")
	require.Error(t, err)
	require.Contains(t, out+err.Error(), "run this as root")

	// Beside: HTCondor's own goes on and matches; ours plans, and answers.
	require.Contains(t, setup("--observe"), "plans beside HTCondor's own negotiator")
	require.Equal(t, first, started(), "HTCondor's own was not restarted")
	require.Equal(t, 1, observers())
	waits := pool.Submit("alice", sleep(10, 2, 4, "+EstimatedRunTime = 10"))
	pool.Wait("start times", time.Minute, func() bool {
		told, _ := pool.Try("alice", "negotiator", "start-times")
		return strings.Contains(told, waits[3].String())
	})
	require.NotContains(t, pool.Log("NegotiatorLog"), "BackfillPolicy")
	require.Contains(t, pool.Log("BackfillObserverLog"), " cycle 1: ")
	require.Contains(t, pool.Log("MasterLog"), `Started DaemonCore process "/usr/local/bin/negotiator"`)
	require.Contains(t, setup("--observe"), "Nothing is to do")

	// In its place, and what it needs of START.
	out = setup("--live")
	require.Contains(t, out, "plans and matches (policy ")
	require.NotContains(t, out, "start slowly", "this machine's START is set, too")
	require.NotEmpty(t, negotiator().Text("BackfillPolicy"))
	pool.Wait("the observer's end", time.Minute, func() bool { return observers() == 0 })
	pool.Wait("its START", time.Minute, func() bool {
		return strings.Contains(pool.As("root", "condor_status", "-af:r", "Start"), "NegotiatorMatchExprBackfillLease")
	})
	pool.WaitDone(2*time.Minute, append(waits, pool.Submit("bob", sleep(1, 1, 2))...)...)
	require.Contains(t, setup("--live"), "Nothing is to do")
	check = pool.As("root", "sh", "-c", "negotiator config check 2>&1")
	require.Contains(t, check, "ok")
	require.NotContains(t, check, "START")
	require.Regexp(t, `NEGOTIATOR_CYCLE_DELAY = 2 +honoured: .* /etc/condor/config.d/99-pool.conf, line \d+`, check)

	// And back: HTCondor's own matches, with its old accounting.
	require.Contains(t, setup("--back"), "HTCondor's own negotiator is at work: ")
	require.Empty(t, negotiator().Text("BackfillPolicy"))
	pool.WaitDone(time.Minute, pool.Submit("bob", sleep(1, 1, 1))...)
	prio := pool.As("root", "condor_userprio", "-allusers", "-l")
	require.Regexp(t, `PriorityFactor\d+ = 77\.0`, prio)
	require.Contains(t, prio, `"alice@pool.test"`)
	require.Contains(t, setup("--back"), "Nothing is to do")

	// A negotiator that cannot come up is taken away again.
	pool.Config("EXTRA=BACKFILL_STATE = /proc/nowhere")
	out, err = pool.Try("root", "negotiator", "setup", "--live", "--patience", "5s")
	require.Error(t, err)
	require.Contains(t, out+err.Error(), "All was put back: the negotiator of HTCondor is at work again")
	require.Empty(t, negotiator().Text("BackfillPolicy"))
	require.Contains(t, setup("--back"), "Nothing is to do")
}
