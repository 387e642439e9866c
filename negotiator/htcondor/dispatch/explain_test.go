package dispatch

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
)

// TestExplain says that jobs which wait or are kept out of the plan are told why, once, and not while
// their schedd counts as slow.
func TestExplain(t *testing.T) {
	d := newDesk(t, "a")
	s := fakes.NewSchedd(t, "s")
	d.ask(fakes.NewCollector(t))
	d.schedd.Address = s.Address()
	waits := d.submit(1, specOf(t, 2, "true"))
	wrong := specOf(t, 2, "false")
	wrong.Wrong = errors.New("it asks for too much")
	d.submit(2, wrong)
	explain := func() int {
		require.NoError(t, d.Explain(t.Context(), []backfill.JobID{waits}, func(backfill.JobID) string { return "because" }))
		return d.Rejected()
	}
	d.line("s").mute = d.at.Add(time.Second)
	require.Zero(t, explain(), "its schedd was slow")
	d.line("s").mute = d.at
	for range 2 { // the second time there is nothing new
		require.Equal(t, 2, explain())
	}
	poll.Equal(t, 2, func() int { return len(s.Rejections()) })
}

// TestExplainToADeadSchedd says that a schedd which could not be told is told nothing for a while.
func TestExplainToADeadSchedd(t *testing.T) {
	d := newDesk(t, "a")
	d.ask(fakes.NewCollector(t))
	waits := d.submit(1, specOf(t, 1, "true"))
	why := func(backfill.JobID) string { return "because" }
	require.NoError(t, d.Explain(t.Context(), []backfill.JobID{waits}, why))
	require.Zero(t, d.Rejected())
	require.True(t, d.line("s").mute.After(d.at))
}
