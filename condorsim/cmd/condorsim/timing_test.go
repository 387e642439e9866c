package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies/fcfs"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/condorsim/output/report"
)

func TestDecisionsAreTimed(t *testing.T) {
	t.Parallel()
	main, err := backfill.Link(fcfs.Spec(), nil)
	require.NoError(t, err)
	now, step := time.Unix(0, 0), 200*time.Second
	decider := &timed{Decider: main, clock: func() time.Time { // each decision takes a second less than the one before
		now = now.Add(step)
		step -= 500 * time.Millisecond
		return now
	}}
	require.Equal(t, &report.Timing{WallSeconds: 7}, decider.summary(7*time.Second), "nothing was decided")
	for range 200 {
		c, err := backfill.NewState([]string{"cpus"}, profile.Pack).Open(backfill.Round{})
		require.NoError(t, err)
		require.NoError(t, decider.Decide(t.Context(), c))
	}
	require.Equal(t, &report.Timing{WallSeconds: 7, Decisions: 200, MedianSeconds: 99.5, P99Seconds: 197.5},
		decider.summary(7*time.Second))
	require.Equal(t, &report.Timing{WallSeconds: 7}, (*timed)(nil).summary(7*time.Second), "none were timed")
}
