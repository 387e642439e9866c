package profile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// place makes a placement from pairs of a slot and a number of chunks.
func place(pairs ...int) profile.Placement {
	var p profile.Placement
	for i := 0; i < len(pairs); i += 2 {
		p = append(p, profile.Chunks{Slot: profile.SlotID(pairs[i]), Count: pairs[i+1]})
	}
	return p
}

// hand is a slot of a hand-made pool: its capacity, and what is occupied of it during [0, 1000).
type hand struct {
	name           string
	capacity, used profile.Vector
}

func newPool(rule profile.Rule, slots []hand) (*profile.Profile, *profile.Candidates) {
	p := profile.New(rule)
	var all profile.Candidates
	for i, s := range slots {
		id := profile.SlotID(i)
		p.SetSlot(id, s.name, s.capacity)
		if s.used != nil {
			p.Add(place(i, 1), s.used, 0, 1000)
		}
		all.Slots = append(all.Slots, id)
	}
	return p, &all
}

func vec(v ...int64) profile.Vector { return v }

// TestPlacementRules checks which slots each rule chooses in hand-made pools.
func TestPlacementRules(t *testing.T) {
	const big = 1_000_000_000_000_000
	for _, tt := range []struct {
		name                 string
		slots                []hand
		rank                 []int32
		nodes                int
		chunk                profile.Vector
		byRank, pack, spread profile.Placement
	}{
		{
			name:  "all are equal: by name, not by ID",
			slots: []hand{{"c", vec(4), nil}, {"a", vec(4), nil}, {"b", vec(4), nil}},
			nodes: 1, chunk: vec(1),
			byRank: place(1, 1), pack: place(1, 1), spread: place(1, 1),
		},
		{
			name:  "names are compared by bytes",
			slots: []hand{{"b", vec(4), nil}, {"B", vec(4), nil}, {"a10", vec(4), nil}, {"a9", vec(4), nil}},
			nodes: 4, chunk: vec(4),
			byRank: place(1, 1, 2, 1, 3, 1, 0, 1), pack: place(1, 1, 2, 1, 3, 1, 0, 1), spread: place(1, 1, 2, 1, 3, 1,
				0, 1),
		},
		{
			name:  "the fullest, or the emptiest",
			slots: []hand{{"a", vec(8), nil}, {"b", vec(8), vec(4)}, {"c", vec(8), vec(7)}},
			nodes: 1, chunk: vec(2),
			byRank: place(1, 1), pack: place(1, 1), spread: place(0, 1),
		},
		{
			name:  "the remainder is a fraction, not an amount",
			slots: []hand{{"a", vec(4), nil}, {"b", vec(100), vec(60)}}, // 3/4 and 39/100 are left
			nodes: 1, chunk: vec(1),
			byRank: place(1, 1), pack: place(1, 1), spread: place(0, 1),
		},
		{
			name:  "the scarcest resource counts",
			slots: []hand{{"a", vec(8, 8), vec(4, 0)}, {"b", vec(8, 8), vec(0, 6)}}, // 3/8 and 1/8
			nodes: 1, chunk: vec(1, 1),
			byRank: place(1, 1), pack: place(1, 1), spread: place(0, 1),
		},
		{
			name:  "resources that are not asked for count",
			slots: []hand{{"a", vec(8, 10), nil}, {"b", vec(8, 10), vec(0, 9)}},
			nodes: 1, chunk: vec(1, 0),
			byRank: place(1, 1), pack: place(1, 1), spread: place(0, 1),
		},
		{
			name:  "slots without what is not asked for come first",
			slots: []hand{{"a", vec(8, 4), vec(7, 0)}, {"b", vec(8, 0), vec(4, 0)}, {"c", vec(8, 4), nil}},
			nodes: 1, chunk: vec(1, 0),
			byRank: place(1, 1), pack: place(1, 1), spread: place(1, 1),
		},
		{
			name:  "and take all the chunks that they can",
			slots: []hand{{"a", vec(4, 4), nil}, {"b", vec(4, 0), nil}, {"c", vec(4, 0), vec(2, 0)}},
			nodes: 8, chunk: vec(1, 0),
			byRank: place(2, 2, 1, 4, 0, 2), pack: place(2, 2, 1, 4, 0, 2), spread: place(1, 4, 2, 2, 0, 2),
		},
		{
			name:  "the fewer of it, the sooner",
			slots: []hand{{"a", vec(8, 1, 1), nil}, {"b", vec(8, 0, 4), nil}},
			nodes: 1, chunk: vec(1, 0, 0),
			byRank: place(1, 1), pack: place(1, 1), spread: place(1, 1),
		},
		{
			name:  "who asks for it takes it where it is",
			slots: []hand{{"a", vec(8, 4), vec(4, 0)}, {"b", vec(8, 4), nil}, {"c", vec(8, 0), vec(7, 0)}},
			nodes: 1, chunk: vec(1, 1),
			byRank: place(0, 1), pack: place(0, 1), spread: place(1, 1),
		},
		{
			name:  "a job's own rank comes before",
			slots: []hand{{"a", vec(8, 4), nil}, {"b", vec(8, 0), nil}},
			rank:  []int32{1, 0},
			nodes: 1, chunk: vec(1, 0),
			byRank: place(0, 1), pack: place(1, 1), spread: place(1, 1),
		},
		{
			name:  "rank comes before the remainder",
			slots: []hand{{"a", vec(8), vec(6)}, {"b", vec(8), nil}, {"c", vec(8), vec(1)}},
			rank:  []int32{0, 1, 1},
			nodes: 1, chunk: vec(2),
			byRank: place(2, 1), pack: place(0, 1), spread: place(1, 1),
		},
		{
			name:  "each slot takes as many as fit, or one in each round",
			slots: []hand{{"a", vec(8), nil}, {"b", vec(8), vec(4)}, {"c", vec(8), vec(5)}},
			nodes: 5, chunk: vec(2),
			byRank: place(2, 1, 1, 2, 0, 2), pack: place(2, 1, 1, 2, 0, 2), spread: place(0, 2, 1, 2, 2, 1),
		},
		{
			name:  "the remainder is what one chunk leaves",
			slots: []hand{{"a", vec(9), nil}, {"b", vec(10), nil}},
			nodes: 3, chunk: vec(3),
			byRank: place(0, 3), pack: place(0, 3), spread: place(1, 2, 0, 1),
		},
		{
			name: "large numbers are compared exactly: 1/3 and slightly more",
			slots: []hand{
				{"a", vec(3*big + 1), vec(2 * big)},
				{"b", vec(3 * big), vec(2 * big)},
				{"c", vec(3*big + 2), vec(2 * big)},
			},
			nodes: 1, chunk: vec(0),
			byRank: place(1, 1), pack: place(1, 1), spread: place(2, 1),
		},
		{
			name:  "large numbers in several resources",
			slots: []hand{{"a", vec(big, 9*big, 9*big), vec(1, 0, 0)}, {"b", vec(9*big, 9*big, big), vec(0, 0, 2)}},
			nodes: 1, chunk: vec(0, 0, 0),
			byRank: place(1, 1), pack: place(1, 1), spread: place(0, 1),
		},
		{
			name:  "more chunks than fit",
			slots: []hand{{"a", vec(8), nil}, {"b", vec(8), vec(7)}},
			nodes: 4, chunk: vec(3),
		},
		{
			name:  "no slot",
			nodes: 1, chunk: vec(0),
		},
		{
			name:  "a chunk of nothing",
			slots: []hand{{"a", vec(8), vec(8)}, {"b", vec(8), nil}},
			nodes: 3, chunk: vec(0),
			byRank: place(0, 3), pack: place(0, 3), spread: place(1, 2, 0, 1),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for rule, want := range map[profile.Rule]profile.Placement{
				profile.ByRank: tt.byRank, profile.Pack: tt.pack,
				profile.Spread: tt.spread,
			} {
				p, all := newPool(rule, tt.slots)
				all.Rank = tt.rank
				r := profile.Request{Chunk: tt.chunk, Nodes: tt.nodes, Duration: 10, Candidates: all}
				at, ok := p.Place(r, 0)
				require.Equal(t, want != nil, ok, rule)
				require.Equal(t, want, at, rule)
				if ok {
					require.NoError(t, p.Misfit(r, at, 0))
					require.Equal(t, tt.nodes, at.Count())
				}
				start, at, ok := p.EarliestFit(r, 0)
				if want != nil {
					require.True(t, ok)
					require.Zero(t, start)
					require.Equal(t, want, at)
				}
			}
		})
	}
}

