package negotiator

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// TestUnderIsAsAChange: the first round of a play under another policy plans all jobs with the same run
// times as the first cycle after such a change does.
func TestUnderIsAsAChange(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		between := rapid.SampledFrom([][2]string{
			{"easy", "conservative"}, {"conservative", "easy"}, {"easy", "first-fit"}, {"pc", "conservative"},
		}).Draw(r, "policies")
		actual := map[backfill.JobID]backfill.Time{}
		for id := range backfill.JobID(9) {
			actual[id] = backfill.Time(rapid.IntRange(1, 12).Draw(r, "actual"))
		}
		n := predicting(t, between[0], "fcfs", estimate.Settings{All: "accurate"}, actual)
		d := Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, "")}}
		for id := 1; id <= rapid.IntRange(1, 8).Draw(r, "jobs"); id++ {
			d.Submitted = append(d.Submitted, newJob(t, id, 1+id%2, ""))
		}
		cycle(t, n, d)
		now := backfill.Time(rapid.IntRange(0, 15).Draw(r, "now"))
		cycle(t, n, Delta{Now: now})

		c := change(t, between[1], "fcfs", estimate.Settings{All: "accurate"})
		c.Estimates = n.predictions.set
		o := n.Outlook()
		next, first := o.Under(c.Policy.Spec().Guarantees, nil)
		host, err := backfill.NewHost(o.State(), nil, linked(t, between[1]), c.Fallback, nil)
		require.NoError(r, err)
		_, err = host.Decide(t.Context(), *first)
		require.NoError(r, err)

		require.NoError(r, n.Change(c))
		cycle(t, n, Delta{Now: now})
		want, got := n.State().Snapshot().Jobs, host.State.Snapshot().Jobs
		require.Len(r, got, len(want))
		for i := range want {
			w, g := want[i], got[i]
			require.Equal(r, w.Job.Estimate, g.Job.Estimate, "job %d", w.Job.ID)
			require.Equal(r, w.Job.Running, g.Job.Running, "job %d", w.Job.ID)
			require.Equal(r, []any{w.Running, w.Start, w.End, w.Promised, w.Guarantee},
				[]any{g.Running, g.Start, g.End, g.Promised, g.Guarantee}, "job %d", w.Job.ID)
			require.Equal(r, n.Outlook().RunTime(w.Job), next.RunTime(g.Job), "job %d", w.Job.ID)
		}
	})
}

// TestSuppose: a job that is only supposed is planned with as if it arrived, and nothing is changed.
func TestSuppose(t *testing.T) {
	for _, order := range []string{"fcfs", "expr:JobPrio"} {
		n := predicting(t, "conservative", order, estimate.Settings{All: "accurate"}, map[backfill.JobID]backfill.Time{1: 4})
		cycle(t, n, Delta{
			SlotsUp:   []*Slot{newSlot(t, "a", 2, ""), newSlot(t, "b", 1, "")},
			Submitted: []*Job{newJob(t, 1, 2, ""), newJob(t, 2, 2, "")},
		})
		was, known := n.Checkpoint(), len(n.predictions.known)
		asked := newJob(t, 0, 2, "JobPrio = 3")
		o, c, err := n.Suppose(t.Context(), asked)
		require.NoError(t, err)
		require.Equal(t, []backfill.SlotID{0}, c.Candidates.Slots[:1])
		policy := configured(t, "conservative", "fcfs")
		start := o.Start()
		start.First = o.Arrival(c)
		play, err := o.Rules(policy.Policy, policy.Fallback).Play(start)
		require.NoError(t, err)
		_, _, err = play.Next(t.Context())
		require.NoError(t, err)
		at, _, planned := play.State().Planned(c.Job.ID)
		require.True(t, planned)
		require.EqualValues(t, 20, at, "by what the others request")
		require.Equal(t, was, n.Checkpoint())
		require.Len(t, n.predictions.known, known)

		_, c, err = n.Suppose(t.Context(), newJob(t, 0, 1, "Requirements = TARGET.Colour == \"red\""))
		require.NoError(t, err)
		require.Contains(t, c.WhyNone, "matches no slot: true on none of 2: TARGET.Colour == \"red\"")
	}
}

// TestSupposeUnderAnOrderOfACycle: the job stands behind those of its owner, or behind all.
func TestSupposeUnderAnOrderOfACycle(t *testing.T) {
	c := configured(t, "easy", "fcfs")
	c.Order = OrderOfCycle(func(j *backfill.Job, _ backfill.Moment) (float64, backfill.Moves) {
		return float64(j.ID), 0
	})
	n, err := New(c)
	require.NoError(t, err)
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 1, "")}, Submitted: []*Job{
		newJob(t, 1, 1, ""), newJob(t, 2, 1, "Owner = \"alice\""), newJob(t, 3, 1, "Owner = \"bob\""),
	}})
	for owner, want := range map[string]float64{"alice": 2, "bob": 3, "carol": 3} {
		o, came, err := n.Suppose(t.Context(), newJob(t, 0, 1, "Owner = \""+owner+"\""))
		require.NoError(t, err)
		key, _ := o.Order(o.order)(came.Job, backfill.Moment{})
		require.InDelta(t, want, key, 0, owner)
	}
}

// TestEnlarge: further slots have the ad of the one that they are like, with other amounts.
func TestEnlarge(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{
		SlotsUp:   []*Slot{newSlot(t, "a", 1, "Colour = \"red\"")},
		Submitted: []*Job{newJob(t, 1, 4, "Requirements = TARGET.Cpus >= 4 && TARGET.Colour == \"red\"")},
	})
	require.Equal(t, "held", why(t, n, 1))
	further, err := n.Enlarge("a", map[string]int64{"cpus": 4}, 2)
	require.NoError(t, err)
	require.Len(t, further.Events, 2)
	require.Equal(t, backfill.Vector{4, 1000}, further.Events[1].Slot.Capacity)
	require.Equal(t, []backfill.SlotID{1, 2}, further.Sets[0].Candidates.Slots)
	require.Empty(t, n.State().CandidateSets()[0].Slots)
	for like, amounts := range map[string]map[string]int64{"b": nil, "a": {"lots": 1}} {
		_, err = n.Enlarge(like, amounts, 1)
		require.ErrorContains(t, err, "there is no")
	}
}
