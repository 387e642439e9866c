package profile_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// TestMisfit checks the reason that Misfit gives for each kind of wrong placement.
func TestMisfit(t *testing.T) {
	p, _ := newPool(profile.Pack, []hand{
		{"a", vec(8), vec(4)},
		{"b", vec(8), nil},
		{"c", vec(8), nil},
		{"d", vec(8), nil},
	})
	p.DropSlot(2)
	r := profile.Request{
		Chunk: vec(2), Nodes: 3, Duration: 10,
		Candidates: &profile.Candidates{Slots: []profile.SlotID{0, 1, 2}},
	}
	for _, tt := range []struct {
		at   profile.Placement
		want string
	}{
		{place(0, 2, 1, 1), ""},
		{place(1, 3), ""},
		{nil, "0 chunks are placed, the job has 3"},
		{place(1, 2), "2 chunks are placed, the job has 3"},
		{place(1, 2, 0, 2), "4 chunks are placed, the job has 3"},
		{place(1, 4), "4 chunks on slot b: the job has 3"},
		{place(1, 0, 0, 3), "0 chunks on slot b"},
		{place(1, math.MinInt), "chunks on slot b"},
		{place(1, 1, 0, 1, 1, 1), "slot b is named twice"},
		{place(2, 3), "slot 2 is not there"},
		{place(3, 3), "slot d is no candidate"},
		{place(4, 3), "slot 4 is not there"},
		{place(-1, 3), "slot -1 is not there"},
		{place(0, 3), "3 chunks of [2] are not free on slot a during [0, 10)"},
	} {
		err := p.Misfit(r, tt.at, 0)
		require.Equal(t, tt.want == "", p.Fits(r, tt.at, 0))
		if tt.want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, tt.want)
		}
	}
	p.SetSlot(2, "c", vec(6)) // returns with less capacity
	require.True(t, p.Fits(r, place(2, 3), 0))
	p.SetSlot(2, "c", vec(5))
	require.False(t, p.Fits(r, place(2, 3), 0))
}

// TestSpansAtTheEdge checks spans that begin or end exactly now, and spans that lie in the
// forgotten past, partly or altogether. Adding a span before or after the past is forgotten gives
// the same.
func TestSpansAtTheEdge(t *testing.T) {
	for _, tt := range []struct {
		name       string
		start, end profile.Time
		free       map[profile.Time]int64 // after time has passed to 10
	}{
		{"all in the past", 2, 8, map[profile.Time]int64{10: 4, 11: 4}},
		{"ends now", 2, 10, map[profile.Time]int64{10: 4, 11: 4}},
		{"before and after now", 2, 12, map[profile.Time]int64{10: 1, 11: 1, 12: 4}},
		{"begins now", 10, 12, map[profile.Time]int64{10: 1, 11: 1, 12: 4}},
		{"begins later", 11, 12, map[profile.Time]int64{10: 4, 11: 1, 12: 4}},
		{"never ends", 2, profile.Forever, map[profile.Time]int64{10: 1, profile.Forever - 1: 1}},
		{"begins now and never ends", 10, profile.Forever, map[profile.Time]int64{10: 1, profile.Forever - 1: 1}},
		{"ends after Forever", 11, profile.Forever + 5, map[profile.Time]int64{10: 4, 11: 1}},
		{"is empty", 12, 12, map[profile.Time]int64{10: 4, 12: 4}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			early, _ := newPool(profile.Pack, []hand{{"a", vec(4), nil}}) // adds, then forgets
			late, _ := newPool(profile.Pack, []hand{{"a", vec(4), nil}})  // forgets, then adds
			early.Add(place(0, 1), vec(3), tt.start, tt.end)
			early.Forget(10)
			late.Forget(10)
			late.Add(place(0, 1), vec(3), tt.start, tt.end)
			early.Forget(3) // an earlier time changes nothing
			for at, want := range tt.free {
				require.Equal(t, vec(want), early.Free(0, at), "%d", at)
				require.Equal(t, vec(want), late.Free(0, at), "%d", at)
			}
			for _, p := range []*profile.Profile{early, late} {
				p.Forget(11)
				p.Remove(place(0, 1), vec(3), tt.start, tt.end)
				for _, at := range []profile.Time{11, 12, 100, profile.Forever - 1} {
					require.Equal(t, vec(4), p.Free(0, at), "%d", at)
				}
			}
		})
	}
}

