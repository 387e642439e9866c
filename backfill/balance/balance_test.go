package balance_test

import (
	"cmp"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/balance"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// open opens a cycle on a pool of one slot.
func open(t *testing.T, resources []string, capacity backfill.Vector) *backfill.Cycle {
	t.Helper()
	s := backfill.NewState(resources, profile.ByRank)
	c, err := s.Open(backfill.Round{Events: []backfill.Event{{
		Kind: backfill.SlotAdded,
		Slot: backfill.Slot{Name: "a", Capacity: capacity},
	}}})
	require.NoError(t, err)
	_, more := c.Next()
	require.True(t, more)
	return c.Cycle
}

// names returns the resources of most pools here; both are balanced.
func names() []string { return []string{"cpus", "memory"} }

// TestScoresByHand checks comparisons of bb's score, max(x)/mean(x)·(1 − mean(x)), that were
// computed by hand. Lower is better.
func TestScoresByHand(t *testing.T) {
	const big = 100_000_000_000_000
	for _, tt := range []struct {
		name     string
		capacity backfill.Vector
		a, b     backfill.Vector // in use with the one job, and with the other
		want     int
	}{
		{
			"nothing in use scores 0, more cannot be better",
			backfill.Vector{10, 100},
			backfill.Vector{0, 0},
			backfill.Vector{1, 10},
			-1,
		},
		{"all in use scores 0 as well", backfill.Vector{10, 100}, backfill.Vector{0, 0}, backfill.Vector{10, 100}, 0},
		{"fuller: 1·1/2 against 1·1/4", backfill.Vector{8, 80}, backfill.Vector{4, 40}, backfill.Vector{6, 60}, 1},
		{"balanced: 1·1/2 against 3/2·1/2", backfill.Vector{8, 80}, backfill.Vector{4, 40}, backfill.Vector{6, 20}, -1},
		{
			"fuller against balanced: 8/7·1/8 against 1·1/4",
			backfill.Vector{8, 8},
			backfill.Vector{8, 6},
			backfill.Vector{6, 6},
			-1,
		},
		{
			"the other way round: 3/2·1/2 against 1·3/4",
			backfill.Vector{4, 4},
			backfill.Vector{3, 1},
			backfill.Vector{1, 1},
			0,
		},
		{"mirrored resources score alike", backfill.Vector{8, 80}, backfill.Vector{2, 40}, backfill.Vector{4, 20}, 0},
		{
			"one in use alone: 2·7/8 against 2·3/4",
			backfill.Vector{4, 4},
			backfill.Vector{1, 0},
			backfill.Vector{2, 0},
			1,
		},
		{"no capacity at all", backfill.Vector{0, 0}, backfill.Vector{0, 0}, backfill.Vector{0, 0}, 0},
		{"one resource: 1 − x", backfill.Vector{4, 0}, backfill.Vector{1, 0}, backfill.Vector{2, 0}, 1},
		{"capacity 0 does not count", backfill.Vector{4, 0}, backfill.Vector{1, 7}, backfill.Vector{1, 0}, 0},
		{
			"large numbers, nearly equal",
			backfill.Vector{big, big + 1},
			backfill.Vector{big / 2, big / 2},
			backfill.Vector{big / 2, big/2 + 1},
			1,
		},
		{
			"large numbers, equal",
			backfill.Vector{3 * big, 6 * big},
			backfill.Vector{big, 2 * big},
			backfill.Vector{big, 2 * big},
			0,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			scale := balance.NewScale(open(t, names(), tt.capacity), names())
			require.Equal(t, tt.want, scale.Of(tt.a).CompareScore(scale.Of(tt.b)))
			require.Equal(t, -tt.want, scale.Of(tt.b).CompareScore(scale.Of(tt.a)))
		})
	}
}

// TestImbalanceByHand checks ibb's condition for a job to pass, max(x)/mean(x) ≤ max(S)/mean(S),
// where x is the utilisation with the job and S the one without it.
func TestImbalanceByHand(t *testing.T) {
	for _, tt := range []struct {
		name     string
		capacity backfill.Vector
		use      backfill.Vector
		request  backfill.Vector
		nodes    int
		passes   bool
	}{
		{
			"nothing in use: every job passes",
			backfill.Vector{10, 100},
			backfill.Vector{0, 0},
			backfill.Vector{1, 0},
			1,
			true,
		},
		{
			"nothing in use or asked for",
			backfill.Vector{10, 100},
			backfill.Vector{0, 0},
			backfill.Vector{0, 0},
			1,
			true,
		},
		{"balanced stays balanced", backfill.Vector{10, 100}, backfill.Vector{4, 40}, backfill.Vector{1, 10}, 1, true},
		{"balanced gets worse", backfill.Vector{10, 100}, backfill.Vector{4, 40}, backfill.Vector{1, 9}, 1, false},
		{"unbalanced gets better", backfill.Vector{10, 100}, backfill.Vector{6, 20}, backfill.Vector{0, 10}, 1, true},
		{
			"unbalanced stays as it is",
			backfill.Vector{10, 100},
			backfill.Vector{6, 20},
			backfill.Vector{3, 10},
			1,
			true,
		},
		{"unbalanced gets worse", backfill.Vector{10, 100}, backfill.Vector{6, 20}, backfill.Vector{3, 9}, 1, false},
		{
			"the other resource becomes the highest, to the same degree",
			backfill.Vector{10, 10},
			backfill.Vector{4, 2},
			backfill.Vector{0, 6},
			1, true,
		},
		{
			"the other resource becomes the highest, and it gets worse",
			backfill.Vector{10, 10},
			backfill.Vector{4, 2},
			backfill.Vector{0, 7},
			1, false,
		},
		{"chunks count", backfill.Vector{10, 10}, backfill.Vector{4, 2}, backfill.Vector{0, 1}, 7, false},
		{"asks for nothing", backfill.Vector{10, 10}, backfill.Vector{4, 2}, backfill.Vector{0, 0}, 3, true},
		{
			"one resource: every job passes",
			backfill.Vector{10, 0},
			backfill.Vector{4, 0},
			backfill.Vector{5, 0},
			1,
			true,
		},
		{
			"no capacity at all: every job passes",
			backfill.Vector{0, 0},
			backfill.Vector{0, 0},
			backfill.Vector{0, 0},
			1,
			true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			scale := balance.NewScale(open(t, names(), tt.capacity), names())
			before := append(backfill.Vector{}, tt.use...)
			j := &backfill.Job{Nodes: tt.nodes, Request: tt.request}
			require.Equal(t, tt.passes, scale.With(tt.use, j.Request, j.Nodes).CompareImbalance(scale.Of(tt.use)) <= 0)
			require.Equal(t, before, tt.use, "asking changes nothing")
		})
	}
}

