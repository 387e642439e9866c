package negotiator

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// licensed is a job that takes so much of limits.
func licensed(tb testing.TB, id int, takes ...Take) *Job {
	tb.Helper()
	j := newJob(tb, id, 1, "")
	j.Takes = takes
	return j
}

// TestLimitsAreRows: a job takes of the limits that are there; of one that comes later, it does from
// then on, waiting or running. Rows of limits that are gone are used again once no job names them.
func TestLimitsAreRows(t *testing.T) {
	n := newNegotiator(t)
	takes := func(id backfill.JobID) []backfill.Take { return n.State().Job(id).Takes }
	few, many := []Take{{"b", 1}, {"a", 2}}, []Take{{"a", 1}, {"c", 1}}
	cycle(t, n, Delta{
		SlotsUp: []*Slot{newSlot(t, "n", 2, "")}, Limits: []Limit{{"a", 9}},
		Submitted: []*Job{licensed(t, 1, few...), licensed(t, 2, many...), licensed(t, 3, few...)},
	})
	require.True(t, n.State().IsRunning(1))
	require.Equal(t, []backfill.Take{{Row: 0, Amount: 2}}, takes(1))
	before, _ := n.State().Reason(1)

	cycle(t, n, Delta{
		Now: 2, Limits: []Limit{{"b", 5}, {"a", 8}},
		Ends: []End{{Job: 2, At: 30}},
	})
	for id := range backfill.JobID(4) {
		if id != 0 && id != 2 {
			require.Equal(t, []backfill.Take{{Row: 0, Amount: 2}, {Row: 1, Amount: 1}}, takes(id), id)
		}
	}
	require.Equal(t, []backfill.Take{{Row: 0, Amount: 1}}, takes(2))
	after, _ := n.State().Reason(1)
	require.Equal(t, before, after)
	require.Equal(t, []Limit{{"a", 8}, {"b", 5}}, n.limits.list())

	cycle(t, n, Delta{Now: 3, Limits: []Limit{{"c", 1}}, LimitsGone: []string{"b"}, Ends: []End{{Job: 2, At: 40}}})
	require.Equal(t, []backfill.Take{{Row: 0, Amount: 1}, {Row: 2, Amount: 1}}, takes(2))
	run, _ := n.State().Reason(2)
	require.Equal(t, backfill.Runs, run.Why)
	require.Equal(t, backfill.Time(40), endOf(n, 2))

	cycle(t, n, Delta{Now: 4, Completed: []backfill.JobID{1}, Removed: []backfill.JobID{3}})
	cycle(t, n, Delta{Now: 5, Limits: []Limit{{"d", 1}}, Submitted: []*Job{licensed(t, 4, Take{"d", 1}, Take{"b", 1})}})
	require.Equal(t, []backfill.Take{{Row: 1, Amount: 1}}, takes(4), "the row of b, which nobody named")
	cycle(t, n, Delta{Now: 6, Limits: []Limit{{"b", 7}}})
	require.Equal(t, []backfill.Take{{Row: 1, Amount: 1}, {Row: 3, Amount: 1}}, takes(4))
	cycle(t, n, Delta{Now: 7, LimitsGone: []string{"b"}})
	cycle(t, n, Delta{Now: 8, Limits: []Limit{{"b", 7}, {"e", 7}}})
	require.Equal(t, []Limit{{"a", 8}, {"d", 1}, {"c", 1}, {"b", 7}, {"e", 7}}, n.limits.list(), "b has its row again")

	again, err := Restore(Config{
		Schema: twoResources(), Policy: linked(t, "easy"), Fallback: linked(t, "fcfs"),
	}, n.Checkpoint())
	require.NoError(t, err)
	require.Equal(t, n.limits.list(), again.limits.list())
	require.Equal(t, takes(4), again.State().Job(4).Takes)
}

// endOf returns when a running job is expected to end.
func endOf(n *Negotiator, id backfill.JobID) backfill.Time {
	for run := range n.State().Running() {
		if run.Job.ID == id {
			return run.End
		}
	}
	return 0
}

// TestImpossibleLimits: limits and takes that cannot be are refused, and change nothing.
func TestImpossibleLimits(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{Limits: []Limit{{"a", 1}}})
	for want, d := range map[string]Delta{
		`limit "a" is reported twice`:                          {Limits: []Limit{{"a", 1}, {"a", 2}}},
		`limit "" has no name`:                                 {Limits: []Limit{{"", 1}}},
		`limit "b" has a height of -1: must be from 0 to`:      {Limits: []Limit{{"b", -1}}},
		`limit "b" is gone, and was not there`:                 {LimitsGone: []string{"b"}},
		`limit "a" is gone, and is reported, too`:              {Limits: []Limit{{"a", 1}}, LimitsGone: []string{"a"}},
		`job 1.1: it takes 0 of the limit "a": must be from 1`: {Submitted: []*Job{licensed(t, 1, Take{"a", 0})}},
	} {
		d.Now = 1
		_, err := n.RunCycle(t.Context(), d)
		require.ErrorContains(t, err, want)
	}
	require.True(t, slices.Equal([]Limit{{"a", 1}}, n.limits.list()))
}