// TestOverfull checks a slot on which more is planned than its capacity, because that has shrunk.
func TestOverfull(t *testing.T) {
	p, all := newPool(profile.Pack, []hand{{"a", vec(8, 8), nil}})
	p.Add(place(0, 1), vec(6, 1), 0, 10)
	require.False(t, p.Overfull(0, 0))
	p.SetSlot(0, "a", vec(4, 8))
	require.True(t, p.Overfull(0, 0))
	require.True(t, p.Overfull(0, 9))
	require.False(t, p.Overfull(0, 10))
	require.Equal(t, vec(-2, 7), p.Free(0, 5))

	r := profile.Request{Chunk: vec(1, 0), Nodes: 1, Duration: 5, Candidates: all}
	start, _, ok := p.EarliestFit(r, 0)
	require.True(t, ok)
	require.Equal(t, profile.Time(10), start)
	r.Chunk = vec(0, 1) // asks only for the resource that is not overfull
	start, _, ok = p.EarliestFit(r, 0)
	require.True(t, ok)
	require.Zero(t, start)
	r.Chunk = vec(5, 0) // more than the new capacity
	_, _, ok = p.EarliestFit(r, 0)
	require.False(t, ok)
	require.False(t, p.EverFits(r))
}

// TestEarliestFitLimits checks searches for a start in [from, limit), on one slot and on two.
func TestEarliestFitLimits(t *testing.T) {
	for _, slots := range [][]hand{{{"a", vec(4), nil}}, {{"a", vec(4), nil}, {"b", vec(1), nil}}} {
		p, all := newPool(profile.Pack, slots)
		p.Add(place(0, 1), vec(4), 5, 15)
		r := profile.Request{Chunk: vec(2), Nodes: 2, Duration: 10, Candidates: all}
		for _, tt := range []struct {
			from, limit profile.Time
			want        profile.Time // -1: none
		}{{0, profile.Forever, 15}, {0, 16, 15}, {0, 15, -1}, {0, 0, -1}, {15, 15, -1}, {15, 16, 15}, {
			40,
			profile.Forever, 40,
		}, {40, 30, -1}} {
			start, at, ok := p.EarliestFitBefore(r, tt.from, tt.limit)
			require.Equal(t, tt.want >= 0, ok, "%v", tt)
			if ok {
				require.Equal(t, tt.want, start, "%v", tt)
				require.Equal(t, place(0, 2), at)
			}
		}
		// From 100 on a span occupies the slot forever: there are 85 s between it and the first
		// span.
		p.Add(place(0, 1), vec(1), 100, profile.Forever)
		r.Chunk, r.Duration = vec(4), 90
		r.Nodes = 1
		_, _, ok := p.EarliestFit(r, 0)
		require.False(t, ok)
		require.True(t, p.EverFits(r))
		r.Duration = 85
		start, _, ok := p.EarliestFit(r, 0)
		require.True(t, ok)
		require.Equal(t, profile.Time(15), start)
	}
}

