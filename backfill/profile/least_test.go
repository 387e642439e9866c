package profile_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// begin is what a job needs on a slot beside its chunks when it begins.
type begin struct {
	slot  profile.SlotID
	at    profile.Time
	spare profile.Vector
}

// most returns the most of each resource that one of those needs who begin on a slot at an instant.
func (m *model) most(id profile.SlotID, at profile.Time) profile.Vector {
	most := make(profile.Vector, len(m.capacity[id]))
	for _, b := range m.begins {
		if b.slot == id && b.at == at {
			for k, n := range b.spare {
				most[k] = max(most[k], n)
			}
		}
	}
	return most
}

func (m *model) lead(b begin) {
	m.changeLeads(b, func() { m.begins = append(m.begins, b) })
}

func (m *model) leadNoMore(i int) {
	m.changeLeads(m.begins[i], func() { m.begins = slices.Delete(m.begins, i, i+1) })
}

func (m *model) changeLeads(b begin, change func()) {
	m.free[b.slot][b.at].AddScaled(m.most(b.slot, b.at), 1)
	change()
	m.free[b.slot][b.at].AddScaled(m.most(b.slot, b.at), -1)
}

// enough reports whether n chunks can begin on a slot one after another: each finds at least what it
// needs beside those that began before it, and so do all others who begin in that second.
func (m *model) enough(id profile.SlotID, r profile.Request, n int, start profile.Time) bool {
	for i, slot := range r.Candidates.Slots {
		if slot != id || r.Candidates.Least == nil || r.Candidates.Least[i] == nil {
			continue
		}
		most := m.most(id, start)
		for k, least := range r.Candidates.Least[i] {
			left := m.free[id][min(start, horizon)][k] + most[k] - int64(n)*r.Chunk[k] // when all have begun
			if least > r.Chunk[k] && left < max(most[k], least-r.Chunk[k]) {
				return false
			}
		}
	}
	return true
}

// drawLeast draws what must be free on n candidates, nil for about half of the lists and a third of
// the entries.
func drawLeast(t *rapid.T, n, resources int) []profile.Vector {
	if n == 0 || rapid.Bool().Draw(t, "nothing more") {
		return nil
	}
	all := make([]profile.Vector, n)
	for i := range all {
		if rapid.IntRange(0, 2).Draw(t, "more") > 0 {
			all[i] = rapid.SliceOfN(rapid.Int64Range(0, 8), resources, resources).Draw(t, "least")
		}
	}
	return all
}

// TestLeast says in numbers what a slot of 8 cpus gives to jobs of 2 that begin only while 6 are free.
func TestLeast(t *testing.T) {
	p := profile.New(profile.ByRank)
	p.SetSlot(0, "a", profile.Vector{8})
	set := &profile.Candidates{Slots: []profile.SlotID{0}, Least: []profile.Vector{{6}}}
	r := profile.Request{Chunk: profile.Vector{2}, Nodes: 1, Duration: 10, Candidates: set}
	require.Equal(t, profile.Vector{4}, r.Spare(0))
	for n := range 2 {
		start, at, ok := p.EarliestFit(r, 0)
		require.True(t, ok, n)
		require.Zero(t, start)
		p.Add(at, r.Chunk, start, start+r.Duration)
	}
	require.ErrorContains(t, p.Misfit(r, profile.Placement{{Slot: 0, Count: 1}}, 0), "only while at least [6] is free")
	start, _, ok := p.EarliestFit(r, 0)
	require.True(t, ok)
	require.Equal(t, profile.Time(10), start)

	r.Nodes = 2 // the second of two finds 6 of 8 free, a third would find 4
	require.True(t, p.EverFits(r))
	r.Nodes = 3
	require.False(t, p.EverFits(r))
}

func TestLeastIsOneAmountOfEachResource(t *testing.T) {
	set := &profile.Candidates{Slots: []profile.SlotID{0, 1}, Least: []profile.Vector{{6, 0}, nil}}
	require.NoError(t, set.ValidateLeast(2))
	require.ErrorContains(t, set.ValidateLeast(1), "2 resources")
	set.Least[1] = profile.Vector{0, -1}
	require.ErrorContains(t, set.ValidateLeast(2), "negative")
	set.Least = set.Least[:1]
	require.ErrorContains(t, set.ValidateLeast(2), "1 vectors")
}
