package negotiator_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// startdAd is what a startd advertises of its clock at an instant.
func startdAd(t require.TestingT, zone *time.Location, made int64) *classad.ClassAd {
	local := time.Unix(made, 0).In(zone)
	ad, err := classad.ParseOld(fmt.Sprintf("MyCurrentTime = %d\nClockMin = %d\nClockDay = %d\n",
		made, 60*local.Hour()+local.Minute(), int(local.Weekday())))
	require.NoError(t, err)
	return ad
}

// Whenever a startd made its ad, the ad later says what the startd would say then.
func TestFollowClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := time.FixedZone("", 60*rapid.IntRange(-14*60, 14*60).Draw(t, "zone"))
		made := rapid.Int64Range(1_600_000_000, 1_800_000_000).Draw(t, "made")
		later := made + rapid.Int64Range(0, 30*24*3600).Draw(t, "later")
		ad := startdAd(t, zone, made)
		negotiator.FollowClock(ad)
		scope := classad.Scope{My: ad, Host: &classad.Host{Now: func() int64 { return later }}}
		want := startdAd(t, zone, later)
		for _, name := range []string{"ClockMin", "ClockDay"} {
			require.Equal(t, want.Literal(name).String(), scope.Attr(name).String(), name)
		}
		negotiator.FollowClock(want)
		for _, name := range []string{"ClockMin", "ClockDay"} {
			a, _ := ad.Lookup(name)
			b, _ := want.Lookup(name)
			require.Equal(t, a.String(), b.String(), "the ad that is made later is the same")
		}
	})
}

func TestFollowClockLeavesTheRest(t *testing.T) {
	for _, text := range []string{
		"", "ClockMin = 5", "ClockMin = 5\nMyCurrentTime = -1", "ClockMin = 1440\nMyCurrentTime = 100",
		"ClockMin = \"5\"\nMyCurrentTime = 100", "ClockMin = 5\nMyCurrentTime = 1.5", "ClockDay = 3\nMyCurrentTime = 100",
		"ClockMin = time()\nMyCurrentTime = 100",
	} {
		ad, err := classad.ParseOld(text)
		require.NoError(t, err)
		before := ad.String()
		negotiator.FollowClock(ad)
		require.Equal(t, before, ad.String())
	}
}
