package check_test

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/backfilltest"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/plugins/check"
)

const (
	judged     = "CONFORM" // the environment's variable for TestJudged
	judgedOn   = 9         // pools
	judgedLong = 60        // rounds
)

// TestJudged is how an author tests a policy; TestBothGiveTheSameVerdict runs it in a process of its own.
func TestJudged(t *testing.T) {
	name := os.Getenv(judged)
	if name == "" {
		t.Skip("skipped: no policy is named; TestBothGiveTheSameVerdict names some")
	}
	all := append(policies.All(), bad()...)
	at := slices.IndexFunc(all, func(s backfill.PolicySpec) bool { return s.Name == name })
	require.GreaterOrEqual(t, at, 0)
	backfilltest.Conform(t, judgedOn, judgedLong, func(t *testing.T) backfill.Decider {
		t.Helper()
		d, err := backfill.Link(all[at], nil)
		require.NoError(t, err)
		return d
	})
}

// A policy that passes plugin check passes the tests of its author, and one that fails there fails here:
// what is a fault to one is one to both, and what is advice to one is advice to both, on the same pools.
func TestBothGiveTheSameVerdict(t *testing.T) {
	for name, fault := range map[string]bool{
		"easy": false, "conservative": false, "idles": false, "starves": false,
		"panics": true, "always-panics": true, "oversubscribes": true, "replans": true, "refuses": true, "untaken": true,
		"impatient": true, "undue": true, "unpromised": true, "unplaced": true, "nil": true,
		"mutates": true, "dice": true, "by-map": true, "remembers": true, "confuses-branches": true,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := check.Options{NoMTLS: true, Quick: true, Clock: time.Now} //nolint:forbidigo // nothing is timed
			report, err := check.Run(t.Context(), self(t, name),
				options.Only("handshake", "describe", "options", "conformance", "advice", "determinism", "memory-less", "branches"))
			require.NoError(t, err)
			require.Equal(t, fault, !report.Passed, "%+v", report.Checks)

			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestJudged$", "-test.v")
			cmd.Env = append(os.Environ(), judged+"="+name)
			out, err := cmd.CombinedOutput()
			require.Equal(t, fault, err != nil, "%s", out)
			require.Contains(t, string(out), "pool-")
			if slices.Contains([]string{"idles", "starves"}, name) {
				require.Contains(t, string(out), "advice: ")
			}
		})
	}
}
