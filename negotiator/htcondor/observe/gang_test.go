package observe

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// TestJoin says what becomes of the procs of a gang's cluster.
func TestJoin(t *testing.T) {
	resources := []string{"cpus", "memory"}
	member := func(proc int64, nodes int, cpus, memory int64, more string) Member {
		ad, err := classad.ParseOld("Requirements = TARGET.Memory >= RequestMemory\nOwner = \"alice\"\n" + more)
		require.NoError(t, err)
		ad.SetInt("MaxHosts", int64(nodes))
		ad.SetInt("RequestCpus", cpus)
		ad.SetInt("RequestMemory", memory)
		return Member{JobKey{"s", 7, proc}, &Group{Hosts: []string{"slot1@a"}, Spec: &Spec{
			Ad: ad, Nodes: nodes, Request: backfill.Vector{cpus, memory}, Parallel: true, Kind: kindOf(ad, resources),
		}}}
	}
	first, wide, large := member(0, 1, 2, 100, ""), member(1, 3, 2, 100, ""), member(2, 2, 1, 300, "")

	all := Join([]Member{first, wide, large}, resources, nil)
	require.NoError(t, all.Spec.Wrong)
	require.Equal(t, []JobKey{first.Key}, all.Jobs)
	require.Equal(t, []string{"slot1@a", "slot1@a", "slot1@a"}, all.Hosts)
	require.Equal(t, 6, all.Spec.Nodes)
	require.Equal(t, backfill.Vector{2, 300}, all.Spec.Request, "the most of each")
	for name, want := range map[string]int64{"RequestCpus": 2, "RequestMemory": 300, "MaxHosts": 6} {
		got, _ := all.Spec.Ad.Int(name)
		require.Equal(t, want, got, name)
	}
	var procs []int64
	for chunk := range 7 {
		procs = append(procs, all.Proc(first.Key, chunk))
	}
	require.Equal(t, []int64{0, 1, 1, 1, 2, 2, 0}, procs)
	require.Equal(t, int64(4), first.Group.Proc(JobKey{Proc: 4}, 1), "of a gang of one proc")
	require.Equal(t, backfill.Vector{2, 100}, first.Group.Spec.Request, "the members stay as they are")

	changed := func(m Member, status int64) Member {
		g := *m.Group
		g.Status, m.Group = status, &g
		return m
	}
	for name, c := range map[string]struct {
		members []Member
		nodes   int
		leader  int64
		wrong   error
	}{
		"a proc is on hold":     {[]Member{first, changed(wide, onHold), large}, 6, 0, nil},
		"a proc is gone":        {[]Member{first, large}, 1, 0, nil},
		"proc 0 is on hold":     {[]Member{changed(first, onHold), wide, large}, 6, 1, errHeadless},
		"proc 0 is gone":        {[]Member{wide, large}, 5, 1, errHeadless},
		"only proc 1 is left":   {[]Member{wide}, 3, 1, errHeadless},
		"proc 0 has just ended": {[]Member{changed(wide, Running), large}, 5, 1, nil},
	} {
		all = Join(c.members, resources, nil)
		require.Equal(t, c.nodes, all.Spec.Nodes, name)
		require.Equal(t, c.leader, all.Jobs[0].Proc, name)
		require.ErrorIs(t, all.Spec.Wrong, c.wrong, name)
		require.False(t, all.OnHold(), name)
	}

	wrong := member(1, 1, 1, 1, "")
	wrong.Group.Spec.Wrong = errors.New("it asks for too much")
	require.ErrorContains(t, Join([]Member{first, wrong}, resources, nil).Spec.Wrong, "it asks for too much")
	require.ErrorIs(t, Join([]Member{first, member(1, 1, 1, 1, "Requirements = true")}, resources, nil).Spec.Wrong, errUnlike)
	many := member(1, backfill.MaxChunks, 1, 1, "")
	require.ErrorContains(t, Join([]Member{first, many}, resources, nil).Spec.Wrong, "must be at most")
}

