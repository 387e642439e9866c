package profile_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// TestRoom compares what a slot offers with a look at every instant.
func TestRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := profile.New(profile.ByRank)
		p.SetSlot(0, "slot", profile.Vector{4, 4})
		p.Forget(0)
		const last = 40
		instant := rapid.IntRange(0, last)
		for range rapid.IntRange(0, 8).Draw(t, "jobs") {
			from := instant.Draw(t, "start")
			amount := rapid.Int64Range(0, 3)
			chunk := profile.Vector{amount.Draw(t, "cpus"), amount.Draw(t, "memory")}
			end := from + instant.Draw(t, "lasts")
			p.Add(profile.Placement{{Slot: 0, Count: 1}}, chunk, profile.Time(from), profile.Time(end))
		}
		chunk := profile.Vector{int64(rapid.IntRange(0, 4).Draw(t, "chunk's cpus")), 2}
		from := profile.Time(instant.Draw(t, "from"))
		to := from + 1 + profile.Time(instant.Draw(t, "span"))
		want := profile.NoRoom
		for at := profile.Time(0); at < to && at <= 2*last; at++ {
			if !p.Fits(profile.Request{
				Chunk: chunk, Nodes: 1, Duration: 1, Candidates: &profile.Candidates{Slots: []profile.SlotID{0}},
			}, profile.Placement{{Slot: 0, Count: 1}}, at) {
				continue
			}
			opens, shuts := at, p.FreeUntil(0, chunk, at)
			switch at = shuts; {
			case shuts == profile.Forever:
				want.Endless = opens
			case shuts > from:
				want.Opens = min(want.Opens, opens)
				want.Lasts, want.Shuts = max(want.Lasts, shuts-opens), max(want.Shuts, shuts)
			}
		}
		require.Equal(t, want, profile.RoomOn(&p.View, 0, chunk, from, to))
	})
}

// TestRoomOfManyStretches: more than a few stretches are not looked at one by one.
func TestRoomOfManyStretches(t *testing.T) {
	p := profile.New(profile.ByRank)
	p.SetSlot(0, "slot", profile.Vector{1})
	p.Forget(0)
	for at := profile.Time(1); at < 100; at += 2 {
		p.Add(profile.Placement{{Slot: 0, Count: 1}}, profile.Vector{1}, at, at+1)
	}
	all := profile.Room{Opens: profile.Forever, Endless: -profile.Forever}
	require.Equal(t, all, profile.RoomOn(&p.View, 0, profile.Vector{1}, 0, 200))
	want := profile.Room{Opens: 2, Lasts: 1, Shuts: 5, Endless: profile.Forever}
	require.Equal(t, want, profile.RoomOn(&p.View, 0, profile.Vector{1}, 2, 5))
	p.DropSlot(0)
	require.Equal(t, all, profile.RoomOn(&p.View, 0, profile.Vector{1}, 2, 5), "it may come back")
}
