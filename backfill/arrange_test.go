package backfill_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestReplacedWithoutRelease: a policy may move a reservation to another slot without giving it up before.
func TestReplacedWithoutRelease(t *testing.T) {
	s := backfill.NewState([]string{"cpus"}, 0)
	r := backfill.Round{Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0, 1}}}}}
	for id, name := range []string{"a", "b"} {
		slot := backfill.Slot{ID: backfill.SlotID(id), Name: name, Capacity: backfill.Vector{4}}
		r.Events = append(r.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: slot})
	}
	one := job(1, 0, 10, 2)
	r.Events = append(r.Events, submitted(one)...)
	decide := func(r backfill.Round, at backfill.Placement) backfill.Decision {
		c, err := s.Open(r)
		require.NoError(t, err)
		for more := true; more; {
			_, more = c.Next()
		}
		c.Reserve(one, 5, at)
		d, err := c.Close()
		require.NoError(t, err)
		return d
	}
	require.Empty(t, decide(r, on(0, 1)).Replaced)
	d := decide(backfill.Round{Now: 1}, on(1, 1))
	require.Equal(t, []backfill.Moved{{Job: one, Start: 5, At: on(1, 1), From: on(0, 1)}}, d.Replaced)
}

// TestMovedTogether: of two rounds of one instant, each reservation is listed once, from where it was before
// both, and only if it has other slots after both.
func TestMovedTogether(t *testing.T) {
	move := func(id backfill.JobID, start backfill.Time, from, at int) backfill.Moved {
		return backfill.Moved{Job: job(id, 0, 10, 1), Start: start, From: on(from, 1), At: on(at, 1)}
	}
	first := &backfill.Decision{Replaced: []backfill.Moved{move(1, 5, 0, 1), move(2, 6, 0, 1), move(3, 7, 0, 1), move(4, 9, 0, 1)}}
	second := &backfill.Decision{
		Replaced: []backfill.Moved{move(5, 4, 0, 1), move(1, 5, 1, 0), move(2, 6, 1, 2)},
		Started:  []backfill.Started{{Job: job(3, 0, 10, 1)}},
	}
	want := []backfill.Moved{move(5, 4, 0, 1), move(2, 6, 0, 2), move(4, 9, 0, 1)}
	require.Equal(t, want, backfill.MovedTogether(first, second))
	require.Equal(t, second.Replaced, backfill.MovedTogether(&backfill.Decision{}, second))
}
