package auto

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// TestUnder says which estimators a pool under auto has.
func TestUnder(t *testing.T) {
	for _, tt := range []struct{ chosen, want estimate.Settings }{
		{estimate.Settings{}, estimate.Settings{Order: "learned"}},
		{estimate.Settings{Backfill: "user"}, estimate.Settings{Order: "learned", Backfill: "user"}},
		{estimate.Settings{All: "requested"}, estimate.Settings{All: "requested"}},
		{estimate.Settings{Order: "combined"}, estimate.Settings{Order: "combined"}},
	} {
		require.Equal(t, tt.want, Under(tt.chosen))
	}
}

// TestOrdersSeePredictions: in a play the order of a candidate sees the run times that are predicted for
// it, of jobs that wait and of jobs that come again.
func TestOrdersSeePredictions(t *testing.T) {
	c, err := New(map[string]string{"portfolio": "slack:sjf easy:sjf"}, 1, nil)
	require.NoError(t, err)
	set, err := estimate.New(Under(estimate.Settings{}), estimate.NewHistory(0), false, false, nil)
	require.NoError(t, err)
	r := busyWith(t, c, set, 10, 60)
	var mu sync.Mutex
	seen := map[backfill.JobID]backfill.Time{}
	for i := range c.candidates {
		c.candidates[i].Order = negotiator.OrderBy(func(j *backfill.Job, _ backfill.Moment) (float64, backfill.Moves) {
			mu.Lock()
			defer mu.Unlock()
			seen[j.ID] = j.Estimate
			return float64(j.Estimate), backfill.Moves{}
		})
	}
	f := c.record.future(r)
	require.NotEmpty(t, f.Arrivals)
	_, _, err = Play(t.Context(), f, c.candidates, 1)
	require.NoError(t, err)
	others := 0
	check := func(id backfill.JobID, uses estimate.Uses, requested backfill.Time) {
		require.Equal(t, uses.Order, seen[id], "job %d", id)
		if uses.Order != requested {
			others++
		}
	}
	for _, j := range r.State.FirstWaiting(r.State.Waiting()) {
		check(j.ID, r.Predicted(j.ID), j.Estimate)
	}
	require.Greater(t, others, 10)
	others = 0
	for i, a := range c.record.arrived {
		check(firstAgain+backfill.JobID(i), a.Uses, a.Requested)
	}
	require.Greater(t, others, 10)
}
