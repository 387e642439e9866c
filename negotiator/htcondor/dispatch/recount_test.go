package dispatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// TestScheddsAreToldToCount: the schedd of a gang that does not ask for its slots is told to count its queue.
func TestScheddsAreToldToCount(t *testing.T) {
	d := newDesk(t, "a")
	fake := fakes.NewSchedd(t, "s")
	d.schedd.Address, d.s.Security = fake.Address(), fakes.Client()
	d.schedd.Submitters = map[string]observe.Submitter{}
	id := d.submit(1, specOf(t, 2, "true"))
	d.claims.Start(d.at, []negotiator.Match{{
		Job: &negotiator.Job{ID: id}, Placement: negotiator.Placement{{Slot: d.snapshot.Slots["a"].Ad, Count: 2}},
	}})
	pass := func(seconds int) {
		d.at = d.at.Add(time.Duration(seconds) * time.Second)
		d.HandOver(t.Context())
	}
	pass(0)
	pass(1)
	require.Nil(t, d.line("s").recounting)
	pass(1)
	poll.Equal(t, 1, fake.Rescheduled)
	poll.Equal(t, 1, func() int { return len(d.line("s").recounting) })
	pass(1)
	require.Nil(t, d.line("s").recounting)
	fake.Stop()
	pass(15)
	poll.Equal(t, 1, func() int { return len(d.line("s").recounting) })
	pass(1)
	require.Equal(t, 1, fake.Rescheduled())
}
