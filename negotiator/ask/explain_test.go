package ask

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
)

// TestPausesAreToldInTheReadersZone: the times of pauses are in the reader's time zone, not in the
// negotiator's.
func TestPausesAreToldInTheReadersZone(t *testing.T) {
	e := Explained{SlotsPaused: []daemon.Paused{
		{Slot: "n9", Until: 1_700_000_000, FailedStarts: 3},
		{Slot: "n8", Until: 1_700_000_060, FailedStarts: 1},
	}, paused: 4, SlotsInPool: 9}
	for zone, want := range map[*time.Location]string{
		time.UTC: "  left out         n9 until 2023-11-14 22:13:20 UTC, failed starts: 3; n8 until 2023-11-14 22:14:20 UTC, " +
			"failed starts: 1; and 2 more\n",
		time.FixedZone("EST", -5*3600): "  left out         n9 until 2023-11-14 17:13:20 EST, failed starts: 3; n8 until 2023-11-14 17:14:20 EST, " +
			"failed starts: 1; and 2 more\n",
	} {
		var out strings.Builder
		e.write(&out, zone)
		require.Contains(t, out.String(), want)
	}
	require.Empty(t, Explained{}.leftOut(time.UTC))
}

// TestClosedSlotsAreCounted: what is said of the slots names those that are closed for a while.
func TestClosedSlotsAreCounted(t *testing.T) {
	ad, err := classad.ParseOld("SlotsInPool = 9\nSlotsMatching = 4\nSlotsRefusing = 2\n" +
		"ClosedWhy1 = \"draining\"\nClosedSlots1 = 2\nClosedWhy2 = \"offline\"\nClosedSlots2 = 1")
	require.NoError(t, err)
	var out strings.Builder
	readExplained(ad).write(&out, time.UTC)
	require.Contains(t, out.String(), "9 in the pool, 4 match, 2 draining, 1 offline, "+
		"2 refuse it by their own Requirements\n")
}

// TestRefusingClausesAreListed: the clauses by which slots themselves refuse a job, such as one of
// START, stand beside those of the job that slots do not meet.
func TestRefusingClausesAreListed(t *testing.T) {
	ad, err := classad.ParseOld("SlotsInPool = 9\nSlotsMatching = 2\nSlotsRefusing = 5\n" +
		"Clause1 = \"TARGET.Memory >= RequestMemory\"\nClauseMet1 = 7\n" +
		"Refusal1 = \"CurrentTime < GLIDEIN_ToRetire\"\nRefusalSlots1 = 4\n" +
		"Refusal2 = \"TARGET.Owner == \\\"bob\\\"\"\nRefusalSlots2 = 1")
	require.NoError(t, err)
	var out strings.Builder
	readExplained(ad).write(&out, time.UTC)
	for _, want := range []string{
		`(?m)^ +2 +TARGET\.Memory >= RequestMemory$`,
		`(?m)^ +4 +CurrentTime < GLIDEIN_ToRetire$`,
		`(?m)^ +1 +TARGET\.Owner == "bob"$`,
	} {
		require.Regexp(t, want, out.String())
	}
	require.Less(t, strings.Index(out.String(), "slots without"), strings.Index(out.String(), "slots refuse"))
	out.Reset()
	Explained{SlotsInPool: 1}.write(&out, time.UTC)
	require.NotContains(t, out.String(), "slots refuse", "a table without rows is not shown")
}

// TestExpectedRunTimeSaysByWhat: the line about the run time says which jobs it rests on, and JSON has all of them.
func TestExpectedRunTimeSaysByWhat(t *testing.T) {
	const times = "Name = \"7.0\"\nOwner = \"alice\"\nRequestedRunTime = 7200\nPredictedRunTime = 1500\n"
	for basis, want := range map[string]string{
		"":                                "  run time         7,200 s (2.00 h) requested, 1,500 s (0.42 h) expected\n",
		"RunTimeEstimator = \"combined\"": "  run time         7,200 s (2.00 h) requested, 1,500 s (0.42 h) expected, by the estimator combined\n",
		"RunTimeEstimator = \"learned\"\nAlikeJobs1 = \"of the user with the same executable, request and cpus\"\n" +
			"AlikeEnded1 = 8\nAlikeRunning1 = 1\nAlikeShare1 = 0.96\n" +
			"AlikeJobs2 = \"of all users\"\nAlikeEnded2 = 8\nAlikeRunning2 = 0\nAlikeShare2 = 0.04": "  run time         " +
			"7,200 s (2.00 h) requested, 1,500 s (0.42 h) expected, by the last 8 jobs of alice with the same " +
			"executable, request and cpus and 1 that still runs\n",
	} {
		ad, err := classad.ParseOld(times + basis)
		require.NoError(t, err)
		e := readExplained(ad)
		var out strings.Builder
		e.write(&out, time.UTC)
		require.Contains(t, out.String(), want)
		text, err := json.Marshal(e)
		require.NoError(t, err)
		if e.Basis == nil {
			require.NotContains(t, string(text), "run_time_basis")
		} else if e.Basis.Parts != nil {
			require.Contains(t, string(text), `"run_time_basis":{"estimator":"learned","parts":[{"alike":"of the user with the `+
				`same executable, request and cpus","ended":8,"running":1,"share":0.96},{"alike":"of all users","ended":8,`+
				`"running":0,"share":0.04}]}`)
		}
	}
}
