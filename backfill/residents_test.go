package backfill_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestSlotsGoOneAfterTheOther checks that a job that gets another place between two events of a round is
// found on it: the second event voids that place, too, and a job that has ended since is nowhere.
func TestSlotsGoOneAfterTheOther(t *testing.T) {
	s := newState(t, cpus(4), cpus(4), cpus(4), cpus(4))
	planned, running, other := job(1, 0, 10, 4), job(2, 0, 20, 4), job(3, 0, 30, 4)
	accept(t, s, backfill.Round{Events: submitted(planned, running, other)}, func(c *backfill.Cycle) {
		c.Start(running, on(0, 1))
		c.Start(other, on(1, 1))
		c.Reserve(planned, 20, on(0, 1))
	})
	lost := func(id int) backfill.Event {
		return backfill.Event{Kind: backfill.SlotLost, Slot: slot(id, cpus(4))}
	}
	c, err := s.Open(backfill.Round{
		Now: 1, Events: []backfill.Event{{Kind: backfill.Completed, JobID: 3}, lost(0), lost(1), lost(2)},
	})
	require.NoError(t, err)
	for k, want := range [][]*backfill.Job{nil, {running, planned}, {planned}, {running}} {
		e, more := c.Next()
		require.True(t, more)
		require.Equal(t, want, e.Displaced, k)
		if k == 1 {
			c.Reserve(running, 5, on(2, 1))
			c.Reserve(planned, 5, on(1, 1))
		}
	}
	_, err = c.Close()
	require.NoError(t, err)
}
