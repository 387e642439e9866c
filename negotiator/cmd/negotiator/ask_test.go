package main

import (
	"regexp"
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
	e := explained{SlotsPaused: []daemon.Paused{
		{Slot: "n9", Until: 1_700_000_000, FailedStarts: 3},
		{Slot: "n8", Until: 1_700_000_060, FailedStarts: 1},
	}, paused: 4, SlotsInPool: 9}
	for zone, want := range map[*time.Location]string{
		time.UTC: "  left out         n9 until 22:13:20, failed starts: 3; n8 until 22:14:20, " +
			"failed starts: 1; and 2 more\n",
		time.FixedZone("EST", -5*3600): "  left out         n9 until 17:13:20, failed starts: 3; n8 until 17:14:20, " +
			"failed starts: 1; and 2 more\n",
	} {
		var out strings.Builder
		e.write(&out, zone)
		require.Contains(t, out.String(), want)
	}
	require.Empty(t, explained{}.leftOut(time.UTC))
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

// TestQuestionsBeginWithWhatTheyAreFor: the help shows examples and the flags that ask a pool
// before the many that describe a simulation.
func TestQuestionsBeginWithWhatTheyAreFor(t *testing.T) {
	for command, want := range map[string][]string{
		"explain": {
			"Examples:", "negotiator explain 12.0", "Ask a running negotiator", "--json", "Or look into a simulation",
			"--at=T", "Policy", "--policy=NAME", "Estimates", "Real pool",
		},
		"start-times": {
			"Examples:", "negotiator start-times", "Ask a running negotiator", "--owner=STRING", "--limit=N", "--json",
			"Or look into a simulation", "--at=T", "Policy", "Estimates", "Real pool",
		},
	} {
		cmd, stdout, stderr := launched(t, command, "--help")
		require.NoError(t, cmd.Run(), stderr)
		for i, text := range want {
			want[i] = regexp.QuoteMeta(text)
		}
		require.Regexp(t, "(?s)"+strings.Join(want, ".*"), stdout.String())
		require.NotContains(t, stdout.String(), "UNICEF", "that is for those who run one")
	}
}
