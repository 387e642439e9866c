package profile_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// TestPlaceOnManyAlikeSlots checks that requests get the same slots as if all were listed and
// sorted, on pools of many slots that are of few kinds, with and without reaches.
func TestPlaceOnManyAlikeSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(low, high int64, label string) int64 { return rapid.Int64Range(low, high).Draw(t, label) }
		rule := rapid.SampledFrom([]profile.Rule{profile.ByRank, profile.Pack, profile.Spread}).Draw(t, "rule")
		p, m := profile.New(rule), &model{rule: rule}
		if rapid.Bool().Draw(t, "by reach") {
			profile.AskMany(p, 2, 1000)
		}
		kinds := []profile.Vector{vec(4, 0), vec(8, 2), vec(4, 8)}[:number(1, 3, "kinds")]
		var all profile.Candidates
		slots := int(number(2, 40, "slots"))
		for i := range slots {
			capacity := kinds[number(0, int64(len(kinds)-1), "kind")]
			p.SetSlot(profile.SlotID(i), fmt.Sprintf("%02d", i), capacity)
			m.setSlot(i, capacity)
			all.Slots = append(all.Slots, profile.SlotID(i))
		}
		if rapid.Bool().Draw(t, "ranked") {
			for range slots {
				all.Rank = append(all.Rank, int32(number(0, 1, "rank")))
			}
		}
		for range number(0, 60, "spans") {
			r := profile.Request{
				Chunk: vec(number(1, 2, "cpus"), number(0, 1, "gpus")), Nodes: int(number(1, 60, "nodes")),
				Duration: profile.Time(number(1, 20, "duration")), Candidates: &all,
			}
			from := profile.Time(number(0, 20, "from"))
			at, ok := p.Place(r, from)
			want := m.place(r, from)
			require.Equal(t, want != nil, ok)
			require.Equal(t, want, at)
			start, fits := p.EarliestAhead(r, profile.Forever, from, horizon)
			first, wants := m.earliest(r, from, horizon, profile.Forever)
			if require.Equal(t, wants, fits); fits {
				require.Equal(t, first, start)
			}
			if ok {
				p.Add(at, r.Chunk, from, from+r.Duration)
				m.shift(span{at, r.Chunk, from, from + r.Duration}, -1)
			}
		}
	})
}
