package htcondor_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Programs that watch the stock negotiator by its logs and its ad find here what they look for.
func TestWhatSitesWatch(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"NODES=1", "CPUS=2"})
	const estimate = "+EstimatedRunTime = 10"
	runs := pool.Submit("alice", sleep(4, 2, 1, estimate))
	waits := pool.Submit("bob", sleep(1, 2, 1, estimate))
	pool.WaitDone(time.Minute, append(runs, waits...)...)

	line := func(format string) *regexp.Regexp {
		return regexp.MustCompile(`(?m)^\d\d/\d\d/\d\d \d\d:\d\d:\d\d       ` + format)
	}
	const schedd, startd = `<127\.0\.0\.1:\d+\?\S*sock=schedd_\S+>`, `<127\.0\.0\.1:\d+\?\S*sock=n1>`
	matches := pool.Log("MatchLog")
	require.Len(t, line(`Matched \d+\.0 (alice|bob)@pool\.test `+schedd+` preempting none `+startd+` slot1@n1@pool\.test$`).
		FindAllString(matches, -1), 2, matches)
	require.Regexp(t, line(`Rejected \d+\.0 bob@pool\.test `+schedd+`: reserved, expected start `), matches)
	log := pool.Log("NegotiatorLog")
	const started, finished = " ---------- Started Negotiation Cycle ----------\n",
		" ---------- Finished Negotiation Cycle ----------\n"
	require.InDelta(t, strings.Count(log, started), strings.Count(log, finished), 1)
	require.InDelta(t, len(regexp.MustCompile(` cycle \d+: `).FindAllString(log, -1)), strings.Count(log, finished), 2)
	pool.Config("EXTRA=" + ourNegotiator + "NEGOTIATOR_MATCH_LOG = $(LOG)/Elsewhere")
	pool.Wait("the new configuration", time.Minute, func() bool {
		return strings.Contains(pool.Log("NegotiatorLog"), "the configuration is taken up")
	})
	pool.WaitDone(time.Minute, pool.Submit("alice", sleep(1, 1, 1, estimate))...)
	require.Regexp(t, `Matched \d+\.0 alice@pool\.test `, pool.Log("Elsewhere"))

	ads := pool.Ads("-negotiator")
	require.Len(t, ads, 1)
	names, err := os.ReadFile("../../negotiator/htcondor/daemon/testdata/stock-ad.txt")
	require.NoError(t, err)
	for row := range strings.Lines(string(names)) {
		name, why, _ := strings.Cut(strings.TrimSpace(row), ": ")
		if strings.HasPrefix(name, "#") || why != "" && why != "the collector adds it" {
			continue
		}
		for _, i := range []string{"0", "1", "2"} {
			require.Contains(t, ads[0], strings.Replace(name, "<i>", i, 1))
		}
	}
}
