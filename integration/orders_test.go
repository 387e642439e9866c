package integration_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// The named orders, written as expressions.
const (
	sjfExpression = "expr:-EstimatedRunTime"
	wfpExpression = "expr:(1.0*WaitTime/EstimatedRunTime) * (1.0*WaitTime/EstimatedRunTime) " +
		"* (1.0*WaitTime/EstimatedRunTime) * Width"
	areaExpression    = "expr:-EstimatedRunTime * Width" // with cpus alone
	xfactorExpression = "expr:1.0 * (CurrentTime - QDate + EstimatedRunTime) / EstimatedRunTime"
)

// schedule runs a trace under an order and returns the row of every job.
func schedule(t *testing.T, env []string, policy, order string, args ...string) string {
	t.Helper()
	if _, err := os.Stat(kth); err != nil {
		t.Skip("skipped: a real trace; shared/traces is not here")
	}
	rows := filepath.Join(t.TempDir(), "jobs.csv")
	commandEnv(t, env, "condorsim", append([]string{
		"run", "--workload", kth, "--policy", policy, "--order", order,
		"--jobs-out", rows,
	}, args...)...)
	text, err := os.ReadFile(rows)
	require.NoError(t, err)
	return string(text)
}

// TestOrdersAsExpressions runs the start of a trace, with -thorough all of it, under orders of the
// core and under the same orders as expressions, and requires the same row for every job.
func TestOrdersAsExpressions(t *testing.T) {
	jobs := thorough.Cases(2000, 28_489)
	some := fmt.Sprintf("--jobs=%d", jobs)
	different := map[string]bool{}
	for _, c := range []struct{ named, expression string }{
		{"sjf", sjfExpression}, {"wfp", wfpExpression}, {"xfactor", xfactorExpression}, {"area", areaExpression},
	} {
		named := schedule(t, nil, "easy", c.named, some)
		require.Equal(t, jobs+1, strings.Count(named, "\n"))
		require.Equal(t, named, schedule(t, nil, "easy", c.expression, some), c.named)
		require.False(t, different[named], "%s is like another order", c.named)
		different[named] = true
	}
}

// TestOrdersEverywhere requires the same schedule under orders whose keys change linked in, as a binary, and
// on any number of cores.
func TestOrdersEverywhere(t *testing.T) {
	for _, policy := range []string{"easy", "ibb", "fcfs"}[:thorough.Cases(2, 3)] {
		for name, order := range map[string]string{
			"wfp": "wfp", "xfactor": "xfactor", "area": "area", "expr": wfpExpression,
		} {
			t.Run(policy+" "+name, func(t *testing.T) {
				t.Parallel()
				some := fmt.Sprintf("--jobs=%d", thorough.Cases(1000, 2000))
				linked := schedule(t, nil, policy, order, some)
				require.Equal(t, linked, schedule(t, nil, policy, order, some, "--plugin-dir", pluginDir()))
				for _, cores := range []string{"1", "8"} {
					require.Equal(t, linked, schedule(t, []string{"GOMAXPROCS=" + cores}, policy, order, some),
						"%s cores", cores)
				}
			})
		}
	}
}
