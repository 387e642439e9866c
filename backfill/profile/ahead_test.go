package profile_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// TestEarliestAhead checks, on a pool of one slot, that EarliestAhead finds for a request that is
// in the profile what EarliestFitBefore finds if the request is not in it, and that it finds
// nothing once the slot is dropped.
func TestEarliestAhead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, all := drawSlot(t)
		r := profile.Request{
			Chunk: drawVector(t, 4), Nodes: rapid.IntRange(1, 2).Draw(t, "nodes"),
			Duration: profile.Time(rapid.IntRange(1, 15).Draw(t, "duration")), Candidates: all,
		}
		start, at, ok := p.EarliestFit(r, profile.Time(rapid.IntRange(0, 40).Draw(t, "not before")))
		require.True(t, ok)
		from := profile.Time(rapid.IntRange(0, int(start)).Draw(t, "from"))
		limit := profile.Time(rapid.IntRange(0, int(start)).Draw(t, "limit"))
		want, _, wantOK := p.EarliestFitBefore(r, from, limit) // the request is not in the profile yet
		p.Add(at, r.Chunk, start, start+r.Duration)
		got, gotOK := p.EarliestAhead(r, start, from, limit)
		require.Equal(t, wantOK, gotOK)
		if wantOK {
			require.Equal(t, want, got)
		}
		p.DropSlot(0)
		_, gotOK = p.EarliestAhead(r, start, from, limit)
		require.False(t, gotOK)
	})
}

// drawSlot draws a profile of one slot with up to 12 spans; the slot is the only candidate.
func drawSlot(t *rapid.T) (*profile.Profile, *profile.Candidates) {
	p := profile.New(profile.ByRank)
	p.SetSlot(0, "a", profile.Vector{8, 8})
	for range rapid.IntRange(0, 12).Draw(t, "spans") {
		start := profile.Time(rapid.IntRange(0, 40).Draw(t, "start"))
		p.Add(profile.Placement{{Slot: 0, Count: 1}}, drawVector(t, 5), start,
			start+profile.Time(rapid.IntRange(1, 20).Draw(t, "length")))
	}
	return p, &profile.Candidates{Slots: []profile.SlotID{0}}
}

func drawVector(t *rapid.T, most int64) profile.Vector {
	return profile.Vector{rapid.Int64Range(0, most).Draw(t, "cpus"), rapid.Int64Range(0, most).Draw(t, "memory")}
}
