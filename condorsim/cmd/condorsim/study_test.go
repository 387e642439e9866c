package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A study of a real kind of pool: what happened, and what more nodes would have brought.
func TestStudyOfACase(t *testing.T) {
	folder, err := filepath.Abs("../../../../shared/cases/what-if-sooner")
	require.NoError(t, err)
	pool, history := filepath.Join(folder, "status.long"), filepath.Join(folder, "h.long.gz")
	for _, file := range []string{pool, history} {
		if _, err := os.Stat(file); err != nil {
			t.Skip("skipped: the study of a pool of 40 slots, as ", file, " is not there")
		}
	}
	cmd, stdout, stderr := launched(t)
	cmd.Args = append(cmd.Args[:1], "study", "--pool", pool, "--workload", history, "--policies", "slack,easy",
		"--estimate-attr", "MaxWallTimeMins:min", "--with", "cpus=64,memory=256GiB,count=4", "--html", "page.html", "--json")
	require.NoError(t, cmd.Run(), stderr)
	var read struct {
		Rows []struct {
			Pool, Policy string
			Jobs         int
			Metrics      map[string]float64
			Users        []json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &read))
	require.Len(t, read.Rows, 5)
	waits := map[string]float64{}
	for _, row := range read.Rows {
		require.Equal(t, 2997, row.Jobs)
		require.Len(t, row.Users, 5)
		waits[row.Pool+", "+row.Policy] = row.Metrics["mean_wait"]
	}
	require.InDelta(t, 45769.5, waits["as it is, history"], 0.1)
	require.InDelta(t, 48861.6, waits["as it is, easy"], 0.1)
	require.Less(t, waits["with cpus=64,memory=256GiB,count=4, easy"], 0.7*waits["as it is, easy"])
	require.FileExists(t, filepath.Join(cmd.Dir, "page.html"))
}
