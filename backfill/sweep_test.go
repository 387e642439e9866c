package backfill_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// fittingIDs lists the jobs that fit now, as [backfill.Fast.Fitting] says.
func fittingIDs(c *backfill.Cycle) []backfill.JobID {
	var found []backfill.JobID
	for j := range c.Fast().Fitting(nil) {
		found = append(found, j.ID)
	}
	return found
}

// TestASweepThatIsTakenBack checks that a round which found that nothing fits, and was rolled back,
// says nothing of an earlier instant, at which a job may fit before a reservation.
func TestASweepThatIsTakenBack(t *testing.T) {
	s := newState(t, cpus(1), cpus(1))
	accept(t, s, backfill.Round{Events: submitted(gang(1, 0, 9, 2, 1), job(2, 0, 5, 1))}, func(c *backfill.Cycle) {
		c.Reserve(gang(1, 0, 9, 2, 1), 8, on(0, 1, 1, 1))
	})
	late, err := s.Open(backfill.Round{Now: 5})
	require.NoError(t, err)
	require.Empty(t, fittingIDs(late.Cycle))
	late.Rollback()
	early, err := s.Open(backfill.Round{Now: 2})
	require.NoError(t, err)
	require.Equal(t, []backfill.JobID{2}, fittingIDs(early.Cycle))
	early.Rollback()
}

// TestAReservationLostWithANewKey checks that a job which loses its reservation and changes its
// place in the queue at once may fit anywhere, not only where it was to run.
func TestAReservationLostWithANewKey(t *testing.T) {
	s := newState(t, cpus(2), cpus(2))
	planned := job(1, 0, 5, 1)
	accept(t, s, backfill.Round{Events: submitted(planned)}, func(c *backfill.Cycle) {
		c.Reserve(planned, 3, on(1, 1))
		require.Empty(t, fittingIDs(c))
	})
	c, err := s.Open(backfill.Round{Now: 1, Events: []backfill.Event{{Kind: backfill.Changed, Job: planned, Key: 7}}})
	require.NoError(t, err)
	drain(c.Cycle)
	want, _ := c.FitsNow(planned)
	for j, at := range c.Fast().Fitting(nil) {
		require.Equal(t, planned, j)
		require.Equal(t, want, at)
	}
	c.Rollback()
}
