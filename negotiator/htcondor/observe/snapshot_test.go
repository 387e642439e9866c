package observe

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// seen writes all that a snapshot shows.
func seen(s *Snapshot) (said []string) {
	said = append(said, fmt.Sprint(s.Number, s.Began, s.Ended, s.Took, s.Now, s.Submitters, s.Negotiators, s.Problems))
	for _, name := range slices.Sorted(maps.Keys(s.Slots)) {
		o := *s.Slots[name]
		ad := ""
		if o.Ad != nil {
			ad = o.Ad.Ad.Format(ast.Long)
		}
		o.Ad = nil
		said = append(said, fmt.Sprintf("%+v %s", o, ad))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Schedds)) {
		o := *s.Schedds[name]
		for _, g := range o.Groups {
			said = append(said, g.Spec.Text)
			said = append(said, fmt.Sprint(g.Submit, g.Prio, g.Hosts, g.Started, g.Deferral, g.Status, g.Jobs))
		}
		if o.Groups = nil; o.Room != nil {
			said = append(said, fmt.Sprint(*o.Room))
		}
		o.Room = nil
		said = append(said, fmt.Sprintf("%+v", o))
	}
	return said
}

// TestSnapshotsDoNotChange says that no later look changes an earlier snapshot, whatever happens to
// slots, jobs and schedds.
func TestSnapshotsDoNotChange(t *testing.T) {
	p := newSite(t, "s@test", "t@test")
	var all []*Snapshot
	var said [][]string
	for _, step := range []func(){
		func() { p.slots = []string{partitionable("MyCurrentTime = 1")} },
		func() {
			p.slots = []string{partitionable("MyCurrentTime = 200\nChildName = { \"slot1_1@n\" }"), part("")}
			p.schedds[0].SetJobs(job(""))
		},
		func() { p.slots[1] = part("RemoteUser = \"eve@test\"") },
		func() { p.slots[0] = partitionable("MyCurrentTime = 300\nChildName = {}") }, // it has deleted its part
		func() { p.slots = p.slots[:1] },
		func() {
			p.slots[0] = partitionable("DaemonStartTime = 7\nBig = true")
			p.schedds[0].SetJobs(job("JobPrio = 3"))
		},
		func() { p.slots = []string{partitionable("DaemonStartTime = 8"), part("DaemonStartTime = 7")} },
		func() { p.slots = nil; p.schedds[1].Stop() },
		func() { p.slots = []string{partitionable("DaemonStartTime = 8")} },
		func() { p.schedds[0].SetJobs(job("ConcurrencyLimits = \"sw\""), job("ProcId = 1")) },
		func() { p.schedds[0].Name = "renamed@test" },
		func() { p.Forget([]string{"slot1_1@n", "slot1@n"}) },
	} {
		step()
		s := p.see()
		all, said = append(all, s), append(said, seen(s))
		for i, before := range all {
			require.Equal(t, said[i], seen(before), "look %d, after look %d", i, len(all)-1)
		}
	}
	require.NotEqual(t, said[0][1:], said[1][1:])
}

// TestSlotsMissingAndBack says what a snapshot shows of a slot whose ad is gone, and is there
// again.
func TestSlotsMissingAndBack(t *testing.T) {
	p := newSite(t)
	ad := partitionable("")
	p.slots = []string{ad}
	first := p.see().Slots["slot1@n"]
	require.True(t, first.Missing.IsZero())
	require.True(t, first.Advertised)
	require.Equal(t, p.at, first.Changed)
	require.Same(t, first, p.see().Slots["slot1@n"], "what does not change is shared")
	p.slots = nil
	missed := p.see().Slots["slot1@n"]
	require.Equal(t, p.at, missed.Missing)
	require.False(t, missed.Advertised)
	require.Same(t, missed, p.see().Slots["slot1@n"])
	p.slots = []string{ad}
	back := p.see().Slots["slot1@n"]
	require.True(t, back.Missing.IsZero())
	require.True(t, back.Advertised)
	require.Equal(t, first.Changed, back.Changed, "it is as it was")
	require.Same(t, first.Ad, back.Ad)
	p.slots = nil
	p.see()
	p.Forget([]string{"slot1@n"})
	require.Empty(t, p.see().Slots)
	p.slots = []string{ad}
	anew := p.see().Slots["slot1@n"]
	require.Equal(t, p.at, anew.Changed, "it counts as new")
	require.NotSame(t, first.Ad, anew.Ad)
}

