package daemon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/usermap"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// TestMapsChange: a negotiator matches with the maps as they are configured, from the next cycle on, and
// jobs that waited start as soon as a map lets them.
func TestMapsChange(t *testing.T) {
	w, log := newWorld(), &buffer{}
	ad, err := classad.ParseOld(`Name = "slot1@a"
Requirements = userMap("m", TARGET.Owner, "in") is "in"`)
	require.NoError(t, err)
	w.slot.Ad = ad
	maps := func(text string) *usermap.Maps {
		m, err := usermap.Parse("m", text, usermap.Options{})
		require.NoError(t, err)
		return usermap.New(map[string]*usermap.Map{"m": m})
	}
	job := func(id backfill.JobID, owner string) *negotiator.Job {
		j := w.job(id, 1, 100)
		j.Ad.SetString("Owner", owner)
		return j
	}
	o := w.options("easy")
	o.UserMaps, o.Logger = maps("* ann in"), logTo(log)
	d, end := run(t, o)
	w.deltas <- negotiator.Delta{
		Now: 1000, SlotsUp: []*negotiator.Slot{w.slot}, Submitted: []*negotiator.Job{job(1, "ann"), job(2, "bob")},
	}
	poll.Equal(t, 1, w.acts)
	next := func(cycle int) func() string {
		return locked(w, func() string { return w.acted[cycle][0].Job.Name })
	}
	require.Equal(t, "1.0", next(0)())

	o.UserMaps = maps("* ann in") // read again
	d.Configure(o.Tuning)
	w.deltas <- negotiator.Delta{Now: 1001}
	o.UserMaps = maps("* bob in")
	d.Configure(o.Tuning)
	w.deltas <- negotiator.Delta{Now: 1002}
	poll.Equal(t, 2, w.acts)
	require.Equal(t, "2.0", next(1)())
	poll.Contains(t, "the maps of userMap have changed", log.String)
	require.NoError(t, end())
}
