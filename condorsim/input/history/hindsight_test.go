package history_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// Attributes are tried in turn: one that no job has is an error only if a job is left without an estimate.
// An estimate that is known only after the run is warned of.
func TestEstimatesInTurn(t *testing.T) {
	const ads = "ClusterId=1\nProcId=0\nQDate=1000\nJobStatus=4\nRemoteWallClockTime=100\nRequestCpus=1\nMaxWallTimeMins=5\n" +
		"CompletionDate=1200\nJobStartDate=1100\n"
	both := ads + "\n" + strings.ReplaceAll(strings.ReplaceAll(ads, "ClusterId=1", "ClusterId=2"), "MaxWallTimeMins=5\n", "")
	for _, c := range []struct {
		name, text, estimate, wrong string
		want, doubts                int
	}{
		{"the second has it", ads, "NoSuch,MaxWallTimeMins:min", "", 300, 0},
		{"a condition", ads, "JobMaxTime ?: MaxWallTimeMins*60", "", 300, 0},
		{"not of all jobs", both, "NoSuch,MaxWallTimeMins:min", "no job of h has NoSuch", 0, 0},
		{"in hindsight", ads, "RemoteWallClockTime", "", 100, 1},
	} {
		h, err := history.Read(strings.NewReader(c.text), "h", history.Options{Estimates: []string{c.estimate}})
		if c.wrong != "" {
			require.ErrorContains(t, err, c.wrong, c.name)
			continue
		}
		require.NoError(t, err, c.name)
		trace, err := h.Trace(workload.Options{})
		require.NoError(t, err, c.name)
		require.EqualValues(t, c.want, trace.Jobs[0].Estimate, c.name)
		require.Len(t, trace.Doubts(), c.doubts, c.name)
	}
}
