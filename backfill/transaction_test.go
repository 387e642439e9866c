package backfill_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

const openElsewhere = "a cycle is open on the state"

// TestOneOpenCycle checks that no second cycle can be opened on a state while one is open, and that
// one can be opened after the first has ended, in whichever way.
func TestOneOpenCycle(t *testing.T) {
	ends := map[string]func(*testing.T, *backfill.Transaction){
		"accepted": func(t *testing.T, tx *backfill.Transaction) {
			t.Helper()
			_, err := tx.Close()
			require.NoError(t, err)
		},
		"refused": func(t *testing.T, tx *backfill.Transaction) {
			t.Helper()
			tx.Wake(-1)
			_, err := tx.Close()
			require.ErrorContains(t, err, "wake at -1")
		},
		"rolled back": func(_ *testing.T, tx *backfill.Transaction) { tx.Rollback() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			s := newState(t, cpus(4))
			tx, err := s.Open(backfill.Round{Events: submitted(job(1, 0, 10, 2))})
			require.NoError(t, err)
			_, err = s.Open(backfill.Round{})
			require.ErrorContains(t, err, openElsewhere)
			drain(tx.Cycle)
			require.Equal(t, 1, s.Waiting(), "the open cycle goes on")
			end(t, tx)
			next, err := s.Open(backfill.Round{Now: 1})
			require.NoError(t, err)
			next.Rollback()
		})
	}
}

// TestRefusedRoundLeavesNothingOpen checks that a cycle can be opened after an invalid round.
func TestRefusedRoundLeavesNothingOpen(t *testing.T) {
	s := newState(t, cpus(4))
	_, err := s.Open(backfill.Round{Events: []backfill.Event{jobEvent(backfill.Completed, 99)}})
	require.Error(t, err)
	_, err = s.Open(backfill.Round{})
	require.NoError(t, err)
}

// TestCloneOpensItsOwnCycle checks that cycles can be open on a state and on its clones at the same
// time, also on a clone that was made while the state's cycle was open.
func TestCloneOpensItsOwnCycle(t *testing.T) {
	s := newState(t, cpus(4))
	before := s.Clone()
	tx, err := s.Open(backfill.Round{})
	require.NoError(t, err)
	for _, clone := range []*backfill.State{before, tx.State().Clone()} {
		other, failed := clone.Open(backfill.Round{})
		require.NoError(t, failed)
		_, err = clone.Open(backfill.Round{})
		require.ErrorContains(t, err, openElsewhere)
		_, err = other.Close()
		require.NoError(t, err)
		require.Equal(t, s.Revision()+1, clone.Revision())
	}
	_, err = s.Open(backfill.Round{})
	require.ErrorContains(t, err, openElsewhere, "the clones' cycles are not its own")
	tx.Rollback()
}

// TestCycleEndsOnce checks that rolling back or closing an accepted cycle changes nothing, and that
// Close then says that the cycle is over.
func TestCycleEndsOnce(t *testing.T) {
	s := newState(t, cpus(4))
	tx, err := s.Open(backfill.Round{Now: 2, Events: submitted(job(1, 0, 10, 2))})
	require.NoError(t, err)
	_, err = tx.Close()
	require.NoError(t, err)
	tx.Rollback()
	_, err = tx.Close()
	require.EqualError(t, err, "the cycle is over")
	require.EqualValues(t, 2, s.Now())
	require.Equal(t, 1, s.Waiting())
}
