package dispatch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/claims"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// TestScavengersAreVacated: the schedd of a scavenger that has to leave is told so, once; if it does not let us
// do that, it is not asked again.
func TestScavengersAreVacated(t *testing.T) {
	d := newDesk(t, "a")
	fake := fakes.NewSchedd(t, "s")
	fake.SetJobs("ClusterId = 1\nProcId = 0\nJobStatus = 2")
	d.schedd.Address, d.s.Security = fake.Address(), fakes.Client()
	d.s.Collector = nil // nobody may ask it
	spec := specOf(t, 1, "true")
	spec.Scavenger = true
	victim := d.submit(1, spec)
	start := func(id backfill.JobID, displaces ...backfill.JobID) {
		at := negotiator.Placement{{Slot: d.snapshot.Slots["a"].Ad, Count: 1}}
		d.claims.Start(d.at, []negotiator.Match{{Job: &negotiator.Job{ID: id}, Placement: at, Displaces: displaces}})
	}
	start(victim)
	d.edit(func(g *observe.Group) { g.Status, g.Hosts, g.Started = observe.Running, []string{"a"}, d.snapshot.Now })
	d.look()
	d.vacate(t.Context())
	require.Empty(t, fake.Vacated())
	start(d.submit(2, specOf(t, 1, "false")), victim)
	require.Len(t, track.Leaving(d.belief), 1)
	for range 2 {
		d.vacate(t.Context())
		require.Equal(t, []string{"1.0"}, fake.Vacated())
	}
	fake.Unwilling(true)
	d.at = d.at.Add(1e12)
	d.vacate(t.Context())
	require.Len(t, fake.Vacated(), 1)
	require.Empty(t, claims.Vacates(d.claims, d.at.Add(1e9)), "it is not asked for a while")
	require.Equal(t, 1, d.claims.Counts().Vacated)
}
