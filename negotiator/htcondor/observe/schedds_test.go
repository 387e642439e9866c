package observe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFindMoved says which of several schedds at one address is the one that answers there.
func TestFindMoved(t *testing.T) {
	entry := func(at string, look, own, since int, told int64) *schedd {
		return &schedd{at: at, look: look, own: own, since: since, told: told}
	}
	for name, c := range map[string]struct {
		schedds map[string]*schedd
		moved   []string
	}{
		"each has its own": {schedds: map[string]*schedd{"a": entry("1", 2, 2, 1, 0), "b": entry("2", 2, 2, 1, 0)}},
		"the one that was seen last": {
			schedds: map[string]*schedd{"a": entry("1", 1, 1, 1, 0), "b": entry("1", 2, 0, 2, 0)}, moved: []string{"a"},
		},
		"the one that was there first": {
			schedds: map[string]*schedd{"a": entry("1", 2, 2, 2, 900), "b": entry("1", 2, 2, 1, 600)}, moved: []string{"a"},
		},
		"also if it is known by its submitters": {
			schedds: map[string]*schedd{"a": entry("1", 2, 2, 2, 0), "b": entry("1", 2, 0, 1, 0)}, moved: []string{"a"},
		},
		"unless its ads are outdated": {
			schedds: map[string]*schedd{"a": entry("1", 2, 2, 2, 1201), "b": entry("1", 2, 2, 1, 600)}, moved: []string{"b"},
		},
		"of new ones the one with an own ad": {
			schedds: map[string]*schedd{"a": entry("1", 2, 0, 2, 9), "b": entry("1", 2, 2, 2, 0)}, moved: []string{"a"},
		},
		"the first by name": {
			schedds: map[string]*schedd{"a": entry("1", 2, 2, 1, 0), "b": entry("1", 2, 2, 1, 9)}, moved: []string{"b"},
		},
		"one of three": {
			schedds: map[string]*schedd{"a": entry("1", 2, 2, 3, 0), "b": entry("1", 2, 2, 1, 0), "c": entry("1", 2, 2, 2, 0)},
			moved:   []string{"a", "c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := quiet()
			for name, s := range c.schedds {
				s.Name = name
				o.schedds[name] = s
			}
			stopped := 0
			for _, s := range o.schedds {
				s.reading, s.stop = make(chan reading), func() { stopped++ }
			}
			for range 2 { // the second time nothing is new
				o.findMoved(lookOf(2))
				var moved []string
				for _, name := range []string{"a", "b", "c"} {
					if s := o.schedds[name]; s != nil && s.Moved {
						moved = append(moved, name)
						require.Nil(t, s.reading)
					}
				}
				require.Equal(t, c.moved, moved)
				require.Equal(t, len(moved), stopped)
			}
		})
	}
}

// TestRenamedSchedd says that a schedd which was renamed shows under its new name alone, even while
// its old ad is there.
func TestRenamedSchedd(t *testing.T) {
	p := newSite(t, "old@test")
	p.schedds[0].SetJobs(job(""))
	p.see()
	p.schedds[0].Name = "new@test"
	for range 2 {
		s := p.see()
		require.NotContains(t, s.Schedds, "old@test")
		require.Equal(t, []JobKey{{"new@test", 1, 0}}, s.Schedds["new@test"].Groups[0].Jobs)
	}
	require.Equal(t, 1, strings.Count(p.log.String(), "a schedd has another name now"))
}

// TestLostSchedd says that a schedd which does not answer is there for as long as its ads are, and
// a quarter of an hour longer.
func TestLostSchedd(t *testing.T) {
	p := newSite(t, "s@test")
	p.schedds[0].SetJobs(job(""))
	p.see()
	p.schedds[0].Stop()
	p.at = p.at.Add(time.Hour)
	s := p.see()
	require.Error(t, s.Schedds["s@test"].Failed)
	require.Len(t, s.Schedds["s@test"].Groups, 1, "what was read stands")
	require.Len(t, s.Schedds["s@test"].Submitters, 1)
	p.schedds = nil
	last := p.at
	p.at = last.Add(scheddGrace - time.Second)
	s = p.see()
	require.Contains(t, s.Schedds, "s@test")
	require.Empty(t, s.Schedds["s@test"].Submitters)
	require.NotContains(t, p.see().Schedds, "s@test")
}

// TestRoom says how many jobs a schedd runs at once, by its ad.
func TestRoom(t *testing.T) {
	for more, c := range map[string]struct {
		room int // -1: it does not say
		full bool
	}{
		"":                     {room: -1},
		"MaxJobsRunning = -1":  {room: -1},
		"MaxJobsRunning = 2\n": {room: 2},
		"MaxJobsRunning = 2\nTotalRunningJobs = 1": {room: 2},
		"MaxJobsRunning = 2\nTotalRunningJobs = 2": {room: 2, full: true},
		"MaxJobsRunning = 0\n":                     {full: true},
	} {
		p := newSite(t, "s@test")
		p.publish()
		p.collector.Set("Scheduler", p.schedds[0].Ad()+more)
		s, err := p.Look(t.Context())
		require.NoError(t, err)
		one := s.Schedds["s@test"]
		require.Equal(t, c.full, one.Full, more)
		if c.room < 0 {
			require.Nil(t, one.Room, more)
			continue
		}
		require.Equal(t, c.room, one.Room.Jobs, more)
	}
}

