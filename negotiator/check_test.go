package negotiator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// busy is a negotiator with a slot a of two cpus, where job 1 runs from 0 to 10, and a slot b that
// is gone. Job 2 waits and job 3 is held.
func busy(t *testing.T) (n *Negotiator, a *Slot) {
	t.Helper()
	n = newNegotiator(t)
	a = newSlot(t, "a", 2, "")
	r := cycle(t, n, Delta{SlotsUp: []*Slot{a, newSlot(t, "b", 2, "")}})
	require.Empty(t, r.Matches)
	r = cycle(t, n, Delta{
		Now: 0, SlotsDown: []string{"b"},
		Submitted: []*Job{newJob(t, 1, 2, ""), newJob(t, 2, 2, ""), newJob(t, 3, 4, "")},
	})
	require.Equal(t, []string{"1.1@a×1"}, started(r))
	return n, a
}

func TestDeltasThatCannotBeTrue(t *testing.T) {
	n, a := busy(t)
	before := textOf(n.Checkpoint())
	run := func(j *Job, start backfill.Time, at ...Chunks) Delta {
		return Delta{Now: 4, Found: []Running{{Job: j, Placement: at, Start: start}}}
	}
	four, pair := newJob(t, 4, 1, ""), newJob(t, 4, 1, "MinHosts = 2")
	for want, d := range map[string]Delta{
		"job 1.9 (ID 9) was edited, but does not wait": {Now: 4, Changed: []*Job{newJob(t, 9, 1, "")}},
		"job 1.1 (ID 1) was edited, but does not wait": {Now: 4, Changed: []*Job{newJob(t, 1, 1, "")}},
		"job ID 2 is reported twice": {
			Now:     4,
			Changed: []*Job{newJob(t, 2, 1, ""), newJob(t, 2, 1, "")},
		},
		"job ID 1 is reported twice": {Now: 4, Completed: ids{1}, Ends: []End{{1, 9}}},
		"job 1.2: 0 chunks": {
			Now:     4,
			Changed: []*Job{{ID: 2, Name: "1.2", Ad: four.Ad}},
		},
		"job 1.4 runs, but slot b is not there":           run(four, 0, Chunks{Slot: &Slot{Name: "b"}, Count: 1}),
		"job 1.4 runs, but slot z is not there":           run(four, 0, Chunks{Slot: &Slot{Name: "z"}, Count: 1}),
		"job 1.4 runs, but on a slot that is none":        run(four, 0, Chunks{Slot: nil, Count: 1}),
		"job 1.4 runs, but 0 of its 1 chunks are placed":  run(four, 0),
		"job 1.4 runs, but 2 of its 1 chunks are on slot": run(four, 0, Chunks{Slot: a, Count: 2}),
		"job 1.4 runs, but 1 of its 2 chunks are placed":  run(pair, 0, Chunks{Slot: a, Count: 1}),
		"job 1.4 runs, but slot a is named twice": run(pair, 0, Chunks{Slot: a, Count: 1},
			Chunks{Slot: a, Count: 1}),
		"job 1.4 cannot run from 5 to 0: it is 4": run(four, 5, Chunks{Slot: a, Count: 1}),
		"job ID 4 is reported twice": {
			Now: 4, Submitted: []*Job{four},
			Found: []Running{{Job: four, Placement: Placement{{Slot: a, Count: 1}}}},
		},
		"job ID 2 is expected to end at 9, but does not": {Now: 4, Ends: []End{{2, 9}}},
		"job ID 7 is expected to end at 9, but does not": {Now: 4, Ends: []End{{7, 9}}},
		"job 1.1 is expected to end at 4, and it is 4":   {Now: 4, Ends: []End{{1, 4}}},
		"job 1.4 runs, but slot a is not there": {
			Now: 4, SlotsDown: []string{"a"},
			Found: []Running{{Job: four, Placement: Placement{{Slot: a, Count: 1}}}},
		},
		"job 1.5 (ID 5) was submitted twice": {
			Now:       4,
			Submitted: []*Job{newJob(t, 5, 1, ""), newJob(t, 5, 1, "")},
		},
		"job 1.4 runs, but -1 of its 1 chunks are on slot": run(four, 0, Chunks{Slot: a, Count: -1}),
	} {
		_, err := n.RunCycle(t.Context(), d)
		require.ErrorContains(t, err, "cannot be true")
		require.ErrorContains(t, err, want)
		require.Equal(t, before, textOf(n.Checkpoint()), want)
	}
}

