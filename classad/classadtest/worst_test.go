package classadtest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/classadtest"
)

// The worst expressions stay within the limit for what strangers write, and cost the same each time.
func TestWorst(t *testing.T) {
	slot, err := classad.Parse(`[ Name = "slot1@node7"; Cpus = 16; Requirements = TARGET.Rank isnt "x" ]`)
	require.NoError(t, err)
	all := classadtest.Worst()
	require.Greater(t, len(all), 40)
	exceeded := 0
	for _, text := range all {
		require.NotContains(t, text, "«")
		job := classad.New()
		require.NoError(t, job.SetExpr("Requirements", text), text)
		job.Set("Rank", classad.MustParseExpr("Requirements"))
		var first, second classad.Meter
		match := func(m *classad.Meter) bool {
			return classad.Pair{Left: job, Right: slot, MaxSteps: classad.FewSteps, Meter: m}.Match()
		}
		matches := match(&first)
		require.Equal(t, matches, match(&second), text)
		require.Equal(t, first, second, text)
		require.LessOrEqual(t, first.Steps(), int64(2*classad.FewSteps), text)
		exceeded += min(1, first.Exceeded())
	}
	require.Greater(t, exceeded, len(all)/3)
	require.Len(t, strings.Split(all[0], ","), 61)
}