// TestJoinAnew: an edit of one proc costs little, however many there are: what the procs have in
// common is compared by digests, and a gang whose Specs stay keeps its own.
func TestJoinAnew(t *testing.T) {
	resources := []string{"cpus", "memory"}
	member := func(proc int64) Member {
		ad, err := classad.ParseOld("Requirements = TARGET.Memory >= RequestMemory\nOwner = \"alice\"")
		require.NoError(t, err)
		ad.SetInt("RequestMemory", proc)
		return Member{JobKey{"s", 7, proc}, &Group{Status: Idle, Spec: &Spec{
			Ad: ad, Nodes: 1, Request: backfill.Vector{1, proc}, Parallel: true, Kind: kindOf(ad, resources),
		}}}
	}
	var members []Member
	for proc := range int64(mostProcs) {
		members = append(members, member(proc))
	}
	last := Join(members, resources, nil)
	require.NoError(t, last.Spec.Wrong)
	require.Less(t, testing.AllocsPerRun(1, func() { Join(members, resources, nil) }), 1000.0)

	edited := func(change func(*Group)) []Member {
		after, g := slices.Clone(members), *members[1].Group
		change(&g)
		after[1].Group = &g
		return after
	}
	require.Same(t, last.Spec, Join(edited(func(g *Group) { g.Prio = 1 }), resources, last).Spec)
	other := member(77)
	other.Group.Spec.Nodes = 5
	require.Equal(t, mostProcs+4, Join(edited(func(g *Group) { g.Spec = other.Group.Spec }), resources, last).Spec.Nodes)
	require.Equal(t, mostProcs-1, Join(members[:mostProcs-1], resources, last).Spec.Nodes)
	wants := func(text string, memory int64, wish *Wish) []Member {
		return edited(func(g *Group) {
			g.Spec = &Spec{
				Ad: g.Spec.Ad, Text: text, Nodes: 1, Request: backfill.Vector{1, memory}, Parallel: true, Kind: g.Spec.Kind, Wish: wish,
			}
		})
	}
	wish := new(Wish)
	before := Join(wants("a", 20_000, wish), resources, nil)
	require.True(t, Join(wants("b", 30_000, wish), resources, before).Spec.SameAd(before.Spec))
	require.False(t, Join(wants("b", 30_000, new(Wish)), resources, before).Spec.SameAd(before.Spec))
	runs := slices.Clone(members)
	g := *members[0].Group
	g.Status, runs[0].Group = Running, &g
	require.NotSame(t, last.Spec, Join(runs, resources, last).Spec)

	require.ErrorContains(t, Join(append(members, member(mostProcs)), resources, last).Spec.Wrong, "at most 10000")
}

// TestKindsOfProcs: what a queue tells of procs has them differ in what they must have in common,
// or not.
func TestKindsOfProcs(t *testing.T) {
	o := quiet()
	member := func(proc int64, more string) Member {
		ad, err := classad.ParseOld(job("JobUniverse = 11\nMaxHosts = 1\n" + more))
		require.NoError(t, err)
		spec, _ := o.specOf(ad, "s")
		return Member{JobKey{"s", 7, proc}, &Group{Status: Idle, Spec: spec}}
	}
	all := []Member{member(0, ""), member(1, "MaxHosts = 3\nRequestMemory = 77\n")}
	require.NoError(t, Join(all, o.s.Schema.Resources, nil).Spec.Wrong)
	all = append(all, member(2, "Requirements = TARGET.Memory > 5\n"))
	require.ErrorIs(t, Join(all, o.s.Schema.Resources, nil).Spec.Wrong, errUnlike)
}

// TestServes says for which gangs a schedd asks: those that name its own scheduler, however it is
// written, which it asks for or not, and never those that name another's or a user.
func TestServes(t *testing.T) {
	s := &Schedd{Name: "s@Test", Submitters: map[string]Submitter{
		"bob@test": {Idle: 1}, "DedicatedScheduler@old": {Idle: 1}, "DedicatedScheduler@idle": {},
	}}
	for manager, want := range map[string][2]bool{ // whether it serves them, and whether it asks
		"":                           {true, false},
		"DedicatedScheduler@s@test":  {true, false},
		"DedicatedScheduler@old":     {true, true},
		"DedicatedScheduler@idle":    {false, false},
		"DedicatedScheduler@another": {false, false},
		"bob@test":                   {false, false},
	} {
		g := &Group{Spec: &Spec{Parallel: true}, manager: manager}
		require.Equal(t, want, [2]bool{s.Serves(g), s.Asks(g)}, manager)
	}
}