// TestPlacementLooksAhead checks that the remainder is computed from the least that is free during
// the whole of the request, not from what is free at its start.
func TestPlacementLooksAhead(t *testing.T) {
	p, all := newPool(profile.Pack, []hand{{"a", vec(8), vec(2)}, {"b", vec(8), nil}})
	p.Add(place(1, 1), vec(5), 9, 20)
	r := profile.Request{Chunk: vec(1), Nodes: 1, Duration: 9, Candidates: all}
	at, ok := p.Place(r, 0) // the request ends when the span on b begins
	require.True(t, ok)
	require.Equal(t, place(0, 1), at)
	r.Duration = 10
	at, ok = p.Place(r, 0)
	require.True(t, ok)
	require.Equal(t, place(1, 1), at)
}

// TestOneComesAndOneGoes checks the search where, at the same instant 10, one slot becomes free and
// another is no longer free for the whole duration. Two chunks fit only at 50. A search that
// counted the new slot and did not yet discount the other would find 10.
func TestOneComesAndOneGoes(t *testing.T) {
	for _, comes := range []int{0, 1, 2} {
		for _, goes := range []int{0, 1, 2} {
			if comes == goes {
				continue
			}
			p, all := newPool(profile.Pack, []hand{{"a", vec(1), nil}, {"b", vec(1), nil}, {"c", vec(1), nil}})
			profile.AskMany(p, 2, 12)
			p.Add(place(comes, 1), vec(1), 0, 10)
			p.Add(place(goes, 1), vec(1), 14, 50)
			p.Add(place(3-comes-goes, 1), vec(1), 0, 1000)
			start, _, ok := p.EarliestFit(profile.Request{Chunk: vec(1), Nodes: 2, Duration: 5, Candidates: all}, 0)
			require.True(t, ok)
			require.EqualValues(t, 50, start)
		}
	}
}

func TestParseRule(t *testing.T) {
	for _, rule := range []profile.Rule{profile.ByRank, profile.Pack, profile.Spread} {
		parsed, err := profile.ParseRule(rule.String())
		require.NoError(t, err)
		require.Equal(t, rule, parsed)
	}
	_, err := profile.ParseRule("random")
	require.EqualError(t, err, `unknown placement rule "random": choose one of rank, pack, spread`)
}

// TestNegativeRemaindersAreFractionsToo checks the choice between two overfull slots. They lack a
// resource that the job does not ask for: -3/100 of it on one, -1/2 on the other, which is less.
func TestNegativeRemaindersAreFractionsToo(t *testing.T) {
	p, all := newPool(profile.Pack, []hand{{"a", vec(8, 100), vec(0, 103)}, {"b", vec(8, 2), vec(0, 3)}})
	at, ok := p.Place(profile.Request{Chunk: vec(1, 0), Nodes: 1, Duration: 10, Candidates: all}, 0)
	require.True(t, ok)
	require.Equal(t, place(1, 1), at)
}
