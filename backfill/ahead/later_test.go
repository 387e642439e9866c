package ahead_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
)

// TestAnEarliestStartIsPlayed: a job starts when it may, even if nothing else happens then.
func TestAnEarliestStartIsPlayed(t *testing.T) {
	p, r := one(10, 5, 5), rules(t, "easy", "fcfs")
	p.jobs[1].Release = 30
	from := ahead.Start{State: begun(t, p, r), End: p.end}
	require.Equal(t, map[backfill.JobID]backfill.Time{1: 30, 2: 10}, starts(t, r, from, ahead.Bounds{}))
}

// TestLater: what is to happen to slots at later instants happens then, together with what ends.
func TestLater(t *testing.T) {
	p, r := one(10, 5, 5), rules(t, "easy", "fcfs")
	s := begun(t, p, r)
	closed := func(now backfill.Time, slots ...backfill.SlotID) ahead.Later {
		return ahead.Later{Now: now, Make: func(context.Context) (backfill.Round, error) {
			return backfill.Round{
				Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: slots}}},
			}, nil
		}}
	}
	for _, tt := range []struct {
		later []ahead.Later
		want  map[backfill.JobID]backfill.Time
	}{
		{nil, map[backfill.JobID]backfill.Time{1: 10, 2: 15}},
		{[]ahead.Later{closed(10), closed(17, 0)}, map[backfill.JobID]backfill.Time{1: 17, 2: 22}},
		{[]ahead.Later{closed(12), closed(40, 0)}, map[backfill.JobID]backfill.Time{1: 10, 2: 40}},
		{[]ahead.Later{closed(3), closed(4, 0)}, map[backfill.JobID]backfill.Time{1: 10, 2: 15}},
		{[]ahead.Later{closed(12)}, map[backfill.JobID]backfill.Time{1: 10}},
	} {
		from := ahead.Start{State: s.Clone(), End: p.end, Later: tt.later}
		require.Equal(t, tt.want, starts(t, r, from, ahead.Bounds{}), "%v", tt.later)
	}
}

// TestLaterIsMadeWhenItComes: a round at a later instant is made then and not before, and its error
// ends the play.
func TestLaterIsMadeWhenItComes(t *testing.T) {
	p, r := one(10, 5, 5), rules(t, "easy", "fcfs")
	made, failed := 0, errors.New("it takes too long")
	from := ahead.Start{State: begun(t, p, r), End: p.end, Later: []ahead.Later{
		{Now: 12, Make: func(context.Context) (backfill.Round, error) { made++; return backfill.Round{}, nil }},
		{Now: 17, Make: func(context.Context) (backfill.Round, error) { return backfill.Round{}, failed }},
	}}
	play, err := r.Play(from)
	require.NoError(t, err)
	err = play.Until(t.Context(), ahead.Bounds{}, func(d *backfill.Decision) bool {
		require.Equal(t, d.Now >= 12, made == 1)
		return false
	})
	require.ErrorIs(t, err, failed)
	require.Equal(t, 1, made)
}
