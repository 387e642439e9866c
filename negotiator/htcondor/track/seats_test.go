package track

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

var resources = []string{"cpus", "memory", observe.Claims}

// array is a group of so many jobs of a user that wait.
func array(schedd, user string, cluster int64, jobs int, changes ...func(*observe.Group)) *observe.Group {
	g := &observe.Group{
		Spec:   specOf("a job").As(observe.Charged{User: user}, backfill.Vector{1, 128, 1}, 1, resources),
		Status: observe.Idle, Jobs: make([]observe.JobKey, jobs), Submit: begin,
	}
	for i := range g.Jobs {
		g.Jobs[i] = observe.JobKey{Schedd: schedd, Cluster: cluster, Proc: int64(i)}
	}
	for _, change := range changes {
		change(g)
	}
	return g
}

// seats are how many jobs of each group are to have a seat.
func (p *pool) seats(groups ...*observe.Group) (all []int) {
	p.belief.now = p.snapshot()
	p.belief.shareSeats(slices.Sorted(maps.Keys(p.schedds)))
	for _, g := range groups {
		n, few := p.belief.seats[g]
		if !few {
			n = len(g.Jobs)
		}
		all = append(all, n)
	}
	return all
}

// has has a schedd, on a host, have groups besides the jobs of its own.
func (p *pool) has(schedd, host string, groups ...*observe.Group) {
	p.schedd(schedd, func(s *observe.Schedd) { s.Address.Host, s.Groups = host, slices.Clip(groups) })
}

// TestSeats says how seats are shared.
func TestSeats(t *testing.T) {
	urgent := func(g *observe.Group) { g.Prio = 1 }
	kind := func(spec *observe.Spec) func(*observe.Group) { return func(g *observe.Group) { g.Spec = spec } }
	array := func(cluster int64, jobs int, changes ...func(*observe.Group)) *observe.Group {
		return array("s", "a", cluster, jobs, changes...)
	}
	alike := array(1, 1).Spec
	cases := map[string]struct {
		groups []*observe.Group
		want   []int
	}{
		"room for all":       {[]*observe.Group{array(1, 12_500), array(2, 12_500)}, []int{12_500, 12_500}},
		"an array and a job": {[]*observe.Group{array(1, 30_000), array(2, 1)}, []int{24_999, 1}},
		"what is left over": {
			[]*observe.Group{array(1, 20_001), array(2, 12_499), array(3, 7)}, []int{12_497, 12_496, 7},
		},
		"the most urgent": {
			[]*observe.Group{array(1, 15_000), array(2, 15_000), array(3, 15_000, urgent)}, []int{8333, 8333, 8334},
		},
		"a cluster of two kinds": {
			[]*observe.Group{array(1, 15_000), array(1, 15_000), array(2, 15_000)}, []int{6250, 6250, 12_500},
		},
		"two clusters of a kind": {
			[]*observe.Group{array(1, 15_000, kind(alike)), array(2, 15_000, kind(alike)), array(3, 15_000)},
			[]int{6250, 6250, 12_500},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPool(t)
			slices.Reverse(c.groups) // the order in which they are told of does not matter
			p.has("s", "", c.groups...)
			slices.Reverse(c.groups)
			require.Equal(t, c.want, p.seats(c.groups...))
		})
	}
}

// TestSeatsOfMany says that of schedds and users with equally many jobs none has fewer seats than
// another one, and always the same, whatever answers first.
func TestSeatsOfMany(t *testing.T) {
	p := newPool(t)
	var all []*observe.Group
	for s := range 200 {
		var groups []*observe.Group
		for u := range 10 {
			groups = append(groups, array(fmt.Sprintf("s%d", s), fmt.Sprintf("u%d", u), 1, 500))
			for i := range groups[u].Jobs {
				groups[u].Jobs[i].Cluster += int64(u)
			}
		}
		p.has(fmt.Sprintf("s%d", s), fmt.Sprintf("10.0.%d.1", s), groups...)
		all = append(all, groups...)
	}
	require.Equal(t, slices.Repeat([]int{200}, 2000), p.seats(all...))
}

// TestSeatsOfHosts says that who has many schedds has no more seats for it, nor for many users.
func TestSeatsOfHosts(t *testing.T) {
	p := newPool(t)
	var greedy []*observe.Group
	for i := range 10 {
		name := fmt.Sprintf("m%d", i)
		greedy = append(greedy, array(name, "m", 1, 30_000))
		p.has(name, "10.0.0.1", greedy[i])
	}
	honest, one := array("a", "a", 1, 20_000), array("m10", "b", 1, 1)
	p.has("a", "10.0.0.2", honest)
	p.has("m10", "10.0.0.1", one)
	require.Equal(t, []int{20_000, 1}, p.seats(honest, one))
	require.Equal(t, append(slices.Repeat([]int{10_000}, 9), 9_999), p.seats(greedy...))
}

