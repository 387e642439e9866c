package daemon

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
)

// chooserOf makes a chooser for which the second candidate is better than the base if a short job
// waits behind a long one.
func chooserOf(t *testing.T) *auto.Chooser {
	t.Helper()
	chooser, err := auto.New(map[string]string{"portfolio": "easy:fcfs easy:sjf", "window": "0", "gain": "0.01"}, 2, nil)
	require.NoError(t, err)
	return chooser
}

// TestThePolicyIsChosen: a choice is made beside the cycles, comes into force with the next cycle,
// and is told in the ad, to whoever asks about a job, and in the metrics.
func TestThePolicyIsChosen(t *testing.T) {
	w, log, chooser := newWorld(), &buffer{}, chooserOf(t)
	o := w.options("easy")
	chooser.TakeCharge(&o.Negotiator)
	chooser.Chosen = func(made *auto.Choice) { made.Log(o.Logger.Info, o.Logger.Warn) }
	o.Chooser = func() *auto.Chooser { return chooser }
	o.Logger = logTo(log)
	d, end := run(t, o)
	w.deltas <- negotiator.Delta{
		Now: 1000, SlotsUp: []*negotiator.Slot{w.slot},
		Submitted: []*negotiator.Job{w.job(1, 4, 100), w.job(2, 4, 1000), w.job(3, 4, 10)},
	}
	poll.Contains(t, `policy changed: t=1000 policy=easy:sjf why="`, log.String)
	poll.Equal(t, "easy:sjf", func() string {
		name, _ := d.Ad().Text("BackfillPolicyInCharge")
		w.deltas <- negotiator.Delta{Now: 1001}
		return name
	})
	w.deltas <- negotiator.Delta{Now: 1100, Completed: []backfill.JobID{1}}
	poll.Equal(t, 2, w.acts)
	next := locked(w, func() string { return w.acted[1][0].Job.Name })
	require.Equal(t, "3.0", next(), "the short one comes first now")

	ads, err := d.Plans(t.Context(), "2.0")
	require.NoError(t, err)
	told := ReadPolicyChoice(ads.All()[0])
	require.Equal(t, "easy:sjf", told.InCharge)
	require.Regexp(t, `^easy:sjf, chosen at 1970-01-01 00:16:40 UTC: \S+ instead of \S+ \(easy:sjf \S+, easy:fcfs \S+\)$`,
		told.Tell(time.UTC))
	require.Equal(t, told, ReadPolicyChoice(d.Ad()))
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics{d})
	found, err := registry.Gather()
	require.NoError(t, err)
	metrics := map[string]int{}
	for _, family := range found {
		metrics[family.GetName()] = len(family.GetMetric())
	}
	require.Equal(t, 1, metrics["backfill_policy_changes_total"])
	require.Equal(t, 2, metrics["backfill_policy_expected"])
	require.NoError(t, end())
	require.Nil(t, ReadPolicyChoice(New(w.options("easy")).Ad()), "its policy is not chosen")
}

// TestALateChoiceIsDropped: what a chooser has chosen does not count once it has been replaced, or
// the negotiator has been made anew.
func TestALateChoiceIsDropped(t *testing.T) {
	w := newWorld()
	o, now := w.options("easy"), chooserOf(t)
	o.Chooser = func() *auto.Chooser { return now }
	d := New(o)
	var err error
	d.n, err = negotiator.New(o.Negotiator)
	require.NoError(t, err)
	other := w.options("conservative").Negotiator
	change := negotiator.Change{Policy: other.Policy, Fallback: other.Fallback}
	step := func(at backfill.Time) string {
		d.takeChosen()
		_, err = negotiator.Decide(t.Context(), d.n, negotiator.Delta{Now: at})
		require.NoError(t, err)
		name, _ := d.n.State().Policy()
		return name
	}
	d.chosen.Store(&chosen{dueChoice{chooserOf(t), &auto.Future{}}, change})
	require.Equal(t, "easy", step(1))
	late := &chosen{dueChoice{now, &auto.Future{}}, change}
	d.chosen.Store(late)
	require.Equal(t, "conservative", step(2))
	now.Restart()
	d.n, err = negotiator.New(o.Negotiator)
	require.NoError(t, err)
	d.chosen.Store(late)
	require.Equal(t, "easy", step(3), "the negotiator was made anew")
}

// TestWhatIsInForceStays: a negotiator that is made anew, as the clock was put back, gets the policy
// to which a reload has changed, and not the one of the start.
func TestWhatIsInForceStays(t *testing.T) {
	w, log := newWorld(), &buffer{}
	o := w.options("easy")
	now := w.options("conservative").Negotiator
	changes := make(chan negotiator.Change, 1)
	o.Negotiator.Changes, o.Logger = changes, logTo(log)
	o.InForce = func() negotiator.Change { return negotiator.Change{Policy: now.Policy, Fallback: now.Fallback} }
	d, _ := run(t, o)
	w.deltas <- w.begin()
	poll.Equal(t, 1, w.acts)
	w.deltas <- negotiator.Delta{Now: backfill.Time(time.Now().Add(time.Hour).Unix())}
	w.deltas <- w.begin()
	poll.Equal(t, 2, w.acts)
	poll.Equal(t, true, func() bool {
		guaranteed, _ := d.Ad().Bool("BackfillGuarantees")
		return guaranteed
	})
}

// TestALookBackIsBesideTheChoice: a period that is over is looked back at beside the cycles, and that is told,
// with a choice or without.
func TestALookBackIsBesideTheChoice(t *testing.T) {
	w, log := newWorld(), &buffer{}
	chooser, err := auto.New(map[string]string{
		"portfolio": "easy:fcfs easy:sjf", "window": "0", "every": "60", "base": "600",
	}, 1, nil)
	require.NoError(t, err)
	o := w.options("easy")
	chooser.TakeCharge(&o.Negotiator)
	o.Logger = logTo(log)
	chooser.LookedBack = func(h *auto.Hindsight) { h.Log(o.Logger.Info, o.Logger.Warn) }
	o.Chooser = func() *auto.Chooser { return chooser }
	_, end := run(t, o)
	w.deltas <- negotiator.Delta{Now: 1000, SlotsUp: []*negotiator.Slot{w.slot}}
	w.deltas <- negotiator.Delta{Now: 1010, Submitted: []*negotiator.Job{w.job(1, 4, 100), w.job(2, 4, 1000), w.job(3, 4, 10)}}
	w.deltas <- negotiator.Delta{Now: 1110, Completed: []backfill.JobID{1}}
	w.deltas <- negotiator.Delta{Now: 1700}
	poll.Contains(t, `base looked at in hindsight: t=1700 base=easy:`, log.String)
	require.NoError(t, end())
}
