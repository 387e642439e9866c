package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// A copy of the state in another process relies on the properties of the core that this file tests.

func TestARoundThatWasRolledBackLeavesNoCandidates(t *testing.T) {
	s := newPool()
	c, err := s.Open(backfill.Round{Candidates: []backfill.CandidateSet{{ID: 0}}})
	require.NoError(t, err)
	c.Rollback()
	require.NotPanics(t, func() { s.Snapshot() })
}

func TestAJobIsNotHeldWithoutAReason(t *testing.T) {
	s := newPool()
	j := &backfill.Job{ID: 1, Nodes: 1, Request: backfill.Vector{1, 1}, Estimate: 1}
	c, err := s.Open(backfill.Round{
		Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}}},
		Events: []backfill.Event{{
			Kind: backfill.SlotAdded,
			Slot: backfill.Slot{Name: "a", Capacity: backfill.Vector{1, 1}},
		}, {Kind: backfill.Submitted, Job: j}},
	})
	require.NoError(t, err)
	c.Next()
	c.Next()
	c.Hold(j, "")
	_, err = c.Close()
	require.ErrorContains(t, err, "no reason")
}

func TestARenamedSlotIsPlacedByItsNewName(t *testing.T) {
	s := newPool()
	open := func(now backfill.Time, events ...backfill.Event) {
		c, err := s.Open(backfill.Round{Now: now, Events: events})
		require.NoError(t, err)
		_, err = c.Close()
		require.NoError(t, err)
	}
	v := backfill.Vector{4, 4}
	open(0, backfill.Event{Kind: backfill.SlotAdded, Slot: backfill.Slot{ID: 0, Name: "a", Capacity: v}},
		backfill.Event{Kind: backfill.SlotAdded, Slot: backfill.Slot{ID: 1, Name: "b", Capacity: v}})
	open(1, backfill.Event{Kind: backfill.SlotChanged, Slot: backfill.Slot{ID: 0, Name: "c", Capacity: v}})
	restored, err := backfill.Restore(s.Snapshot())
	require.NoError(t, err)
	place := func(s *backfill.State) (at backfill.Placement) {
		c, err := s.Open(backfill.Round{
			Now:        2,
			Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0, 1}}}},
		})
		require.NoError(t, err)
		at, _ = c.FitsNow(&backfill.Job{ID: 1, Nodes: 1, Request: backfill.Vector{1, 1}, Estimate: 1})
		return at
	}
	require.Equal(t, place(s), place(restored))
}

func TestEverySlotHasARank(t *testing.T) {
	s := newPool()
	_, err := s.Open(backfill.Round{Candidates: []backfill.CandidateSet{{
		Candidates: backfill.Candidates{Slots: []backfill.SlotID{0, 1}, Rank: []int32{1}},
	}}})
	require.Error(t, err)
}

func TestARoundThatWasRolledBackLeavesNoSlot(t *testing.T) {
	s := newPool()
	c, err := s.Open(backfill.Round{Events: []backfill.Event{{
		Kind: backfill.SlotAdded,
		Slot: backfill.Slot{Name: "a", Capacity: backfill.Vector{1, 1}},
	}}})
	require.NoError(t, err)
	c.Next()
	c.Rollback()
	require.Empty(t, s.Slots())
}
