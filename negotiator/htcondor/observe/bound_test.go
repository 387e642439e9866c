package observe

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// TestBoundsOfPolicies reads for how long HTCondor lets a job run.
func TestBoundsOfPolicies(t *testing.T) {
	for _, c := range []struct {
		policy string
		bound  backfill.Time // 0: none
	}{
		{`(time() - JobCurrentStartDate) > 3600`, 3600},
		{`JobStatus == 2 && time() - EnteredCurrentStatus >= 60 * 60`, 3600},
		{`JobStatus =?= 2 && (CurrentTime - JobStartDate > (2 * 60 * 60 + 30.5))`, 7231},
		{`RemoteWallClockTime > 600`, 600},
		{`600 < MY.RemoteWallClockTime`, 600},
		{`NumJobStarts > 5 || RemoteWallClockTime > Most`, 90},
		{`(JobStatus == 5 && time() - EnteredCurrentStatus > 3) || time() - ShadowBday > 700`, 700},
		{`RemoteWallClockTime > 600 && time() - JobCurrentStartDate > 900`, 900},
		{`undefined || RemoteWallClockTime > 10`, 10},
		{`RemoteWallClockTime > 10 || error`, 10},
		{`Foo =?= "a" || RemoteWallClockTime > 10`, 10},
		// These bound nothing that is known.
		{`error || RemoteWallClockTime > 10`, 0},
		{`("a" + 1) || RemoteWallClockTime > 10`, 0},
		{`(1 && "x") || time() - JobCurrentStartDate > 10`, 0},
		{`"a" || RemoteWallClockTime > 10`, 0},
		{`Text > 5 || RemoteWallClockTime > 10`, 0},
		{`Circular > 5 || RemoteWallClockTime > 10`, 0},
		{`JobStatus > "a" || RemoteWallClockTime > 10`, 0},
		{`NotAskedFor > 5 || RemoteWallClockTime > 10`, 0},
		{`f(1) || RemoteWallClockTime > 10`, 0},
		{"CurrentTime - JobCurrentStartDate > 10\nCurrentTime = 0", 0},
		{"time() - JobStartDate > 10\nJobStartDate = 4000000000", 0},
		{"time() - JobStartDate > 10\nJobStartDate = \"a\"", 0},
		{"RemoteWallClockTime > 10\nRemoteWallClockTime = -1000000", 0},
		{"RemoteWallClockTime > 10\nRemoteWallClockTime = time", 0},
		{`false`, 0},
		{`JobStatus == 2`, 0},
		{`JobStatus == 5 && time() - EnteredCurrentStatus > 60`, 0},
		{`Owner == "eve" && RemoteWallClockTime > 600`, 0},
		{`!(RemoteWallClockTime > 600)`, 0},
		{`RemoteWallClockTime < 600`, 0},
		{`time() - QDate > 600`, 0},
		{`time(0) - JobCurrentStartDate > 600`, 0},
		{`JobCurrentStartDate - time() > 600`, 0},
		{`RemoteWallClockTime > 600 - time()`, 0},
		{`RemoteWallClockTime > Unknown`, 0},
		{`RemoteWallClockTime > Circular`, 0},
		{`RemoteWallClockTime > -1`, 0},
		{`RemoteWallClockTime > 1e300`, 0},
		{`TARGET.RemoteWallClockTime > 600`, 0},
		{`ifThenElse(true, false, RemoteWallClockTime > 600)`, 0},
		{strings.Repeat("RemoteWallClockTime > 600 && ", 200) + "true", 0},
		{strings.Repeat("(", 500) + "RemoteWallClockTime > 600" + strings.Repeat(")", 500), 600},
	} {
		ad, err := classad.ParseOld("Most = 90\nText = \"a\"\nCircular = Circular\nPeriodicRemove = " + c.policy)
		require.NoError(t, err, c.policy)
		quiet().takeBound(ad)
		bound, _ := ad.Int(boundAttribute)
		require.Equal(t, c.bound, backfill.Time(bound), c.policy)
		_, there := ad.Lookup("PeriodicRemove")
		require.False(t, there, "what changes all the time is not what a job is planned by")
	}
}

// TestEnforcedRunTimes has the shortest of what HTCondor enforces as a job's limit.
func TestEnforcedRunTimes(t *testing.T) {
	for _, c := range []struct {
		ad              string
		estimate, limit backfill.Time
	}{
		{"", 0, 0},
		{"EstimatedRunTime = 10", 10, 0},
		{"AllowedExecuteDuration = 500\nAllowedJobDuration = 400", 500, 400},
		{"EstimatedRunTime = 10\nPeriodicHold = RemoteWallClockTime > 90", 10, 90},
		{"PeriodicRemove = RemoteWallClockTime > 90", 90, 90},
		{"AllowedExecuteDuration = 50\nPeriodicRemove = RemoteWallClockTime > 90", 50, 50},
		{"BackfillRunBound = 7", 0, 0}, // a user's word
	} {
		o := quiet()
		ad, err := classad.ParseOld(c.ad + "\nUser = \"eve@test\"\nRequestCpus = 1\nRequirements = true")
		require.NoError(t, err)
		spec, _ := o.specOf(ad, "schedd")
		require.NoError(t, spec.Wrong)
		require.Equal(t, c.estimate, spec.Estimate, c.ad)
		require.Equal(t, c.limit, spec.Limit, c.ad)
	}
}
