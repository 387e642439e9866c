package ahead_test

import (
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
	closed := func(now backfill.Time, slots ...backfill.SlotID) backfill.Round {
		return backfill.Round{Now: now, Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: slots}}}}
	}
	for _, tt := range []struct {
		later []backfill.Round
		want  map[backfill.JobID]backfill.Time
	}{
		{nil, map[backfill.JobID]backfill.Time{1: 10, 2: 15}},
		{[]backfill.Round{closed(10), closed(17, 0)}, map[backfill.JobID]backfill.Time{1: 17, 2: 22}},
		{[]backfill.Round{closed(12), closed(40, 0)}, map[backfill.JobID]backfill.Time{1: 10, 2: 40}},
		{[]backfill.Round{closed(3), closed(4, 0)}, map[backfill.JobID]backfill.Time{1: 10, 2: 15}},
		{[]backfill.Round{closed(12)}, map[backfill.JobID]backfill.Time{1: 10}},
	} {
		from := ahead.Start{State: s.Clone(), End: p.end, Later: tt.later}
		require.Equal(t, tt.want, starts(t, r, from, ahead.Bounds{}), "%v", tt.later)
	}
}
