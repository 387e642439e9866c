package backfill_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// ending is a context that ends after it was looked at so often.
type ending struct {
	context.Context
	looks int
}

var errEnding = errors.New("out of time")

func (e *ending) Err() error {
	if e.looks--; e.looks < 0 {
		return errEnding
	}
	return nil
}

// A journal may be long, and its actions wide: a replay ends with its context, wherever it is, and
// what it did so far can be taken back whole.
func TestAReplayEndsWithItsContext(t *testing.T) {
	s := newState(t, cpus(4), cpus(4), cpus(4))
	accept(t, s, backfill.Round{Events: submitted(gang(1, 0, 10, 3, 1), gang(2, 0, 10, 2, 1))},
		func(c *backfill.Cycle) {
			drain(c)
			c.Reserve(&backfill.Job{ID: 2}, 5, on(0, 1, 1, 1))
		})
	round := backfill.Round{Now: 1, Events: submitted(job(3, 1, 10, 1), job(4, 1, 10, 1))}
	var journal []backfill.Action
	for i := range 6 {
		at := backfill.Time(100 + 50*i)
		journal = append(journal,
			backfill.Action{Kind: backfill.ActReserve, Job: 1, At: at, Placement: on(0, 1, 1, 1, 2, 1)},
			backfill.Action{Kind: backfill.ActReserve, Job: 2, At: at, Placement: on(1, 1, 2, 1)})
	}
	for i := range journal[6:] {
		journal[6+i].After = len(round.Events)
	}
	before := factsOf(s, round.Now)
	for looks := 0; ; looks++ {
		require.Less(t, looks, 100)
		tx, err := s.Open(round)
		require.NoError(t, err)
		err = tx.Replay(&ending{t.Context(), looks}, journal)
		if err == nil {
			require.GreaterOrEqual(t, looks, len(journal), "it looks before each action")
			tx.Rollback()
			return
		}
		require.ErrorIs(t, err, errEnding)
		require.ErrorContains(t, err, "of 12 actions")
		if looks%2 == 0 {
			tx.Rollback()
		} else {
			_, err = tx.Close()
			require.ErrorIs(t, err, errEnding, "what is half replayed is no decision")
		}
		require.Equal(t, before, factsOf(s, round.Now), "after %d looks", looks)
	}
}
