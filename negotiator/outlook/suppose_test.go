package outlook

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// TestUnderIsAsAChange: the first round of a play under another policy plans all jobs with the same
// run times as the first cycle after such a change does.
func TestUnderIsAsAChange(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		between := rapid.SampledFrom([][2]string{
			{"easy", "conservative"}, {"conservative", "easy"}, {"easy", "first-fit"}, {"pc", "conservative"},
		}).Draw(r, "policies")
		actual := map[backfill.JobID]backfill.Time{}
		for id := range backfill.JobID(9) {
			actual[id] = backfill.Time(rapid.IntRange(1, 12).Draw(r, "actual"))
		}
		with := predictingConfig(t, between[0], "fcfs", estimate.Settings{All: "accurate"}, actual)
		n, err := negotiator.New(with)
		require.NoError(r, err)
		d := negotiator.Delta{SlotsUp: []*negotiator.Slot{newSlot(t, "a", 2, "")}}
		for id := 1; id <= rapid.IntRange(1, 8).Draw(r, "jobs"); id++ {
			d.Submitted = append(d.Submitted, newJob(t, id, 1+id%2, ""))
		}
		cycle(t, n, d)
		now := backfill.Time(rapid.IntRange(0, 15).Draw(r, "now"))
		cycle(t, n, negotiator.Delta{Now: now})

		c := change(t, between[1], "fcfs", estimate.Settings{All: "accurate"})
		c.Estimates = with.Estimates
		o := New(n)
		next, first := o.Under(c.Policy.Spec().Guarantees, nil)
		host, err := backfill.NewHost(o.State(), nil, linked(t, between[1]), c.Fallback, nil)
		require.NoError(r, err)
		_, err = host.Decide(t.Context(), *first)
		require.NoError(r, err)

		require.NoError(r, n.Change(c))
		cycle(t, n, negotiator.Delta{Now: now})
		want, got := n.State().Snapshot().Jobs, host.State.Snapshot().Jobs
		require.Len(r, got, len(want))
		for i := range want {
			w, g := want[i], got[i]
			require.Equal(r, w.Job.Estimate, g.Job.Estimate, "job %d", w.Job.ID)
			require.Equal(r, w.Job.Running, g.Job.Running, "job %d", w.Job.ID)
			require.Equal(r, []any{w.Running, w.Start, w.End, w.Promised, w.Guarantee},
				[]any{g.Running, g.Start, g.End, g.Promised, g.Guarantee}, "job %d", w.Job.ID)
			require.Equal(r, New(n).RunTime(w.Job), next.RunTime(g.Job), "job %d", w.Job.ID)
		}
	})
}

// TestSuppose: a job that is only supposed is planned with as if it arrived, and nothing is
// changed.
func TestSuppose(t *testing.T) {
	for _, order := range []string{"fcfs", "expr:JobPrio"} {
		n := predicting(t, "conservative", order, estimate.Settings{All: "accurate"}, map[backfill.JobID]backfill.Time{1: 4})
		cycle(t, n, negotiator.Delta{
			SlotsUp:   []*negotiator.Slot{newSlot(t, "a", 2, ""), newSlot(t, "b", 1, "")},
			Submitted: []*negotiator.Job{newJob(t, 1, 2, ""), newJob(t, 2, 2, "")},
		})
		before, known := n.Checkpoint(), New(n).known
		asked := newJob(t, 0, 2, "JobPrio = 3")
		o, c, err := suppose(t, n, asked)
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
		require.Equal(t, before, n.Checkpoint())
		require.Equal(t, known, New(n).known)

		_, c, err = suppose(t, n, newJob(t, 0, 1, "Requirements = TARGET.Colour == \"red\""))
		require.NoError(t, err)
		require.Contains(t, c.WhyNone, "matches no slot: true on none of 2: TARGET.Colour == \"red\"")
	}
}

// TestSupposeUnderAnOrderOfACycle: the job stands behind those of its owner, or behind all.
func TestSupposeUnderAnOrderOfACycle(t *testing.T) {
	c := configured(t, "easy", "fcfs")
	c.Order = negotiator.OrderOfCycle(func(j *backfill.Job, _ backfill.Moment) (float64, backfill.Moves) {
		return float64(j.ID), backfill.Moves{}
	})
	n, err := negotiator.New(c)
	require.NoError(t, err)
	cycle(t, n, negotiator.Delta{SlotsUp: []*negotiator.Slot{newSlot(t, "a", 1, "")}, Submitted: []*negotiator.Job{
		newJob(t, 1, 1, ""), newJob(t, 2, 1, "Owner = \"alice\""), newJob(t, 3, 1, "Owner = \"bob\""),
	}})
	for owner, want := range map[string]float64{"alice": 2, "bob": 3, "carol": 3} {
		o, came, err := suppose(t, n, newJob(t, 0, 1, "Owner = \""+owner+"\""))
		require.NoError(t, err)
		key, _ := o.Order(o.order)(came.Job, backfill.Moment{})
		require.InDelta(t, want, key, 0, owner)
	}
}

// suppose supposes and matches a job.
func suppose(t *testing.T, n *negotiator.Negotiator, job *negotiator.Job) (*Outlook, negotiator.QuestionedJob, error) {
	t.Helper()
	o, asked, err := Suppose(n, job, nil)
	if err != nil {
		return nil, negotiator.QuestionedJob{}, err
	}
	c, err := asked.Match(t.Context())
	return o, c, err
}
