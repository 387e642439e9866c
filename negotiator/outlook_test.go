package negotiator

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// told plays a negotiator's outlook ahead under the policy that is in charge, and returns when the
// waiting jobs start.
func told(tb testing.TB, t require.TestingT, n *Negotiator, b ahead.Bounds) map[backfill.JobID]backfill.Time {
	tb.Helper()
	policy, _ := n.State().Policy()
	c := configured(tb, policy, "fcfs")
	o := n.Outlook()
	play, err := o.Rules(c.Policy, c.Fallback).Play(o.Start())
	require.NoError(t, err)
	found, err := play.Starts(tb.Context(), b)
	require.NoError(t, err)
	at := map[backfill.JobID]backfill.Time{}
	for id, s := range found {
		at[id] = s.At
	}
	return at
}

// TestOutlook: under a policy that plans with requested times, jobs are told the starts that come if
// the predictions are right; and no later ones because the plan is.
func TestOutlook(t *testing.T) {
	actual := map[backfill.JobID]backfill.Time{1: 4, 2: 3, 3: 10}
	for _, policy := range []string{"conservative", "easy"} {
		n := predicting(t, policy, "fcfs", estimate.Settings{All: "accurate"}, actual)
		cycle(t, n, Delta{
			SlotsUp:   []*Slot{newSlot(t, "a", 1, "")},
			Submitted: []*Job{newJob(t, 1, 1, ""), newJob(t, 2, 1, ""), newJob(t, 3, 1, "")},
		})
		require.Equal(t, map[backfill.JobID]backfill.Time{2: 4, 3: 7}, told(t, t, n, ahead.Bounds{}), policy)
		of, known := n.Outlook().Of(2)
		require.True(t, known)
		require.Equal(t, Prediction{Requested: 10, Predicted: 3}, of)
		_, known = n.Outlook().Of(3)
		require.False(t, known)
		cycle(t, n, Delta{Now: 5})
		require.Equal(t, map[backfill.JobID]backfill.Time{2: 8, 3: 11}, told(t, t, n, ahead.Bounds{}),
			"the first one has outlived its prediction, %s", policy)
	}
}

// TestOutlookOfReportedEnds: an end that the pool reports counts, also with a prediction, and a
// lent claim keeps its slot until its lease is over.
func TestOutlookOfReportedEnds(t *testing.T) {
	actual := map[backfill.JobID]backfill.Time{1: 4, 2: 3}
	for _, policy := range []string{"conservative", "easy"} {
		for _, tt := range []struct {
			name  string
			delta Delta
			lease backfill.Time
			start backfill.Time
		}{
			{"as planned", Delta{Now: 1}, 0, 4},
			{"it began later than it was matched", Delta{Now: 2, Ends: []End{{Job: 1, At: 12}}}, 0, 6},
			{"leased", Delta{Now: 1}, 9, 9},
			{"leased for less time than it runs", Delta{Now: 1}, 3, 4},
		} {
			n := predicting(t, policy, "fcfs", estimate.Settings{All: "accurate"}, actual)
			cycle(t, n, Delta{
				SlotsUp:   []*Slot{newSlot(t, "a", 1, "")},
				Submitted: []*Job{newJob(t, 1, 1, ""), newJob(t, 2, 1, "")},
			})
			if tt.lease != 0 {
				lent := *n.jobs.get(1)
				lent.Lease = tt.lease
				n.jobs.Put(1).job = &lent
			}
			cycle(t, n, tt.delta)
			require.Equal(t, map[backfill.JobID]backfill.Time{2: tt.start}, told(t, t, n, ahead.Bounds{}),
				"%s, %s", tt.name, policy)
		}
	}
}

