package fleet

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A log of HTCondor 23.9 with all that may happen to a job, as it grows bit by bit: each event is read
// once, when it is whole.
func TestEventLogs(t *testing.T) {
	text, err := os.ReadFile("testdata/events.log")
	require.NoError(t, err)
	log := &tail{path: filepath.Join(t.TempDir(), "0.log")}
	all, err := log.next()
	require.NoError(t, err)
	require.Empty(t, all, "there is no log yet")
	for n := 0; n < len(text)+7; n += 7 {
		require.NoError(t, os.WriteFile(log.path, text[:min(n, len(text))], 0o600))
		some, err := log.next()
		require.NoError(t, err)
		all = append(all, some...)
	}
	const missing = "Transfer output files failure at execution point slot1_1@n1 while sending files: reading from file " +
		"cell-0.json: (errno 2) No such file or directory"
	require.Equal(t, []event{
		{kind: 35, cluster: 1, proc: -1},
		{kind: submits, cluster: 1},
		{kind: executes, cluster: 1},
		{kind: evicted, cluster: 1, reason: missing, megabytes: 5},
		{kind: held, cluster: 1, reason: missing, code: 12},
		{kind: held, cluster: 1, proc: 1, reason: "via condor_hold (by user alice)", code: 1},
		{kind: aborted, cluster: 1, reason: "via condor_rm (by user alice)"},
		{kind: terminated, cluster: 1, proc: 2, normal: true, seconds: 61, megabytes: 180},
		{kind: terminated, cluster: 1, proc: 3, normal: true, value: 2, seconds: 1, megabytes: 3},
		{kind: terminated, cluster: 1, proc: 4, value: 9},
		{kind: lostTouch, cluster: 1, proc: 5, reason: "Job not found at execution machine; Can not reconnect to " +
			"slot1_1@n1, rescheduling job"},
		{kind: clusterGone, cluster: 1, proc: -1, reason: "Materialized 2 jobs from 2 items.\tIncomplete"},
	}, all)
	require.Empty(t, all[7].end())
	require.Equal(t, "exit code 2", all[8].end())
	require.Equal(t, "it was killed by signal 9", all[9].end())
}

// What the schedd says of a cluster that it pauses is words, without the codes below them.
func TestReasonOfPause(t *testing.T) {
	const text = "037 (012.-01.000) 2026-12-01 05:59:40 Job Materialization Paused\n" +
		"\tvia condor_hold (by user alice)\n\tPauseCode 1\n\tHoldCode 1"
	e, known := parseEvent(text)
	require.True(t, known)
	require.Equal(t, event{kind: paused, cluster: 12, proc: -1, reason: "via condor_hold (by user alice)"}, e)
}
