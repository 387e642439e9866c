package htcondor

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

func TestEvictedAndRemoved(t *testing.T) {
	w := newWorld(t, "conservative", small(4))
	j := w.submit(&sleeper{cpus: 4, seconds: 100, estimate: 100})
	w.pass(14)
	require.EqualValues(t, 2, j.status)
	w.vacate(j)
	j.status = 1
	w.step()
	d, _ := w.cycle()
	require.Len(t, d.StartFailed, 1, "it is back in the queue")
	w.pass(10)
	require.Equal(t, 2, j.runs)
	w.vacate(j)
	j.done = true
	w.step()
	d, _ = w.cycle()
	require.Len(t, d.Completed, 1)
	ran := backfill.Time(w.now - j.began)
	require.Equal(t, []backfill.Time{ran}, w.taught(d))
}

// taught returns which run times a delta tells of, and the one after it: a run is over when its
// slot has told so, and slots' ads are a second late.
func (w *world) taught(d negotiator.Delta) (ran []backfill.Time) {
	w.step()
	next, _ := w.cycle()
	for _, d := range []negotiator.Delta{d, next} {
		for _, r := range d.Ran {
			if r >= 0 {
				ran = append(ran, r)
			}
		}
		for _, r := range d.Taught {
			if r.Ran >= 0 {
				ran = append(ran, r.Ran)
			}
		}
	}
	return ran
}

// TestStoppedJobsTeachNothing: estimators do not learn from jobs that were stopped, unless the jobs
// used all the time that they asked for.
func TestStoppedJobsTeachNothing(t *testing.T) {
	const held, removed = 5, 3
	for name, c := range map[string]struct {
		status, after int64
		taught        bool
	}{
		"held":                   {held, 14, false},
		"removed":                {removed, 14, false},
		"held at its limit":      {held, 50, true},
		"vanished between looks": {0, 14, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "easy", small(4))
			j := w.submit(&sleeper{cpus: 4, seconds: 100, estimate: 40})
			before := w.submit(&sleeper{cpus: 4, seconds: 1, estimate: 100})
			before.status, before.extra = held, "\nEnteredCurrentStatus = 1"
			w.pass(int(c.after))
			require.EqualValues(t, 2, j.status)
			w.vacate(j)
			j.status, j.done, j.extra = c.status, c.status == 0, fmt.Sprintf("\nEnteredCurrentStatus = %d", w.now)
			w.step()
			d, _ := w.cycle()
			require.Len(t, d.Completed, 1)
			var ran []backfill.Time
			if c.taught {
				ran = []backfill.Time{backfill.Time(w.now - j.began)}
			}
			require.Equal(t, ran, w.taught(d))
			if c.status == held {
				j.status, j.extra = 1, ""
				w.pass(14)
				require.Equal(t, 2, j.runs, "it was released")
				w.vacate(j)
				j.done = true
				w.step()
				d, _ = w.cycle()
				require.Len(t, w.taught(d), 1)
			}
		})
	}
}

func TestFailedStartIsTriedAgain(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.fate = func(*sleeper) fate { return fails }
	j := w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10})
	w.pass(20)
	require.Equal(t, 1, w.starts, "it is in flight")
	w.pass(20)
	require.Equal(t, 2, w.starts)
	require.Equal(t, 1, w.pool.Last().Unstarted)
	require.Contains(t, w.log.String(), "its schedd was told, and did not start it")
	w.fate = func(*sleeper) fate { return works }
	w.pass(60)
	require.True(t, j.done)
}

func TestFoundElsewhere(t *testing.T) {
	w := newWorld(t, "conservative", &node{name: "n1", cpus: 4, memory: 4096}, &node{name: "n2", cpus: 4, memory: 4096})
	j := w.submit(&sleeper{cpus: 4, seconds: 50, estimate: 50})
	j.status, j.began, j.at = 2, w.now-10, map[*node]int{w.nodes[1]: 1}
	w.nodes[1].parts[j] = 1
	w.step()
	w.step()
	d, _ := w.cycle()
	require.Len(t, d.Found, 1)
	require.Equal(t, "slot1@n2×1", d.Found[0].Placement.String())
	require.EqualValues(t, j.began, d.Found[0].Start)
	w.vacate(j)
	j.at = map[*node]int{w.nodes[0]: 1}
	w.nodes[0].parts[j] = 1
	w.step()
	w.step()
	d, _ = w.cycle()
	require.Len(t, d.Found, 1, "it has moved")
	require.Equal(t, "slot1@n1×1", d.Found[0].Placement.String())
}

func TestEditedJob(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	running := w.submit(&sleeper{cpus: 4, seconds: 500, estimate: 600})
	w.pass(6)
	j := w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10})
	w.pass(4)
	j.estimate = 50
	running.estimate = 900
	w.step()
	d, _ := w.cycle()
	require.Len(t, d.Changed, 1)
	require.EqualValues(t, 50, d.Changed[0].Estimate)
	require.Len(t, d.Ends, 1)
	require.EqualValues(t, running.began+900+60, d.Ends[0].At)
	w.step()
	d, _ = w.cycle()
	require.Empty(t, d.Changed)
	require.Empty(t, d.Ends)
}

// TestJobThatLeavesDuringALook: when a look asks twice, a job that only the first answer had has
// left its queue, and it is known how long it ran.
func TestJobThatLeavesDuringALook(t *testing.T) {
	w := newWorld(t, "conservative",
		&node{name: "n1", cpus: 4, memory: 4096, static: true},
		&node{name: "n2", cpus: 4, memory: 4096, static: true},
	)
	w.cycle()
	first := w.submit(&sleeper{cpus: 1, seconds: 1000, estimate: 1000})
	w.step()
	w.step()
	w.cycle()
	for first.status != 2 {
		w.step()
	}
	w.now += 10
	next := w.submit(&sleeper{cpus: 1, seconds: 1000, estimate: 1000, extra: "\nRank = TARGET.Foo"})
	w.publish()
	asks := 0
	w.schedd.Before(func(_ context.Context, command int) error {
		if command == 516 { // it is asked for its jobs, and for those that were stopped
			if asks++; asks == 3 {
				w.schedd.SetJobs(next.ad())
			}
		}
		return nil
	})
	d, _ := w.cycle()
	require.GreaterOrEqual(t, asks, 4, "it was asked twice")
	require.Len(t, d.Completed, 1)
	require.Len(t, d.Submitted, 1)
	ran := backfill.Time(w.now - first.began)
	first.done = true
	w.vacate(first)
	w.step()
	require.Equal(t, []backfill.Time{ran}, w.taught(d), "its slot, whose ad is late")
}