func TestAJobIsEdited(t *testing.T) {
	n, _ := busy(t)
	cycle(t, n, Delta{Now: 1, Changed: []*Job{newJob(t, 3, 2, "EstimatedRunTime = 5")}})
	require.Equal(t, "waits", why(t, n, 3), "it was too large")
	narrow := newJob(t, 2, 1, "")
	r := cycle(t, n, Delta{Now: 2, Changed: []*Job{narrow}, Completed: ids{1}})
	require.Equal(t, []string{"1.2@a×1"}, started(r))
	require.Same(t, narrow, n.Job(2))
	require.Equal(t, backfill.Vector{1, 0}, n.State().Use())
}

func TestJobsAreFound(t *testing.T) {
	n, a := busy(t)
	stranger, two := newJob(t, 8, 1, ""), newJob(t, 2, 2, "")
	b := newSlot(t, "b", 2, "")
	r := cycle(t, n, Delta{Now: 4, SlotsUp: []*Slot{b}, Found: []Running{
		{Job: stranger, Placement: Placement{{Slot: a, Count: 1}}, Start: 3, End: 50},
		{Job: two, Placement: Placement{{Slot: b, Count: 1}}, Start: 2},
	}})
	require.Empty(t, r.Matches)
	require.Equal(t, "runs", why(t, n, 8))
	require.Same(t, two, n.Job(2))
	require.Equal(t, backfill.Vector{5, 0}, n.State().Use(), "3 cpus of 2 on a")
	m := n.Checkpoint()
	require.Equal(t, []JobCheckpoint{
		{Job: n.Job(1), Placement: Placement{{Slot: a, Count: 1}}, Standing: backfill.Standing{Running: true, End: 10}},
		{Job: two, Placement: Placement{{Slot: b, Count: 1}}, Standing: backfill.Standing{Running: true, Start: 2, End: 12}},
		{Job: n.Job(3), Standing: backfill.Standing{Held: backfill.ReasonNeverFits}},
		{Job: stranger, Placement: Placement{{Slot: a, Count: 1}}, Standing: backfill.Standing{Running: true, Start: 3, End: 50}},
	}, m.Jobs)
	require.Equal(t, []*Slot{a, b}, m.Slots)

	r = cycle(t, n, Delta{
		Now: 10, Completed: ids{1, 2}, Ends: []End{{8, 20}},
		Submitted: []*Job{newJob(t, 9, 2, ""), newJob(t, 10, 2, "")},
	})
	require.Equal(t, []string{"1.9@b×1"}, started(r))
	reason, _ := n.State().Reason(10)
	require.EqualValues(t, 20, reason.At)
	r = cycle(t, n, Delta{Now: 11, StartFailed: ids{8}}) // it was evicted
	require.Equal(t, []string{"1.8@a×1"}, started(r), "back in the queue, with its submit time")
}

// TestStartSlack: the slack lengthens planned times, but not the estimate that an order sees.
func TestStartSlack(t *testing.T) {
	c := configured(t, "conservative", "expr:-EstimatedRunTime")
	c.Schema.Limits, c.StartSlack = []string{"Limit"}, 60
	n, err := New(c)
	require.NoError(t, err)
	limited, _ := c.Schema.JobFromAd(1, newJob(t, 1, 2, "Limit = 30").Ad)
	none, _ := c.Schema.JobFromAd(2, newJob(t, 2, 2, "EstimatedRunTime = undefined").Ad)
	a := newSlot(t, "a", 2, "")
	cycle(t, n, Delta{SlotsUp: []*Slot{a}, Submitted: []*Job{limited, none}})
	jobs := n.State().Snapshot().Jobs
	require.Equal(t, []backfill.Time{70, 90}, []backfill.Time{jobs[0].Job.Estimate, jobs[0].Job.Limit})
	require.Equal(t, []backfill.Time{DefaultEstimate + 60, 0}, []backfill.Time{jobs[1].Job.Estimate, jobs[1].Job.Limit})
	require.EqualValues(t, 70, jobs[1].Start)
	cycle(t, n, Delta{Now: 5, Found: []Running{{
		Job:       newJob(t, 3, 1, ""),
		Placement: Placement{{Slot: a, Count: 1}}, Start: 4,
	}}})
	require.EqualValues(t, 74, n.State().Snapshot().Jobs[2].End)

	c.Policy, c.Fallback = linked(t, "easy"), linked(t, "easy")
	n, err = New(c)
	require.NoError(t, err)
	cycle(t, n, Delta{SlotsUp: []*Slot{a}, Submitted: []*Job{limited, none}})
	require.Equal(t, []float64{10, float64(DefaultEstimate)},
		[]float64{n.State().Snapshot().Jobs[0].Key, n.State().Snapshot().Jobs[1].Key})

	for _, wrong := range []backfill.Time{-1, 1 << 50} {
		c.StartSlack = wrong
		_, err = New(c)
		require.ErrorContains(t, err, "start slack")
	}
}