// TestSeatsStay says that jobs keep their seats while others come and go, and for good if they were
// promised a start or run.
func TestSeatsStay(t *testing.T) {
	p := newPool(t)
	old := array("s", "a", 5, 30_000)
	p.has("s", "", old)
	p.diff()
	require.Len(t, p.belief.all, 25_000)
	last := p.belief.jobs[old.Jobs[24_999]]
	last.promised = begin
	before := array("s", "a", 4, 30_000) // released
	p.has("s", "", before, old)
	p.diff()
	require.Len(t, p.belief.all, 25_000)
	require.Equal(t, last, p.belief.jobs[old.Jobs[24_999]])
	require.Nil(t, p.belief.jobs[old.Jobs[12_499]])
	had := maps.Clone(p.belief.jobs)
	again := array("s", "a", 5, 30_000)
	again.Jobs = slices.Concat(again.Jobs[10:], again.Jobs[:10], array("s", "a", 3, 1_000).Jobs)
	p.has("s", "", again, before)
	p.diff()
	require.Equal(t, had, p.belief.jobs)
}

// TestSeatsOfGangs says that a gang of several procs is planned as a whole or not at all.
func TestSeatsOfGangs(t *testing.T) {
	p := newPool(t)
	parallel := func(g *observe.Group) { g.Spec.Parallel = true }
	gang := array("s", "a", 1, 4, parallel)
	others := array("s", "a", 2, 30_000)
	p.has("s", "", others, gang)
	p.diff()
	require.Equal(t, 4, p.belief.jobs[gang.Jobs[0]].Group.Spec.Nodes)

	gang = array("s", "a", 1, 30_000, parallel)
	p = newPool(t)
	p.has("s", "", gang)
	p.diff()
	require.ErrorContains(t, p.belief.jobs[gang.Jobs[0]].Group.Spec.Wrong, "its cluster has 30000 procs")
}

// TestDivide says that no part has fewer seats than another one unless it asks for no more, and that
// none is left over while one is asked for.
func TestDivide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parts []*crowd
		all := 0
		for _, n := range rapid.SliceOf(rapid.IntRange(0, 10)).Draw(t, "asks") {
			parts = append(parts, &crowd{asks: n})
			all += n
		}
		seats := rapid.IntRange(0, 50).Draw(t, "seats")
		got := divide(parts, seats)
		given := 0
		for i, n := range got {
			given += n
			require.LessOrEqual(t, n, parts[i].asks)
			for j, other := range got {
				if n < parts[i].asks {
					require.LessOrEqual(t, other, n+1)
					require.True(t, other <= n || j < i || parts[j].asks > n, "what is left over goes to the first")
				}
			}
		}
		require.Equal(t, min(all, seats), given)
	})
}

// TestSeatsOfEarlierAnswers says that jobs which only the earlier answers of a look have get no seats.
func TestSeatsOfEarlierAnswers(t *testing.T) {
	p := newPool(t)
	old := array("s", "a", 5, 10)
	p.has("s", "", old)
	p.diff()
	p.schedd("s", func(s *observe.Schedd) {
		left := array("s", "a", 5, 30_000)
		s.Earlier = []observe.Reading{{Number: p.number + 1, Groups: []*observe.Group{left, old}}}
	})
	p.number++
	p.belief.See(p.snapshot())
	require.Len(t, p.belief.all, 10)
}

// What it takes to share seats among a million jobs: 200 schedds have ten users each with 500.
func BenchmarkSeats(b *testing.B) {
	p := newPool(b)
	for s := range 200 {
		var groups []*observe.Group
		for u := range 10 {
			groups = append(groups, array(fmt.Sprintf("s%d", s), fmt.Sprintf("u%d", u), int64(u), 500))
		}
		p.has(fmt.Sprintf("s%d", s), fmt.Sprintf("10.0.%d.1", s), groups...)
	}
	b.Run("share", func(b *testing.B) {
		for b.Loop() {
			p.seats()
		}
	})
	b.Run("look", func(b *testing.B) {
		p.diff()
		for b.Loop() {
			p.belief.See(p.snapshot())
			p.belief.Diff(p.dispatched)
		}
	})
	b.Run("new array", func(b *testing.B) { // of 500,000 jobs
		one, other := array("s0", "u", 1, 500_000), array("s0", "u", 1, 500_000)
		for b.Loop() {
			one, other = other, one
			p.has("s0", "10.0.0.1", one)
			delete(p.belief.members, one)
			p.belief.See(p.snapshot())
		}
	})
}