// TestRestartedStartd says that slots which a startd advertised before it restarted are missing
// though the collector has their ads, until the startd advertises them again.
func TestRestartedStartd(t *testing.T) {
	p := newSite(t)
	p.slots = []string{partitionable("DaemonStartTime = 7"), part("DaemonStartTime = 7")}
	p.see()
	p.slots[0] = partitionable("DaemonStartTime = 8")
	s := p.see()
	require.Equal(t, p.at, s.Slots["slot1@n"].Restarted)
	require.True(t, s.Slots["slot1@n"].Missing.IsZero())
	outlived := p.at
	for range 2 {
		old := s.Slots["slot1_1@n"]
		require.Equal(t, outlived, old.Outlived)
		require.False(t, old.Missing.IsZero())
		require.True(t, old.Advertised)
		s = p.see()
	}
	p.slots[1] = part("DaemonStartTime = 8")
	again := p.see().Slots["slot1_1@n"]
	require.True(t, again.Outlived.IsZero())
	require.True(t, again.Missing.IsZero())
}

// TestDeletedParts says when a dynamic slot is missing because the slot that it was cut from does
// not list it.
func TestDeletedParts(t *testing.T) {
	for name, c := range map[string]struct {
		host, part string
		missing    bool
	}{
		"listed":                  {host: "MyCurrentTime = 200\nChildName = { \"slot1_1@n\" }"},
		"not listed":              {host: "MyCurrentTime = 200\nChildName = { }", missing: true},
		"another is listed":       {host: "MyCurrentTime = 200\nChildName = { \"slot1_2@n\" }", missing: true},
		"claimed after the list":  {host: "MyCurrentTime = 100\nChildName = { }"},
		"it tells of none":        {host: "MyCurrentTime = 200"},
		"nobody knows since when": {host: "MyCurrentTime = 200\nChildName = { }", part: "JobStart = 0", missing: true},
		"its ad is as old":        {host: "MyCurrentTime = 200\nChildName = { }", part: "JobStart = 0\nMyCurrentTime = 200"},
		"its ad is older": {
			host: "MyCurrentTime = 200\nChildName = { }", part: "JobStart = 9999999999\nMyCurrentTime = 199", missing: true,
		},
		"it is not claimed": {host: "MyCurrentTime = 200\nChildName = { }", part: "State = \"Unclaimed\""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newSite(t)
			p.slots = []string{partitionable(c.host), part(c.part)}
			s := p.see()
			require.Equal(t, c.missing, !s.Slots["slot1_1@n"].Missing.IsZero())
			require.True(t, s.Slots["slot1_1@n"].Advertised)
			if host := s.Slots["slot1@n"]; s.Slots["slot1_1@n"].Claimed {
				require.Equal(t, p.at, host.ClaimBegan)
				require.Equal(t, JobKey{"s@test", 7, 0}, host.ClaimBeganFor)
			} else {
				require.Zero(t, host.ClaimBegan)
			}
		})
	}
}

// TestAPartThatIsNeverListed says that a slot is missing, whatever its ad says, if its parent does
// not list it in an ad that comes a minute later.
func TestAPartThatIsNeverListed(t *testing.T) {
	p := newSite(t)
	for i := range 4 {
		now := fmt.Sprintf("MyCurrentTime = %d\n", p.at.Unix())
		p.slots = []string{partitionable(now + "ChildName = { }"), part("JobStart = 2000000000\n" + now)}
		require.Equal(t, i >= 2, !p.see().Slots["slot1_1@n"].Missing.IsZero(), i)
		p.at = p.at.Add(29 * time.Second)
	}
}

// TestClockThatIsPutBack says that a snapshot's instant stands still until the clock has caught up.
func TestClockThatIsPutBack(t *testing.T) {
	p := newSite(t)
	now := p.see().Now
	p.at = p.at.Add(-time.Hour)
	require.Equal(t, now, p.see().Now)
	p.at = p.at.Add(2 * time.Hour)
	require.Equal(t, p.at.Unix()+1, int64(p.see().Now))
}

// TestParseJobID says which texts are a job's ID.
func TestParseJobID(t *testing.T) {
	for text, want := range map[string]*JobKey{
		"12.0": {Cluster: 12}, "-1.7": {Cluster: -1, Proc: 7}, "": nil, "12": nil, "12.": nil, ".0": nil, "12.x": nil,
		"1.2.3": nil, "99999999999999999999.0": nil, "12.0 ": nil,
	} {
		cluster, proc, ok := ParseJobID(text)
		if require.Equal(t, want != nil, ok, text); ok {
			require.Equal(t, *want, JobKey{Cluster: cluster, Proc: proc})
			require.Equal(t, text, want.String())
		}
	}
}

// TestParent says from which slot a dynamic one was cut, by its name.
func TestParent(t *testing.T) {
	for name, want := range map[string]string{
		"slot1_3@host": "slot1@host", "slot1@host": "slot1@host", "slot1_3_2@host": "slot1_3@host",
		"a_b_1@my_host": "a_b@my_host", "_1@host": "_1@host", "slot1_3": "slot1@", "slot1_1@a@b": "slot1@a@b",
	} {
		require.Equal(t, want, Parent(name), name)
	}
}
