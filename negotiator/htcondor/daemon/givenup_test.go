package daemon

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// broken fails in all rounds.
type broken struct{ backfill.Decider }

func (broken) Decide(context.Context, *backfill.Transaction) error { return errors.New("on\npurpose") }

// TestAPolicyIsGivenUp: a policy that fails in 100 rounds running is given up. The fallback starts
// jobs, before and after, and the log, the ad, the metrics and whoever asks about a job are told, until
// another policy takes over.
func TestAPolicyIsGivenUp(t *testing.T) {
	w, log := newWorld(), &buffer{}
	o := w.options("easy")
	works := o.Negotiator.Policy
	changes := make(chan negotiator.Change, 1)
	o.Negotiator.Policy, o.Negotiator.Changes = broken{works}, changes
	o.Logger = logTo(log)
	d, end := run(t, o)
	w.deltas <- negotiator.Delta{
		Now: 1000, SlotsUp: []*negotiator.Slot{w.slot},
		Submitted: []*negotiator.Job{w.job(1, 4, 100), w.job(2, 4, 1000)},
	}
	poll.Equal(t, 1, w.acts)
	require.Empty(t, ReadFallbackInUse(d.Ad()))
	inUse := func() float64 {
		registry := prometheus.NewRegistry()
		registry.MustRegister(metrics{d})
		found, err := registry.Gather()
		require.NoError(t, err)
		for _, family := range found {
			if family.GetName() == "backfill_fallback_in_use" {
				return family.GetMetric()[0].GetGauge().GetValue()
			}
		}
		return -1
	}
	require.Zero(t, inUse())
	for now := backfill.Time(1001); now < 1100; now++ {
		w.deltas <- negotiator.Delta{Now: now}
	}
	const told = "policy easy is given up, and easy decides until condor_reconfig gives it another chance: " +
		"given up after it failed in 100 rounds running, at last: on purpose"
	poll.Contains(t, told, log.String)
	poll.Equal(t, "easy", func() string { return ReadFallbackInUse(d.Ad()) })
	problems, _ := d.Ad().Text("BackfillProblems")
	require.Equal(t, told, problems)
	require.InDelta(t, 1, inUse(), 0)
	ads, err := d.Plans(t.Context(), "2.0")
	require.NoError(t, err)
	require.Equal(t, "easy", ReadFallbackInUse(ads.All()[0]))
	w.deltas <- negotiator.Delta{Now: 1100, Completed: []backfill.JobID{1}}
	poll.Equal(t, 2, w.acts)

	changes <- negotiator.Change{Policy: works, Fallback: works}
	w.deltas <- negotiator.Delta{Now: 1101, Submitted: []*negotiator.Job{w.job(3, 4, 100)}}
	poll.Equal(t, "", func() string {
		w.deltas <- negotiator.Delta{Now: 1102}
		return ReadFallbackInUse(d.Ad())
	})
	require.Zero(t, inUse())
	require.NoError(t, end())
}
