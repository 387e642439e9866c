package htcondor_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// TestWhatIf asks what would be if something were otherwise, as a user. A machine is busy for a minute
// with three of its four cpus, and a job that needs all is promised the start after that.
func TestWhatIf(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"NODES=1", "CPUS=4"}, "BACKFILL_POLICY = conservative")
	const estimate = "+EstimatedRunTime = "
	runs := pool.Submit("alice", sleep(60, 3, 1, estimate+"60"))
	pool.WaitStatus(2, time.Minute, runs...)
	waits := pool.Submit("alice", sleep(1, 4, 1, estimate+"30"))
	poll.Contains(t, "reserved", func() string {
		text, _ := pool.Try("bob", "negotiator", "explain", waits[0].String()) // it is new, until a cycle sees it
		return text
	})
	ask := func(args ...string) (a whatif.Answer) {
		text := pool.As("bob", append([]string{"negotiator", "what-if", "--json"}, args...)...)
		require.NoError(t, json.Unmarshal([]byte(text), &a), text)
		return a
	}
	long := ask("--cpus", "1", "--time", "10m").Job
	require.NotNil(t, long.Start)
	require.NotEmpty(t, long.Sooner, "it would start now if it asked for less time")
	require.Less(t, long.Sooner[0].Start, *long.Start)
	require.Zero(t, long.Delayed)
	t.Log("\n" + pool.As("bob", "negotiator", "what-if", "--cpus", "1", "--time", "10m"))

	other := ask("--policy", "easy", "--order", "sjf").Change
	require.Equal(t, 1, other.Promises)
	require.Equal(t, 1, other.Lifted)
	t.Log("\n" + pool.As("bob", "negotiator", "what-if", "--policy", "easy", "--order", "sjf"))
	gone := ask("--without", "n1").Change
	require.Equal(t, 1, gone.Never)
	require.Len(t, gone.Broken, 1)
	require.Equal(t, waits[0].String(), gone.Broken[0].Job)
	t.Log("\n" + pool.As("bob", "negotiator", "what-if", "--drain", "n1", "--from", "+10s", "--for", "4h"))
	require.Equal(t, 1, ask("--with", "cpus=4,count=2").Change.Earlier)

	for _, bad := range [][]string{
		{"--cpus", "99", "--time", "1h"}, {"--without", "n9"}, {"--cpus", "1", "--time=-5"}, {"--order", "fairest"},
	} {
		out, err := pool.Try("bob", append([]string{"negotiator", "what-if"}, bad...)...)
		require.ErrorContains(t, err, "exit status 2", "%v: %s", bad, out)
	}
	pool.WaitDone(2*time.Minute, append(runs, waits...)...)
}
