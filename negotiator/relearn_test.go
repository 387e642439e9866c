package negotiator

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// checkHeard: the estimators know which jobs run and since when, and the waiting jobs of each user, as far
// as they go by that.
func checkHeard(t require.TestingT, n *Negotiator) {
	p := n.predictions
	for _, s := range n.State().Snapshot().Jobs {
		if p.heedsRunning() {
			since, runs := p.set.RunningSince(s.Job.ID)
			require.Equal(t, s.Running && !s.Pinned, runs, "job %d", s.Job.ID)
			if runs {
				require.Equal(t, s.Start, since, "job %d", s.Job.ID)
			}
		}
		if user, ok := p.set.UserOf(s.Job.Labels); ok && p.waiting != nil && !s.Pinned {
			waits := p.waiting[user] != nil && p.waiting[user].jobs[s.Job.ID]
			require.Equal(t, !s.Running, waits, "job %d", s.Job.ID)
		}
	}
	for _, line := range p.waiting {
		for id := range line.jobs {
			require.NotNil(t, n.jobs.get(id), "job %d", id)
		}
	}
}

// Of a user with very many waiting jobs, some are predicted anew when one ends, the next ones when the next
// one does, and after the last the first ones again, whoever has come and gone.
func TestTheNextOfManyHaveTheirTurn(t *testing.T) {
	line := &inLine{jobs: map[backfill.JobID]bool{}, last: -1}
	for id := range backfill.JobID(7) {
		line.jobs[id] = true
	}
	require.Equal(t, []backfill.JobID{0, 1, 2}, line.turn(3))
	delete(line.jobs, 2)
	delete(line.jobs, 4)
	require.Equal(t, []backfill.JobID{3, 5, 6}, line.turn(3))
	line.jobs[9] = true
	require.Equal(t, []backfill.JobID{9, 0, 1}, line.turn(3))
	require.Equal(t, []backfill.JobID{0, 1, 3, 5, 6, 9}, line.turn(6), "all have theirs, in order")
	require.Empty(t, (*inLine)(nil).turn(3))
}

func anns(tb testing.TB, id int, estimate backfill.Time) *Job {
	tb.Helper()
	job := newJob(tb, id, 1, `Owner = "ann"; Cmd = "a"`)
	job.Estimate = estimate
	return job
}

// When a job of a user ends, that user's waiting jobs are predicted anew: for all uses without guarantees,
// for the order alone with them, whether its keys change with time or not.
func TestAUsersEndIsHeardByWhoWaits(t *testing.T) {
	for _, c := range []struct {
		policy, order string
		options       map[string]string
		want          [3]backfill.Time // estimate, running and limit of job 3
		first         backfill.JobID
	}{
		{"easy", "sjf", nil, [3]backfill.Time{36, 0, 90}, 3},
		{"slack", "sjf", nil, [3]backfill.Time{90, 0, 0}, 3},
		{"slack", "xfactor", nil, [3]backfill.Time{90, 0, 0}, 3},
		{"easy", "sjf", map[string]string{"predict-again": "false"}, [3]backfill.Time{90, 0, 0}, 4},
	} {
		n := predicting(t, c.policy, c.order, estimate.Settings{All: "learned", Options: c.options}, nil)
		bobs := newJob(t, 4, 1, `Owner = "bob"`)
		bobs.Estimate = 50
		cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 1, "")}, Submitted: []*Job{
			anns(t, 1, 5), newJob(t, 2, 1, `Owner = "eve"`), anns(t, 3, 90), bobs,
		}})
		require.True(t, n.State().IsRunning(1))
		checkHeard(t, n)
		cycle(t, n, Delta{Now: 2, Completed: []backfill.JobID{1}, Submitted: []*Job{newJob(t, 9, 1, `Owner = "eve"`)}})
		checkHeard(t, n)
		require.Equal(t, c.want, times(t, n, 3), "%s %v", c.policy, c.options)
		if c.order == "sjf" {
			require.Equal(t, c.first == 3, n.State().Key(3) < n.State().Key(4), "%s %v", c.policy, c.options)
		}
	}
}

// A job that is found to run for another user than the one for whom it waited waits for neither.
func TestAJobIsFoundToRunForAnotherUser(t *testing.T) {
	n := predicting(t, "easy", "sjf", estimate.Settings{All: "learned"}, nil)
	slot := newSlot(t, "a", 1, "")
	cycle(t, n, Delta{SlotsUp: []*Slot{slot}, Submitted: []*Job{anns(t, 1, 5), anns(t, 2, 90)}})
	require.Len(t, n.predictions.waiting, 1)
	bobs := newJob(t, 2, 1, `Owner = "bob"`)
	bobs.Estimate = 90
	cycle(t, n, Delta{Now: 1, Completed: []backfill.JobID{1}, Found: []Running{
		{Job: bobs, Placement: Placement{{Slot: slot, Count: 1}}, Start: 1},
	}})
	checkHeard(t, n)
	require.Empty(t, n.predictions.waiting)
	cycle(t, n, Delta{Now: 2, Completed: []backfill.JobID{2}})
	checkHeard(t, n)
}

// A negotiator that goes on after another one, from its checkpoint and the history on disk, or with
// estimators that take over, predicts as that one would for a job that comes.
func TestPredictionsOutliveRestartsAndChanges(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := estimate.Settings{All: "learned"}
		policy := rapid.SampledFrom([]string{"easy", "slack"}).Draw(r, "policy")
		n := predicting(t, policy, "xfactor", s, nil)
		w := &weather{slots: map[string]*Slot{}}
		for range rapid.IntRange(1, 25).Draw(r, "cycles") {
			d := w.delta(t, r, n)
			for _, job := range d.Submitted {
				job.Labels = map[string]string{"owner": rapid.SampledFrom([]string{"ann", "bob"}).Draw(r, "owner")}
			}
			_, err := n.RunCycle(t.Context(), d)
			require.NoError(r, err)
			checkHeard(r, n)
		}
		var file bytes.Buffer
		require.NoError(r, n.predictions.set.History().Write(&file))
		history, err := estimate.ReadHistory(&file, "state", 0)
		require.NoError(r, err)
		c := configured(t, policy, "xfactor")
		c.StartSlack = 0
		c.Estimates, err = estimate.New(s, history, c.Policy.Spec().Guarantees, false, nil)
		require.NoError(r, err)
		restored, err := Restore(c, n.Checkpoint())
		require.NoError(r, err)
		checkHeard(r, restored)

		c = configured(t, policy, "xfactor")
		c.StartSlack = 0
		changed, err := Restore(c, n.Checkpoint())
		require.NoError(r, err)
		next := change(t, policy, "xfactor", s)
		for e := range n.predictions.set.History().All() {
			next.Estimates.Learn(e)
		}
		require.NoError(r, changed.Change(next))
		checkHeard(r, changed)
		for range 5 {
			j := newJob(t, 1000, rapid.IntRange(1, 3).Draw(r, "cpus"), "")
			j.Estimate = backfill.Time(rapid.IntRange(1, 20).Draw(r, "estimate"))
			j.Labels = map[string]string{"owner": rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(r, "owner")}
			asked := n.predictions.describe(j)
			want := n.predictions.set.Estimate(&asked, n.State().Now())
			require.Equal(r, want, restored.predictions.set.Estimate(&asked, n.State().Now()))
			require.Equal(r, want, changed.predictions.set.Estimate(&asked, n.State().Now()))
		}
	})
}
