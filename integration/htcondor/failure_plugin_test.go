package htcondor_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestPluginFails makes the policy, a plugin, crash and hang: the fallback decides, no job is lost,
// and no promise is broken.
func TestPluginFails(t *testing.T) {
	t.Parallel()
	pool := prepareOurs(t, []string{"CPUS=4", "SLOTS=consumption"}, "BACKFILL_POLICY = /usr/local/bin/backfill-moody",
		"BACKFILL_CONFIG = /etc/condor/backfill.yaml")
	pool.Install(built(t, "./testdata/backfill-moody"))
	require.NoError(t, os.WriteFile(pool.Dir+"/etc/condor/backfill.yaml", []byte("plugins: {deadline: 1s, reads: [/tmp/mood]}\n"), 0o644))
	mood := func(word string) { require.NoError(t, os.WriteFile(pool.Dir+"/tmp/mood", []byte(word), 0o644)) }
	mood("well")
	pool.Up()
	// These errors in the log are expected.
	pool.errors = []string{
		"the policy plugin failed", "policy plugin", "refused", "session broke",
		"no decision within",
	}
	var jobs []pooltest.JobID
	for _, test := range []struct{ mood, told string }{
		{"well", "cycle 1:"},
		{"crash", "exit status 3"},
		{"hang", "no decision within 1s"},
		{"well", "cycle 1:"},
	} {
		mood(test.mood)
		these := pool.Submit("alice", sleep(2, 2, 6, estimate+"2"))
		pool.promises(t, these[5])
		jobs = append(jobs, these...)
		pool.WaitDone(time.Minute, these...)
		require.Contains(t, pool.Log("NegotiatorLog"), test.told,
			"it is said that the policy is in a mood: %s", test.mood)
	}
	require.Len(t, pool.Audit().Runs, len(jobs))
	require.NotContains(t, strings.ToLower(pool.Log("MasterLog")), "negotiator\" (pid", "the daemon itself went on")
}
