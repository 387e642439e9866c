package negotiator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// TestCorrections: what is expected of a job that has outlived what was predicted is the same
// whether the time comes or the pool reports since when it really runs, and another set of
// estimators changes it.
func TestCorrections(t *testing.T) {
	settings := func(correct string) estimate.Settings {
		return estimate.Settings{All: "accurate", Options: map[string]string{"correct": correct}}
	}
	for correct, after := range map[string]backfill.Time{"double": 6, "request": 500, "tsafrir": 63} {
		n := predicting(t, "easy", "fcfs", settings(correct), map[backfill.JobID]backfill.Time{1: 3})
		job := newJob(t, 1, 1, "")
		job.Estimate = 500
		cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 1, "")}, Submitted: []*Job{job}})
		require.EqualValues(t, 3, standing(t, n, 1).End)
		cycle(t, n, Delta{Now: 3})
		require.Equal(t, after, standing(t, n, 1).End, correct)
		cycle(t, n, Delta{Now: 4, Ends: []End{{Job: 1, At: 501}}})
		require.Equal(t, 1+after, standing(t, n, 1).End, correct)
		cycle(t, n, Delta{Now: 5, Ends: []End{{Job: 1, At: 504}}})
		require.EqualValues(t, 7, standing(t, n, 1).End, "it has not run for that long")

		require.NoError(t, n.Change(change(t, "easy", "fcfs", settings("request"))))
		cycle(t, n, Delta{Now: 8, Ends: []End{{Job: 1, At: 500}}})
		require.EqualValues(t, 500, standing(t, n, 1).End)
	}
}