// TestSubmitterConstraint says of which submitters the constraint is true, whatever it refers to in
// their ads.
func TestSubmitterConstraint(t *testing.T) {
	p := newSite(t, "s@test")
	excluded := func(constraint string) bool {
		scope := p.s.Scope
		scope.SubmitterConstraint = constraint
		p.Ask(scope)
		s := p.see()
		require.Equal(t, constraint != "", s.Constrained)
		require.Contains(t, s.Schedds["s@test"].Submitters, "alice@test")
		return s.Schedds["s@test"].Submitters["alice@test"].Excluded
	}
	for constraint, want := range map[string]bool{
		"":                                  false,
		`Name == "alice@test"`:              false,
		`regexp("^bob@", MY.Name)`:          true,
		"IdleJobs":                          false,
		"RunningJobs":                       true,
		"Gone":                              true,
		"time() > 1600000000":               false,
		`MyType == "Submitter" && !Flocked`: false,
		strings.Repeat("IdleJobs + ", 10_000) + "1": true, // it is too expensive
	} {
		require.Equal(t, want, excluded(constraint), "%.60s", constraint)
	}
}

// TestSkipMatchmaking says whose jobs are not planned because his ad asks for that, as HTCondor's
// negotiator does since 25.11.
func TestSkipMatchmaking(t *testing.T) {
	p := newSite(t, "s@test")
	for more, want := range map[string]bool{
		"": false, "SkipMatchmaking = true": true, "SkipMatchmaking = 1": true, "skipmatchmaking = TRUE": true,
		"SkipMatchmaking = false": false, "SkipMatchmaking = \"true\"": false, "SkipMatchmaking = undefined": false,
	} {
		p.publish()
		p.collector.Set("Submitter", p.schedds[0].SubmitterAd("alice@test", "", 1, 0)+more+"\n")
		look, err := p.Look(t.Context())
		require.NoError(t, err)
		require.Contains(t, look.Schedds["s@test"].Submitters, "alice@test")
		require.Equal(t, want, look.Schedds["s@test"].Submitters["alice@test"].Skipped, more)
	}
}

// An ad of a schedd or submitter that is too large to be read does not hide the others.
func TestAdsOfSubmittersAreBounded(t *testing.T) {
	p := newSite(t, "s@test")
	for name, more := range map[string]string{
		"constants": "Capability = {" + strings.Repeat("1,", 5000) + "1}\n", "text": "Capability = \"" + strings.Repeat("x", 100_000) + "\"\n",
	} {
		p.publish()
		ads := []string{
			p.schedds[0].SubmitterAd("mallory@test", "", 1, 0) + more, p.schedds[0].SubmitterAd("alice@test", "", 1, 0),
		}
		p.collector.Set("Submitter", ads...)
		look, err := p.Look(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, look.Submitters, name)
		require.Contains(t, look.Schedds["s@test"].Submitters, "alice@test")
	}
}

// However many schedds do not answer, a look tells of some, and how many more there are.
func TestProblemsAreCut(t *testing.T) {
	p := newSite(t, "s@test")
	p.see()
	var ads []string
	for i := range 2 * mostProblems {
		ads = append(ads, fmt.Sprintf("MyType = \"Scheduler\"\nName = \"r%d@test\"\nScheddIpAddr = \"<127.0.0.1:%d>\"\n", i, 1+i))
	}
	p.collector.Set("Scheduler", ads...)
	s, err := p.Look(t.Context())
	require.NoError(t, err)
	require.Len(t, s.Problems, mostProblems+1)
	require.Regexp(t, "^and [0-9]+ more problems with schedds$", s.Problems[mostProblems])
}

// TestAnAdIsOfItsTable: users advertise themselves as submitters, and write what such an ad says. One
// that calls itself an ad of another kind is nothing.
func TestAnAdIsOfItsTable(t *testing.T) {
	for _, kind := range []string{"Negotiator", "negotiator", "Scheduler", "Machine"} {
		t.Run(kind, func(t *testing.T) {
			p := newSite(t, "s@test")
			p.slots = []string{partitionable("")}
			p.publish()
			at := p.schedds[0].Address()
			p.collector.Set("Submitter", p.schedds[0].SubmitterAd("alice@test", "", 1, 0), fmt.Sprintf(
				"MyType = %q\nName = \"mallory@test\"\nMyAddress = %q\nScheddName = \"theirs\"\nScheddIpAddr = %[2]q\nState = \"Unclaimed\"\n"+
					"PartitionableSlot = true\nCpus = 4\nMemory = 4096\nRequirements = true\n"+sentBy("mallory@test"), kind, at))
			s, err := p.Look(t.Context())
			require.NoError(t, err)
			require.Empty(t, s.Negotiators)
			require.Len(t, s.Schedds, 1)
			require.Len(t, s.Schedds["s@test"].Submitters, 1)
			require.Len(t, s.Slots, 1)
			require.Empty(t, s.Problems)
		})
	}
}
