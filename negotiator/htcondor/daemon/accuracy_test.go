package daemon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// TestAccuracy follows jobs from what they are told to their starts. The first to arrive is told a
// start 100 s ahead and gets one after 40 s; the next is told one more behind it.
func TestAccuracy(t *testing.T) {
	w := newWorld()
	first := w.begin()
	first.Submitted = append(first.Submitted, w.job(3, 4, 10))
	o := w.options("easy")
	d, end := run(t, o)
	w.deltas <- first
	told := func() [whens]int {
		d.accuracy.mu.Lock()
		defer d.accuracy.mu.Unlock()
		return [whens]int{len(d.accuracy.told[atArrival]), len(d.accuracy.told[atHead])}
	}
	poll.Equal(t, [whens]int{2, 1}, told)
	w.deltas <- negotiator.Delta{Now: 1037, Completed: []backfill.JobID{1}}
	poll.Equal(t, [whens]int{2, 2}, told) // forecasts are made beside cycles: this one has the third job first
	w.deltas <- negotiator.Delta{Now: 1042, Began: []negotiator.Began{{Job: 2, At: 1040}}}
	poll.Equal(t, int64(1), func() int64 { return d.accuracy.measure()[atArrival].Jobs })
	poll.Equal(t, [whens]int{1, 1}, told)
	w.deltas <- negotiator.Delta{Now: 1045, Completed: []backfill.JobID{2}}
	w.deltas <- negotiator.Delta{Now: 1046, Completed: []backfill.JobID{3}} // nobody saw it run
	poll.Equal(t, int64(2), func() int64 { return d.accuracy.measure()[atArrival].Jobs })
	require.NoError(t, end())
	require.Equal(t, [whens]Accuracy{
		{Told: "arrival", Jobs: 2, Median: 60, P90: 105, Minute: new(0.5), TenMinutes: new(1.0)},
		{Told: "head", Jobs: 2, Median: 42, P90: 60, Minute: new(1.0), TenMinutes: new(1.0)},
	}, d.accuracy.measure())
	ad := d.Ad()
	require.Equal(t, d.accuracy.measure(), [whens]Accuracy(ReadAccuracy(ad)))
	for _, name := range AccuracyAttributes() {
		_, there := ad.Lookup(name)
		require.True(t, there, name)
	}
	require.Len(t, AccuracyAttributes(), 14)
	require.Equal(t, [whens]Accuracy{{Told: "arrival"}, {Told: "head"}}, [whens]Accuracy(ReadAccuracy(classad.New())),
		"an older negotiator does not say how near starts were")
}

// TestElsewhereSaysNothing: a job that another negotiator has started says nothing of what it was told
// here, and the page is told of it.
func TestElsewhereSaysNothing(t *testing.T) {
	w := newWorld()
	first := w.begin()
	first.Submitted = append(first.Submitted, w.job(3, 4, 10))
	d, end := run(t, w.options("easy"))
	shown := &screen{}
	d.ShowOn(shown)
	w.deltas <- first
	told := func() int {
		d.accuracy.mu.Lock()
		defer d.accuracy.mu.Unlock()
		return len(d.accuracy.told[atArrival])
	}
	poll.Equal(t, 2, told)
	w.deltas <- negotiator.Delta{Now: 1037, Completed: []backfill.JobID{1}} // it starts the second job
	w.deltas <- negotiator.Delta{
		Now: 1042, Completed: []backfill.JobID{2}, Removed: []backfill.JobID{3}, Elsewhere: []backfill.JobID{2, 3},
	}
	poll.Equal(t, 0, told)
	require.NoError(t, end())
	require.Zero(t, d.accuracy.measure()[atArrival].Jobs)
	require.Equal(t, []backfill.JobID{2, 3}, shown.elsewhere)
}

// TestAnObserverIsAccurate: what it told is compared with when another negotiator starts the job, not with
// when it would have started the job itself. A job that went unseen says nothing.
func TestAnObserverIsAccurate(t *testing.T) {
	w := newWorld()
	first := w.begin()
	first.Submitted = append(first.Submitted, w.job(3, 4, 10))
	o := w.options("easy")
	o.Observe = true
	d, end := run(t, o)
	w.deltas <- first
	told := func() int {
		d.accuracy.mu.Lock()
		defer d.accuracy.mu.Unlock()
		return len(d.accuracy.told[atArrival])
	}
	poll.Equal(t, 2, told)
	w.deltas <- negotiator.Delta{Now: 1100, Completed: []backfill.JobID{1}}                // it would start the second job
	w.deltas <- negotiator.Delta{Now: 1110, StartFailed: []backfill.JobID{2}}              // the other does not
	w.deltas <- negotiator.Delta{Now: 1122, Began: []negotiator.Began{{Job: 2, At: 1120}}} // and then it does
	poll.Equal(t, int64(1), func() int64 { return d.accuracy.measure()[atArrival].Jobs })
	w.deltas <- negotiator.Delta{Now: 1130, Completed: []backfill.JobID{2}}
	w.deltas <- negotiator.Delta{Now: 1140, Removed: []backfill.JobID{3}}
	poll.Equal(t, 0, told)
	require.NoError(t, end())
	require.Equal(t, Accuracy{Told: "arrival", Jobs: 1, Median: 20, P90: 20, Minute: new(1.0), TenMinutes: new(1.0)}, d.accuracy.measure()[atArrival])
	require.Equal(t, []backfill.Time{20}, d.n.Delays().All(), "so long after it would have started the job itself")
}

// TestAccuracyOfRanges counts the jobs that start in the range that they were told, and forgets those
// that wait no more.
func TestAccuracyOfRanges(t *testing.T) {
	at := func(n int64) *int64 { return &n }
	var a accuracy
	a.tell(&Forecast{Jobs: []JobForecast{
		{ID: 1, Situation: "waits", Start: at(50), P10: at(40), P50: at(50), P90: at(60)},
		{ID: 2, Situation: "waits", Start: at(50), P10: at(40), P50: at(50), P90: at(int64(backfill.Forever))},
		{ID: 3, Situation: "waits", Start: at(50)},
		{ID: 4, Situation: "runs", Start: at(1)},
		{ID: 5, Situation: "waits"},
		{ID: 6, Situation: "reserved", Start: at(9)},
	}})
	a.tell(&Forecast{Jobs: []JobForecast{{ID: 1, Situation: "waits", Start: at(99)}}}) // it was told before
	require.Len(t, a.told[atArrival], 4)
	r := &negotiator.Report{Delta: negotiator.Delta{Now: 61}, State: backfill.NewState([]string{"cpus"}, 0)}
	for id := range backfill.JobID(4) {
		r.Matches = append(r.Matches, negotiator.Match{Job: &negotiator.Job{ID: id}})
	}
	a.follow(r, false)
	require.Equal(t, Accuracy{
		Told: "arrival", Jobs: 3, Ranged: 2, Median: 11, P90: 11, Minute: new(1.0), TenMinutes: new(1.0), Within: 0.5,
	}, a.measure()[atArrival])
	require.Empty(t, a.told[atArrival], "nobody waits")
}
