package backfill_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// taking returns a job of one cpu that takes an amount of row 0.
func taking(id backfill.JobID, estimate backfill.Time, amount int64) *backfill.Job {
	j := job(id, 0, estimate, 1)
	j.Takes = []backfill.Take{{Amount: amount}}
	return j
}

// licences returns a round at an instant from which on row 0 has a height.
func licences(now backfill.Time, height int64, events ...backfill.Event) backfill.Round {
	return backfill.Round{Now: now, Rows: []backfill.Row{{Name: "licences", Height: height}}, Events: events}
}

// TestActionsBeyondALimit checks that the core refuses a start, and a reservation, for which a row has no
// room.
func TestActionsBeyondALimit(t *testing.T) {
	for _, tt := range []struct {
		act  func(*backfill.Cycle, *backfill.Job)
		want string
	}{
		{
			func(c *backfill.Cycle, j *backfill.Job) { c.Start(j, on(0, 1)) },
			"start job 2: at 1: 2 of limit licences are not free during [1, 51): it is 3, and 1 are free",
		},
		{
			func(c *backfill.Cycle, j *backfill.Job) { c.Reserve(j, 9, on(0, 1)) },
			"reserve for job 2: at 9: 2 of limit licences are not free during [9, 59): it is 3, and 1 are free",
		},
		{func(c *backfill.Cycle, j *backfill.Job) { c.Reserve(j, 10, on(0, 1)) }, ""},
	} {
		s := newState(t, cpus(4))
		all := opening(0, nil)
		all.Candidates[0].Candidates.Windows = nil
		all.Rows = licences(0, 3).Rows
		all.Events = submitted(taking(1, 10, 2))
		accept(t, s, all, func(c *backfill.Cycle) { c.Start(s.Job(1), on(0, 1)) })
		r := backfill.Round{Now: 1, Events: submitted(taking(2, 50, 2))}
		_, err := attempt(t, s, r, func(c *backfill.Cycle) { tt.act(c, s.Job(2)) })
		if tt.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, tt.want)
	}
}

// TestRowsThatMakeNoSense checks which rows, and which takes, a round is refused for.
func TestRowsThatMakeNoSense(t *testing.T) {
	takes := func(takes ...backfill.Take) backfill.Round {
		j := job(1, 0, 10, 1)
		j.Takes = takes
		return licences(0, 3, submitted(j)...)
	}
	for _, tt := range []struct {
		round backfill.Round
		want  string
	}{
		{takes(backfill.Take{Amount: 1}), ""},
		{licences(0, -1), "row licences has a height of -1"},
		{backfill.Round{Rows: []backfill.Row{{ID: 1}}}, "row 1: the next free ID is 0"},
		{takes(backfill.Take{Row: 1, Amount: 1}), "job 1 takes of an unknown row 1"},
		{takes(backfill.Take{Amount: 0}), "job 1 takes 0 of row 0: must be from 1 to "},
		{takes(backfill.Take{Amount: 1}, backfill.Take{Amount: 1}), "which is not in ascending order"},
	} {
		s := newState(t, cpus(4))
		accept(t, s, backfill.Round{Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{
			Slots: []backfill.SlotID{0},
		}}}}, nil)
		c, err := s.Open(tt.round)
		if err == nil {
			c.Rollback()
		}
		if tt.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, tt.want)
	}
}
