package observe

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// Each slot has the pool's ranks as attributes. What these refer to is asked for, for as long as they
// are configured.
func TestRanks(t *testing.T) {
	p := newSite(t, "s@test")
	p.slots = []string{partitionable("Site = 3\nFar = Site * 2\nNegotiatorPreJobRank = 9\n")}
	p.schedds[0].SetJobs(job("Home = 4\nColor = 5"))
	value := func(s *Snapshot, rank string) string {
		return s.Slots["slot1@n"].Ad.Ad.Eval(rank, s.Schedds["s@test"].Groups[0].Spec.Ad).String()
	}
	s := p.see()
	before := s.Slots["slot1@n"].Ad
	for _, rank := range []string{negotiator.PreJobRank, negotiator.PostJobRank} {
		_, there := before.Ad.Lookup(rank)
		require.False(t, there, "whatever the startd says")
	}
	require.NotContains(t, p.slotAttributes.projection(), "site")

	scope := p.s.Scope
	scope.Ranks = config.Ranks{PreJobRank: "MY.Site * TARGET.Home", PostJobRank: "Far + Color"}
	p.Ask(scope)
	s = p.see()
	require.Equal(t, "12", value(s, negotiator.PreJobRank))
	require.Equal(t, "11", value(s, negotiator.PostJobRank))
	after := s.Slots["slot1@n"].Ad
	require.NotSame(t, before, after)
	p.at = p.at.Add(2 * keepNames)
	for range 3 {
		p.at = p.at.Add(sweepEvery)
		s = p.see()
	}
	require.Equal(t, "12", value(s, negotiator.PreJobRank))
	require.Equal(t, "11", value(s, negotiator.PostJobRank))
	require.Same(t, after, s.Slots["slot1@n"].Ad, "as long as nothing changes")

	scope.Ranks = config.Ranks{PostJobRank: "1 +"} // it cannot be parsed, and was refused before
	p.Ask(scope)
	s = p.see()
	require.Equal(t, "undefined", value(s, negotiator.PreJobRank))
	require.Equal(t, "undefined", value(s, negotiator.PostJobRank))
}

// TestRanksWithoutJobs: where jobs' ranks are ignored, jobs have none, and slots are ranked for all jobs
// alike: what refers to a job has no value. Both come back.
func TestRanksWithoutJobs(t *testing.T) {
	p := newSite(t, "s@test")
	p.slots = []string{partitionable("Site = 3\n")}
	p.schedds[0].SetJobs(job("Rank = TARGET.Memory\nHome = 4"))
	scope := p.s.Scope
	scope.Ranks = config.Ranks{PreJobRank: "MY.Site * TARGET.Home", PostJobRank: "MY.Site + 1"}
	for _, ignore := range []bool{false, true, false} {
		scope.IgnoreJob = ignore
		p.Ask(scope)
		s := p.see()
		slot, job := s.Slots["slot1@n"].Ad.Ad, s.Schedds["s@test"].Groups[0].Spec.Ad
		_, ranked := job.Lookup("Rank")
		require.Equal(t, !ignore, ranked)
		pre, _ := slot.Lookup(negotiator.PreJobRank)
		post, _ := slot.Lookup(negotiator.PostJobRank)
		if ignore {
			require.Equal(t, []string{"undefined", "4.000000000000000E+00"}, []string{pre.String(), slot.Eval(negotiator.PostJobRank, nil).String()})
		} else {
			require.Equal(t, []string{"MY.Site * TARGET.Home", "MY.Site + 1"}, []string{pre.String(), post.String()})
		}
	}
}

// Ranks may refer to state of slots, which is kept then.
func TestRanksOfState(t *testing.T) {
	o := New(Settings{
		Schema: schema(), Clock: func() time.Time { return time.Unix(1_700_000_000, 0) },
		Scope: Scope{Look: config.Look{Ranks: config.Ranks{PreJobRank: "RemoteOwner =?= undefined"}}},
	})
	require.True(t, o.slotAttributes.asked("remoteowner"))
	require.True(t, slices.Contains(o.slotAttributes.projection(), "remoteowner"))
	ad, err := classad.ParseOld("RemoteOwner = \"a\"")
	require.NoError(t, err)
	require.Empty(t, o.slotAttributes.strip(ad))
}