// TestResourcesChosen checks that only the chosen resources count, and which ones do by default.
func TestResourcesChosen(t *testing.T) {
	c := open(t, []string{"cpus", "memory", "gpus"}, backfill.Vector{10, 10, 10})
	balanced, uneven := backfill.Vector{5, 5, 0}, backfill.Vector{5, 5, 9}
	for _, tt := range []struct {
		resources []string
		want      int // of balanced against uneven
	}{
		{[]string{"cpus", "memory"}, 0},
		{[]string{"memory", "cpus", "unheard-of"}, 0},
		{[]string{"cpus", "gpus"}, 1},           // 2 against 9/7
		{[]string{"cpus", "memory", "gpus"}, 1}, // 3/2 against 27/19
		{[]string{"gpus"}, -1},                  // nothing in use against something
		{nil, -1},
	} {
		scale := balance.NewScale(c, tt.resources)
		require.Equal(t, tt.want, scale.Of(balanced).CompareImbalance(scale.Of(uneven)), tt.resources)
	}
	spec := balance.Spec("", "", "", nil)
	require.Equal(t, "cpus,memory", spec.Options[0].Default)
}

// TestExactly checks that scores and imbalances compare as exact fractions do.
func TestExactly(t *testing.T) {
	state := t
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 4).Draw(t, "resources")
		all := []string{"cpus", "memory", "disk", "gpus"}[:k]
		capacity := rapid.SliceOfN(rapid.Int64Range(1, 1_000_000_000_000_000), k, k).Draw(t, "capacity")
		use := func() backfill.Vector {
			v := make(backfill.Vector, k)
			for i := range v {
				v[i] = rapid.Int64Range(0, capacity[i]).Draw(t, "use")
			}
			return v
		}
		scale := balance.NewScale(open(state, all, capacity), all)
		a, b := use(), use()
		scoreA, ratioA := fractions(a, capacity)
		scoreB, ratioB := fractions(b, capacity)
		require.Equal(t, scoreA.Cmp(scoreB), cmp.Compare(scale.Of(a).CompareScore(scale.Of(b)), 0))
		if ratioA != nil && ratioB != nil {
			require.Equal(t, ratioA.Cmp(ratioB), cmp.Compare(scale.Of(a).CompareImbalance(scale.Of(b)), 0))
		}
	})
}

// fractions returns the score max/mean·(1 − mean) and the imbalance max/mean. If nothing is in use,
// the score is 0 and the imbalance nil.
func fractions(use, capacity backfill.Vector) (score, ratio *big.Rat) {
	highest, mean := new(big.Rat), new(big.Rat)
	for i := range use {
		x := big.NewRat(use[i], capacity[i])
		mean.Add(mean, x)
		if x.Cmp(highest) > 0 {
			highest = x
		}
	}
	if mean.Sign() == 0 {
		return new(big.Rat), nil
	}
	mean.Quo(mean, big.NewRat(int64(len(use)), 1))
	ratio = new(big.Rat).Quo(highest, mean)
	return new(big.Rat).Mul(ratio, new(big.Rat).Sub(big.NewRat(1, 1), mean)), ratio
}

// TestWorsens checks that Worsens gives the same answer as CompareImbalance, for small and large
// numbers, also if more is in use than the pool has.
func TestWorsens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		most := rapid.SampledFrom([]int64{4, 1000, 1 << 20, 1_000_000_000_000_000}).Draw(rt, "most")
		vector := func(name string, most int64) backfill.Vector {
			return rapid.SliceOfN(rapid.Int64Range(0, most), 2, 2).Draw(rt, name)
		}
		scale := balance.NewScale(open(t, names(), vector("capacity", most)), names())
		use, before := vector("use", most), scale.Of(vector("before", 2*most))
		j := &backfill.Job{Nodes: rapid.IntRange(1, 3).Draw(rt, "nodes"), Request: vector("request", most)}
		require.Equal(rt, scale.With(use, j.Request, j.Nodes).CompareImbalance(before) > 0,
			scale.Worsens(use, j.Request, j.Nodes, before))
	})
}
