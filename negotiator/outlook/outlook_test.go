package outlook

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// told plays a negotiator's outlook ahead under the policy that is in charge, and returns when the
// waiting jobs start.
func told(tb testing.TB, t require.TestingT, n *negotiator.Negotiator, b ahead.Bounds) map[backfill.JobID]backfill.Time {
	tb.Helper()
	policy, _ := n.State().Policy()
	c := configured(tb, policy, "fcfs")
	o := New(n)
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
		cycle(t, n, negotiator.Delta{
			SlotsUp:   []*negotiator.Slot{newSlot(t, "a", 1, "")},
			Submitted: []*negotiator.Job{newJob(t, 1, 1, ""), newJob(t, 2, 1, ""), newJob(t, 3, 1, "")},
		})
		require.Equal(t, map[backfill.JobID]backfill.Time{2: 4, 3: 7}, told(t, t, n, ahead.Bounds{}), policy)
		one, known := New(n).Of(2)
		require.True(t, known)
		require.Equal(t, Prediction{Requested: 10, Predicted: 3, Correction: backfill.AtLimit}, one)
		_, known = New(n).Of(3)
		require.False(t, known)
		cycle(t, n, negotiator.Delta{Now: 5})
		require.Equal(t, map[backfill.JobID]backfill.Time{2: 10, 3: 13}, told(t, t, n, ahead.Bounds{}),
			"the first one has outlived its prediction, and its request counts, %s", policy)
	}
}

// TestOutlookOfReportedEnds: an end that the pool reports counts, also with a prediction, and a
// lent claim keeps its slot until its lease is over.
func TestOutlookOfReportedEnds(t *testing.T) {
	actual := map[backfill.JobID]backfill.Time{1: 4, 2: 3}
	for _, policy := range []string{"conservative", "easy"} {
		for _, tt := range []struct {
			name  string
			delta negotiator.Delta
			lease backfill.Time
			start backfill.Time
		}{
			{"as planned", negotiator.Delta{Now: 1}, 0, 4},
			{"it began later than it was matched", negotiator.Delta{Now: 2, Ends: []negotiator.End{{Job: 1, At: 12}}}, 0, 6},
			{"leased", negotiator.Delta{Now: 1}, 9, 9},
			{"leased for less time than it runs", negotiator.Delta{Now: 1}, 3, 4},
		} {
			n := predicting(t, policy, "fcfs", estimate.Settings{All: "accurate"}, actual)
			runs := newJob(t, 1, 1, "")
			runs.Lease = tt.lease
			cycle(t, n, negotiator.Delta{
				SlotsUp:   []*negotiator.Slot{newSlot(t, "a", 1, "")},
				Submitted: []*negotiator.Job{runs, newJob(t, 2, 1, "")},
			})
			cycle(t, n, tt.delta)
			require.Equal(t, map[backfill.JobID]backfill.Time{2: tt.start}, told(t, t, n, ahead.Bounds{}),
				"%s, %s", tt.name, policy)
		}
	}
}

// TestOutlookOfOrders plays ahead under orders that see more than the state has.
func TestOutlookOfOrders(t *testing.T) {
	actual := map[backfill.JobID]backfill.Time{1: 4, 2: 9, 3: 3}
	turned := negotiator.OrderOfCycle(func(j *backfill.Job, _ backfill.Moment) (float64, backfill.Moves) {
		return -float64(j.ID), backfill.Moves{WithTime: true}
	})
	for _, tt := range []struct {
		name  string
		order negotiator.Order
		want  map[backfill.JobID]backfill.Time
	}{
		{"expr:-EstimatedRunTime", negotiator.Order{}, map[backfill.JobID]backfill.Time{2: 7, 3: 4}},
		{"expr:JobPrio", negotiator.Order{}, map[backfill.JobID]backfill.Time{2: 4, 3: 13}},
		{"sjf", negotiator.Order{}, map[backfill.JobID]backfill.Time{2: 7, 3: 4}},
		{"of a cycle", turned, map[backfill.JobID]backfill.Time{2: 7, 3: 4}},
	} {
		c := configured(t, "easy", "fcfs")
		if c.Order = tt.order; !tt.order.OfCycle() {
			var err error
			c.Order, err = negotiator.OrderNamed(tt.name)
			require.NoError(t, err)
		}
		c.StartSlack, c.Estimates = 0, estimators(t, "easy", estimate.Settings{All: "accurate"})
		c.Actual = func(id backfill.JobID) backfill.Time { return actual[id] }
		n, err := negotiator.New(c)
		require.NoError(t, err)
		cycle(t, n, negotiator.Delta{SlotsUp: []*negotiator.Slot{newSlot(t, "a", 1, "")}, Submitted: []*negotiator.Job{newJob(t, 1, 1, "")}})
		cycle(t, n, negotiator.Delta{Now: 1, Submitted: []*negotiator.Job{newJob(t, 2, 1, "JobPrio = 5"), newJob(t, 3, 1, "JobPrio = 1")}})
		require.Equal(t, tt.want, told(t, t, n, ahead.Bounds{}), tt.name)
	}
}

// TestArrivalsUnderAnotherOrder: those that came under one kind of order may come again under another,
// which sees their ads or does not.
func TestArrivalsUnderAnotherOrder(t *testing.T) {
	for _, orders := range [][2]string{{"expr:-EstimatedRunTime", "fcfs"}, {"fcfs", "expr:-EstimatedRunTime"}} {
		n := predicting(t, "easy", orders[0], estimate.Settings{}, nil)
		d := negotiator.Delta{SlotsUp: []*negotiator.Slot{newSlot(t, "a", 1, "")}}
		for id := range leastArrivals + 1 {
			d.Submitted = append(d.Submitted, newJob(t, id, 1, ""))
		}
		cycle(t, n, d)
		require.Empty(t, New(n).arrivals, "one burst says nothing of the next")
		cycle(t, n, negotiator.Delta{Now: 10, Completed: []backfill.JobID{0}})
		require.NoError(t, n.Change(change(t, "easy", orders[1], estimate.Settings{})))
		cycle(t, n, negotiator.Delta{Now: leastSpan})
		o, c := New(n), configured(t, "easy", "fcfs")
		require.NotEmpty(t, o.arrivals)
		ranges, err := o.Futures(t.Context(), FuturesOptions{Futures: ahead.Futures{Count: 2}, Seed: 1},
			func() (ahead.Rules, func(), error) {
				main, err := again(t.Context(), c.Policy)
				return o.Rules(main, c.Fallback), nil, err
			}, ahead.Bounds{Rounds: 50})
		require.NoError(t, err)
		require.NotEmpty(t, ranges)
	}
}
