package htcondor

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// busy is a machine with a job that runs, and another one that waits for it.
func busy(t *testing.T) (w *world, runs *sleeper) {
	t.Helper()
	w = newWorld(t, "easy", small(4))
	runs = w.submit(&sleeper{cpus: 4, seconds: 20, estimate: 10_000})
	w.submit(&sleeper{cpus: 4, seconds: 20, estimate: 10_000})
	w.pass(16)
	require.EqualValues(t, 2, runs.status)
	w.pool.cycleEnd = w.pool.now()
	w.pool.beginWatch()
	return w, runs
}

// finish lets time pass until a job has ended and the collector knows it.
func (w *world) finish(j *sleeper) {
	for !j.done {
		w.step()
	}
	w.step()
}

// TestEarlyEndIsNoticed: something that became free is noticed between two looks.
func TestEarlyEndIsNoticed(t *testing.T) {
	w, runs := busy(t)
	require.False(t, w.pool.freed(t.Context()), "it is too early to ask")
	w.step()
	require.False(t, w.pool.freed(t.Context()), "nothing became free")
	w.finish(runs)
	require.True(t, w.pool.freed(t.Context()))
	d, report := w.cycle()
	require.Len(t, d.Completed, 1)
	require.Len(t, report.Matches, 1)
	w.pool.cycleEnd = w.pool.now()
	w.pool.beginWatch()
	require.False(t, w.pool.watching, "no job waits any more")
}

// TestEarlyEndEndsTheWait: Fetch returns when something became free, not when the next look is due.
func TestEarlyEndEndsTheWait(t *testing.T) {
	w, runs := busy(t)
	w.finish(runs)
	asked := int64(0)
	w.pool.now = func() time.Time { // a second later each time
		asked++
		return time.Unix(w.now+asked, 0)
	}
	w.pool.s.Interval = 1000 * time.Hour // longer than any test
	ctx, cancel := context.WithTimeout(t.Context(), poll.Patience)
	defer cancel()
	d, err := w.pool.Fetch(ctx, backfill.Forever)
	require.NoError(t, err)
	require.Len(t, d.Completed, 1)
}

// TestStartdIsBeforeSchedd: if a startd's news comes before the schedd's, there is another look
// soon.
func TestStartdIsBeforeSchedd(t *testing.T) {
	w, runs := busy(t)
	w.finish(runs)
	require.True(t, w.pool.freed(t.Context()))
	runs.done, runs.status = false, 2 // the schedd does not know it yet
	w.publish()
	d, _ := w.cycle()
	require.Empty(t, d.Completed)
	for _, want := range []bool{true, false} { // once
		w.pool.cycleEnd = w.pool.now()
		w.pool.beginWatch()
		w.now += 60
		require.Equal(t, want, w.pool.freed(t.Context()))
		w.pool.endWatch(negotiator.Delta{})
	}
}

// TestWatchIsCheap: what takes long is done seldom.
func TestWatchIsCheap(t *testing.T) {
	w, _ := busy(t)
	w.pool.looked = w.pool.now()
	w.now += 10 // the cycle took so long
	w.pool.cycleEnd = w.pool.now()
	w.pool.beginWatch()
	w.now += 39
	require.False(t, w.pool.freed(t.Context()))
	require.Equal(t, w.pool.now().Add(time.Second), w.pool.asks, "it did not ask")
	w.now++
	require.False(t, w.pool.freed(t.Context()))
	require.Equal(t, w.pool.now().Add(time.Second), w.pool.asks, "it asked, and will soon again")
}

// TestAnObserverFollows: while jobs wait, an observer looks every few seconds, also if it would have
// started them; else at the end of the interval.
func TestAnObserverFollows(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.settings = func(s *Settings) { s.Observe = true }
	w.negotiator("easy", nil)
	due := func() time.Duration {
		w.cycle()
		w.pool.cycleEnd = w.pool.now()
		w.pool.beginWatch()
		return w.pool.due(backfill.Forever).Sub(w.pool.looked)
	}
	require.Equal(t, w.pool.s.Interval, due())
	w.submit(&sleeper{cpus: 4, seconds: 20, estimate: 10_000})
	w.step()
	require.Equal(t, atFollowing, due(), "it would start the job, and the other does not yet")
	w.submit(&sleeper{cpus: 4, seconds: 20, estimate: 10_000})
	w.step()
	require.Equal(t, atFollowing, due())
	require.False(t, w.pool.watching, "nobody is asked in between")
	w.pool.looked = w.pool.looked.Add(-20 * time.Second)
	require.Equal(t, 180*time.Second, w.pool.follow(w.pool.cycleEnd.Add(time.Hour)).Sub(w.pool.cycleEnd), "it is a large pool")
}
