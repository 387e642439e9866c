package daemon

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// onSlot is what a pool knows of claims while alice's job 1 has the slot; bob has all other jobs.
type onSlot struct{ claim preempt.Claim }

func (c onSlot) Claim(id backfill.JobID) (preempt.Claim, bool) { return c.claim, id == 1 }

func (c onSlot) Submitter(id backfill.JobID) string {
	if id == 1 {
		return "alice"
	}
	return "bob"
}

func (c onSlot) Standing(string) preempt.Standing { return preempt.Standing{} }

func (c onSlot) HasRoom(string, float64, float64) bool { return true }

// rival is a world with alice's job on a slot that prefers bob, and a waiting job of bob. The first has so
// long to retire.
func rival(t *testing.T, retires backfill.Time) (w *world, o Options, delta negotiator.Delta) {
	t.Helper()
	w = newWorld()
	require.NoError(t, w.slot.Ad.SetExpr("Rank", `Owner == "bob"`))
	runs, waits := w.job(1, 3, 1000), w.job(2, 2, 50)
	runs.Ad.SetString("Owner", "alice")
	waits.Ad.SetString("Owner", "bob")
	claim := preempt.Claim{Slot: "slot1@a", Host: "slot1@a", Ad: w.slot.Ad, User: "alice", Retirement: retires, Vacate: 600}
	o = w.options("conservative")
	o.Preemption = config.Preemption{ConsiderPreemption: true}
	return w, o, negotiator.Delta{
		Now: 1000, SlotsUp: []*negotiator.Slot{w.slot}, Submitted: []*negotiator.Job{waits}, Claims: onSlot{claim},
		Found: []negotiator.Running{{Job: runs, Placement: negotiator.Placement{{Slot: w.slot, Count: 1}}, Start: 900}},
	}
}

// explainedTo returns what a user reads of a job in UTC.
func explainedTo(t *testing.T, d *Daemon, job string) JobForecast {
	t.Helper()
	ads, err := d.Plans(t.Context(), job)
	require.NoError(t, err)
	require.Len(t, ads.All(), 1)
	return ReadJobForecast(ads.All()[0], time.UTC)
}

// TestExplainedTakeover: a job that takes over is told its expected start, in the list, too, until others have
// made way, and who makes way is told for whom. Once it has, it is still told why it waits.
func TestExplainedTakeover(t *testing.T) {
	w, o, first := rival(t, 0)
	w.matched = []backfill.JobID{2}
	d := once(t, w, o, first)
	heir := explainedTo(t, d, "2")
	require.Equal(t, "takes over slot1@a, expected start 00:26 UTC, once others have made way", heir.Reason)
	require.Equal(t, "takes over", heir.Situation)
	require.EqualValues(t, 1600, *heir.Start)
	require.Equal(t, "takes over, once others have made way", heir.Why(time.UTC))
	listed, err := d.Plans(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, listed.All(), 1, "the other runs")
	require.Equal(t, heir.Reason, ReadJobForecast(listed.All()[0], time.UTC).Reason)
	victim := explainedTo(t, d, "1")
	require.Equal(t, "runs since 00:15 UTC on slot1@a; is to make way, displaced by 2.0 of bob: the machine prefers it",
		victim.Reason)

	w, o, first = rival(t, 0)
	w.deltas <- first
	w.deltas <- negotiator.Delta{
		Now: 1010, StartFailed: []backfill.JobID{1}, Displaced: []backfill.JobID{1},
		Found: []negotiator.Running{{Job: w.jobs[2], Placement: negotiator.Placement{{Slot: w.slot, Count: 1}}, Start: 1010}},
	}
	close(w.deltas)
	d = New(o)
	_ = d.Run(t.Context())
	require.Regexp(t, "^runs since", explainedTo(t, d, "2").Reason)
	require.Regexp(t, "^reserved, .*; displaced by 2.0 of bob: the machine prefers it$", explainedTo(t, d, "1").Reason)
}

// TestPreemptionIsCounted, by reason, with what was lost: job 1 had three cores for 110 s. An observer, whose jobs
// displace nobody, counts nothing.
func TestPreemptionIsCounted(t *testing.T) {
	for _, observes := range []bool{false, true} {
		w, o, first := rival(t, 0)
		o.Observe = observes
		w.deltas <- first
		if !observes {
			w.deltas <- negotiator.Delta{
				Now: 1010, StartFailed: []backfill.JobID{1}, Displaced: []backfill.JobID{1},
				Found: []negotiator.Running{{Job: w.jobs[2], Placement: negotiator.Placement{{Slot: w.slot, Count: 1}}, Start: 1010}},
			}
		}
		close(w.deltas)
		d := New(o)
		_ = d.Run(t.Context())
		counted := map[string]float64{}
		registry := prometheus.NewRegistry()
		registry.MustRegister(metrics{d})
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, family := range families {
			for _, m := range family.GetMetric() {
				if labels := m.GetLabel(); len(labels) == 1 && labels[0].GetName() == "reason" {
					counted[family.GetName()+" "+labels[0].GetValue()] = m.GetCounter().GetValue()
				}
			}
		}
		want := map[string]float64{
			"backfill_preemptions_total startd rank": 1, "backfill_displaced_total startd rank": 1,
			"backfill_displaced_core_seconds_total startd rank": 3 * 110, "backfill_preemptions_total user priority": 0,
			"backfill_displaced_total user priority": 0, "backfill_displaced_core_seconds_total user priority": 0,
		}
		if observes {
			for name := range want {
				want[name] = 0
			}
		}
		require.Equal(t, want, counted)
	}
}

// TestExplainedRetirement: a job that could displace another but for its retirement is told so, with or without
// a reservation.
func TestExplainedRetirement(t *testing.T) {
	for policy, words := range map[string]string{"conservative": "^reserved, expected", "first-fit": "^waits, expected"} {
		w, o, first := rival(t, 500)
		other := w.options(policy)
		o.Negotiator, o.Policy = other.Negotiator, other.Policy
		d := once(t, w, o, first)
		waits := explainedTo(t, d, "2")
		require.Regexp(t, words+".*; could displace a job on slot1@a, but it retires until 00:25 UTC$", waits.Reason)
		require.Equal(t, "could displace a job on slot1@a, but it retires until 00:25 UTC", waits.Why(time.UTC))
		require.NotContains(t, explainedTo(t, d, "1").Reason, ";")
	}
}
