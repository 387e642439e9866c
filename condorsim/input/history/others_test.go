package history_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
)

// What jobs ask for besides cpus and memory is kept by the number of the job, whatever the order of the
// file, and of several ads of a job the last counts.
func TestOthers(t *testing.T) {
	ad := func(id, submitted, more string) string {
		return "ClusterId = " + id + "\nProcId = 0\nQDate = " + submitted + "\nRemoteWallClockTime = 9\nRequestCpus = 2\n" +
			"RequestMemory = 7\n" + more + "\n\n"
	}
	text := ad("3", "30", "RequestGPUs = 2\nRequestDisk = 1.5 * 2\nMinHosts = 4\nJobUniverse = 11") +
		ad("1", "10", "RequestGPUs = 5\nEnteredCurrentStatus = 50") +
		ad("2", "20", "RequestGPUs = TARGET.GPUs\nGPUsProvisioned = 3\nRequestLicenses = 0") +
		ad("1", "10", "RequestGPUs = 0\nEnteredCurrentStatus = 60") +
		ad("4", "40", "RequestGPUs = -1\nRequestedHours = 7")
	h, err := history.Read(strings.NewReader(text), "a.ads", history.Options{WithOthers: true})
	require.NoError(t, err)
	require.Equal(t, map[int64][]history.Amount{2: {{"gpus", 3}}, 3: {{"disk", 12}, {"gpus", 8}}}, h.Others)
	h, err = history.Read(strings.NewReader(text), "a.ads", history.Options{})
	require.NoError(t, err)
	require.Empty(t, h.Others)
}