// TestOutlookOfOrders plays ahead under orders that see more than the state has.
func TestOutlookOfOrders(t *testing.T) {
	actual := map[backfill.JobID]backfill.Time{1: 4, 2: 9, 3: 3}
	turned := OrderOfCycle(func(j *backfill.Job, _ backfill.Moment) (float64, backfill.Moves) {
		return -float64(j.ID), backfill.WithTime
	})
	for _, tt := range []struct {
		name  string
		order Order
		want  map[backfill.JobID]backfill.Time
	}{
		{"expr:-EstimatedRunTime", Order{}, map[backfill.JobID]backfill.Time{2: 7, 3: 4}},
		{"expr:JobPrio", Order{}, map[backfill.JobID]backfill.Time{2: 4, 3: 13}},
		{"sjf", Order{}, map[backfill.JobID]backfill.Time{2: 7, 3: 4}},
		{"of a cycle", turned, map[backfill.JobID]backfill.Time{2: 7, 3: 4}},
	} {
		c := configured(t, "easy", "fcfs")
		if c.Order = tt.order; tt.order.named == nil {
			var err error
			c.Order, err = OrderNamed(tt.name)
			require.NoError(t, err)
		}
		c.StartSlack, c.Estimates = 0, estimators(t, "easy", estimate.Settings{All: "accurate"})
		c.Actual = func(id backfill.JobID) backfill.Time { return actual[id] }
		n, err := New(c)
		require.NoError(t, err)
		cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 1, "")}, Submitted: []*Job{newJob(t, 1, 1, "")}})
		cycle(t, n, Delta{Now: 1, Submitted: []*Job{newJob(t, 2, 1, "JobPrio = 5"), newJob(t, 3, 1, "JobPrio = 1")}})
		require.Equal(t, tt.want, told(t, t, n, ahead.Bounds{}), tt.name)
	}
}

// checkOutlook plays the outlook ahead. No job starts in the past, every job that is told a start
// waits, and promises are kept unless a running job has outlived what it requests.
func checkOutlook(tb testing.TB, r *rapid.T, n *Negotiator) {
	tb.Helper()
	starts := told(tb, r, n, ahead.Bounds{Rounds: 200})
	outlived := false
	for _, s := range n.State().Snapshot().Jobs {
		outlived = outlived || s.Running && s.End > s.Start+s.Job.Estimate
	}
	for _, s := range n.State().Snapshot().Jobs {
		start, known := starts[s.Job.ID]
		switch {
		case !known:
			continue
		case !outlived && s.Promised:
			require.LessOrEqual(r, start, s.Guarantee, "job %d", s.Job.ID)
		}
		require.False(r, s.Running || s.Held != "", "job %d", s.Job.ID)
		require.GreaterOrEqual(r, start, n.State().Now(), "job %d", s.Job.ID)
	}
}

// TestArrivalsUnderAnotherOrder: those that came under one kind of order may come again under another,
// which sees their ads or does not.
func TestArrivalsUnderAnotherOrder(t *testing.T) {
	for _, orders := range [][2]string{{"expr:-EstimatedRunTime", "fcfs"}, {"fcfs", "expr:-EstimatedRunTime"}} {
		n := predicting(t, "easy", orders[0], estimate.Settings{}, nil)
		d := Delta{SlotsUp: []*Slot{newSlot(t, "a", 1, "")}}
		for id := range leastArrivals + 1 {
			d.Submitted = append(d.Submitted, newJob(t, id, 1, ""))
		}
		cycle(t, n, d)
		cycle(t, n, Delta{Now: 10, Completed: []backfill.JobID{0}})
		require.NoError(t, n.Change(change(t, "easy", orders[1], estimate.Settings{})))
		cycle(t, n, Delta{Now: 11})
		o, c := n.Outlook(), configured(t, "easy", "fcfs")
		require.NotEmpty(t, o.come)
		ranges, err := o.Futures(t.Context(), FuturesOptions{Futures: ahead.Futures{Count: 2}, Seed: 1},
			func() (ahead.Rules, func(), error) {
				main, err := again(t.Context(), c.Policy)
				return o.Rules(main, c.Fallback), nil, err
			}, ahead.Bounds{Rounds: 50})
		require.NoError(t, err)
		require.NotEmpty(t, ranges)
	}
}
