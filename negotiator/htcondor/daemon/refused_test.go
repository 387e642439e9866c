package daemon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// contradiction is a delta that cannot be true.
var contradiction = negotiator.Delta{Now: 1001, Removed: []backfill.JobID{1, 1}}

// TestTheDaemonOutlivesContradictions checks that what cannot be true of the pool costs the schedule
// in memory and not the process, however often that happens between other cycles.
func TestTheDaemonOutlivesContradictions(t *testing.T) {
	w, log := newWorld(), &buffer{}
	o := w.options("easy")
	o.Logger = logTo(log)
	_, end := run(t, o)
	for cycle := range 2 * mostFailures {
		w.deltas <- w.begin()
		poll.Equal(t, cycle+1, w.acts)
		w.deltas <- contradiction
	}
	w.deltas <- w.begin()
	poll.Equal(t, 2*mostFailures+1, w.acts)
	require.Contains(t, log.String(), "A CYCLE HAS FAILED")
	require.Contains(t, log.String(), "cannot be true: job ID 1 is reported twice")
	require.NoError(t, end())
}

// TestTheDaemonGivesUp checks that the daemon ends if one cycle after the other fails.
func TestTheDaemonGivesUp(t *testing.T) {
	w := newWorld()
	done := make(chan error, 1)
	go func() { done <- New(w.options("easy")).Run(t.Context()) }()
	for range mostFailures {
		w.deltas <- contradiction
	}
	require.ErrorContains(t, <-done, "cannot be true")
}