// TestLargeAmounts checks that a pool with capacities around 10^15 in several resources gives the
// same answers as one with all amounts divided by 10^13. Products of such amounts exceed 64 bits.
func TestLargeAmounts(t *testing.T) {
	const unit = 10_000_000_000_000
	rapid.Check(t, func(t *rapid.T) {
		rule := rapid.SampledFrom([]profile.Rule{profile.ByRank, profile.Pack, profile.Spread}).Draw(t, "rule")
		small, large := profile.New(rule), profile.New(rule)
		all := &profile.Candidates{}
		vector := func(low, high int64) (s, l profile.Vector) {
			s = rapid.SliceOfN(rapid.Int64Range(low, high), 3, 3).Draw(t, "vector")
			l = make(profile.Vector, 3)
			l.AddScaled(s, unit)
			return s, l
		}
		for i := range rapid.IntRange(1, 4).Draw(t, "slots") {
			s, l := vector(50, 200)
			small.SetSlot(profile.SlotID(i), string(rune('a'+i)), s)
			large.SetSlot(profile.SlotID(i), string(rune('a'+i)), l)
			all.Slots = append(all.Slots, profile.SlotID(i))
		}
		for range 8 {
			s, l := vector(0, 60)
			r := profile.Request{
				Chunk: s, Nodes: rapid.IntRange(1, 9).Draw(t, "nodes"),
				Duration: profile.Time(rapid.IntRange(1, 9).Draw(t, "duration")), Candidates: all,
			}
			start, at, ok := small.EarliestFit(r, 0)
			r.Chunk = l
			startL, atL, okL := large.EarliestFit(r, 0)
			require.Equal(t, ok, okL)
			require.Equal(t, start, startL)
			require.Equal(t, at, atL)
			if ok {
				require.NoError(t, large.Misfit(r, atL, startL))
				small.Add(at, s, start, start+r.Duration)
				large.Add(at, l, start, start+r.Duration)
			}
		}
	})
}

// TestManyLargeChunksDoNotWrapAround checks that 18447 chunks of 10^15 do not fit a slot of 10^15.
// In 64 bits the product wraps around to 2.6·10^14, which would fit.
func TestManyLargeChunksDoNotWrapAround(t *testing.T) {
	p, all := newPool(profile.Pack, []hand{{"a", vec(1e15), nil}})
	r := profile.Request{Chunk: vec(1e15), Nodes: 18447, Duration: 10, Candidates: all}
	require.False(t, p.EverFits(r))
	require.Error(t, p.Misfit(r, place(0, r.Nodes), 0))
}

// TestCountsDoNotWrapAround checks that math.MaxInt chunks that ask for nothing fit two slots. The
// sum of the chunks that fit each slot would wrap around.
func TestCountsDoNotWrapAround(t *testing.T) {
	p, all := newPool(profile.Pack, []hand{{"a", vec(1), nil}, {"b", vec(1), nil}})
	r := profile.Request{Chunk: vec(0), Nodes: math.MaxInt, Duration: 10, Candidates: all}
	require.True(t, p.EverFits(r))
	_, ok := p.Place(r, 0)
	require.True(t, ok)
}

// TestVectors checks Within and Zero of vectors, and Equal and Count of placements.
func TestVectors(t *testing.T) {
	require.True(t, vec(1, 2).Within(vec(1, 2)))
	require.False(t, vec(1, 3).Within(vec(9, 2)))
	require.True(t, vec(0, 0).Zero())
	require.False(t, vec(0, -1).Zero())
	require.True(t, place(0, 1, 1, 2).Equal(place(0, 1, 1, 2)))
	require.False(t, place(0, 1, 1, 2).Equal(place(1, 2, 0, 1)))
	require.False(t, place(0, 1).Equal(nil))
	require.Zero(t, profile.Placement(nil).Count())
	require.Equal(t, 3, place(0, 1, 1, 2).Count())
}

// TestNegativeInstants checks that instants before zero are treated like all others, and that zero
// has no special meaning.
func TestNegativeInstants(t *testing.T) {
	p := profile.New(profile.ByRank)
	p.SetSlot(0, "a", vec(4))
	one := profile.Placement{{Slot: 0, Count: 1}}
	r := profile.Request{
		Chunk: vec(3), Nodes: 1, Duration: 10,
		Candidates: &profile.Candidates{Slots: []profile.SlotID{0}},
	}
	p.Add(one, vec(2), -20, -15)
	p.Add(one, vec(3), 0, 10)
	require.Equal(t, vec(2), p.Free(0, -20))
	require.Equal(t, vec(4), p.Free(0, -15))
	require.Equal(t, vec(1), p.Free(0, 0))
	start, _, ok := p.EarliestFit(r, -20)
	require.True(t, ok)
	require.EqualValues(t, -15, start)
	start, ok = p.EarliestAhead(r, 0, -5, 0)
	require.True(t, ok, "the span at 0 is the request's own reservation")
	require.EqualValues(t, -5, start)
}
