package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// TestShutdownThreshold: it may be an expression over our own ad. What is no number above 0 is none.
func TestShutdownThreshold(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "600": 10 * time.Minute, "10 * 60": 10 * time.Minute, "-1": 0, "1.0e30": (1<<31 - 1) * time.Second,
		"soon": 0, "soon +": 0, "2 * size(Name) + 0.5": 8 * time.Second, "LastNegotiationCycleDuration0 + 5": 0,
		"isUndefined(LastNegotiationCycleDuration0) ? 7 : 5": 7 * time.Second,
	} {
		o := newWorld().options("easy")
		o.ShutdownExpr = text
		require.Equal(t, want, New(o).poolTuning().ShutdownThreshold, text)
	}
}

// TestShutdownThresholdFollowsTheAd: each look takes place with what the ad says after the last cycle.
func TestShutdownThresholdFollowsTheAd(t *testing.T) {
	w := newWorld()
	o := w.options("easy")
	o.ShutdownExpr = "isUndefined(BackfillCycles) ? 7 : 100 + BackfillCycles"
	threshold := locked(w, func() time.Duration { return w.tuning.ShutdownThreshold })
	d, end := run(t, o)
	w.deltas <- w.begin()
	poll.Equal(t, 101*time.Second, threshold)
	w.deltas <- negotiator.Delta{Now: 1001}
	poll.Equal(t, 102*time.Second, threshold)
	o.ShutdownExpr = "3"
	d.Configure(o.Tuning)
	poll.Equal(t, 3*time.Second, threshold)
	require.NoError(t, end())
}
