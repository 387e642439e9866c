package backfill_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// after returns the job with an earliest start.
func after(release backfill.Time, j *backfill.Job) *backfill.Job {
	j.Release = release
	return j
}

func TestAnEarliestStartIsBounded(t *testing.T) {
	for _, release := range []backfill.Time{-1, backfill.MaxTime + 1} {
		_, err := newState(t, cpus(1)).Open(backfill.Round{Events: submitted(after(release, job(1, 0, 10, 1)))})
		require.ErrorContains(t, err, fmt.Sprintf("job 1: may not start before %d: must be from 0 to", release))
	}
}

func TestNothingStartsOrIsPlannedBeforeItsEarliestStart(t *testing.T) {
	late := after(30, job(1, 0, 10, 1))
	arrive := backfill.Round{Events: submitted(late, job(2, 0, 5, 1))}
	for _, tt := range []struct {
		name string
		act  func(*backfill.Cycle)
		err  string
	}{
		{
			"start", func(c *backfill.Cycle) { c.Start(late, on(0, 1)) },
			"start job 1: it may not start before 30, and it is 0",
		},
		{
			"reserve", func(c *backfill.Cycle) { c.Reserve(late, 29, on(0, 1)) },
			"reserve for job 1: the start at 29 is before 30, its earliest",
		},
	} {
		_, err := attempt(t, newState(t, cpus(4)), arrive, func(c *backfill.Cycle) {
			drain(c)
			tt.act(c)
		})
		require.EqualError(t, err, tt.err, tt.name)
	}
	s := newState(t, cpus(4))
	accept(t, s, arrive, func(c *backfill.Cycle) {
		drain(c)
		require.Equal(t, []backfill.JobID{2}, queueIDs(c))
		require.Empty(t, slices.Collect(c.Fast().Behind(job(2, 0, 5, 1))))
		require.Equal(t, []backfill.JobID{1, 2}, ids(slices.Collect(c.Waiting())))
		_, fits := c.FitsNow(late)
		require.False(t, fits)
		for _, notBefore := range []backfill.Time{0, 29, 30} {
			start, at, ok := c.Earliest(late, notBefore)
			require.True(t, ok)
			require.Equal(t, backfill.Time(30), start)
			require.Equal(t, on(0, 1), at)
		}
		start, _, _ := c.Earliest(late, 31)
		require.Equal(t, backfill.Time(31), start)
		_, _, ok := c.Fast().EarliestBefore(late, 0, 30)
		require.False(t, ok)
		start, _, ok = c.Fast().EarliestBefore(late, 0, 31)
		require.True(t, ok)
		require.Equal(t, backfill.Time(30), start)
		_, ok = c.Fast().PlaceAt(late, 29)
		require.False(t, ok)
		for j := range c.Fast().Fitting(nil) {
			require.Equal(t, backfill.JobID(2), j.ID)
		}
		c.Reserve(late, 30, on(0, 1))
		for j := range c.Fast().Startable() {
			require.Equal(t, backfill.JobID(2), j.ID)
		}
	})
}

// TestAJobIsLookedAtWhenItMayStart checks that the host wakes at a job's earliest start and tells the
// policy so, unless another event of the round is about the job.
func TestAJobIsLookedAtWhenItMayStart(t *testing.T) {
	s := newState(t, cpus(1))
	main := &recorder{Decider: link(t, "fcfs", nil)}
	h, err := backfill.NewHost(s, nil, main, link(t, "fcfs", nil), nil)
	require.NoError(t, err)
	kinds := func() (kinds []string) {
		for _, e := range main.rounds[len(main.rounds)-1].Events {
			kinds = append(kinds, fmt.Sprint(e.Kind, " ", e.JobID))
		}
		return kinds
	}
	decide(t, h, 0, submitted(after(7, job(1, 0, 10, 1)), after(9, job(2, 0, 10, 1)), after(9, job(3, 0, 10, 1)),
		after(9, job(4, 0, 10, 2)))...)
	require.Equal(t, backfill.Time(7), s.NextWake())
	require.Empty(t, startedIDs(decide(t, h, 6)))
	require.Equal(t, []backfill.JobID{1}, startedIDs(decide(t, h, 7)))
	require.Equal(t, []string{"released 1"}, kinds())
	require.Equal(t, backfill.Time(9), s.NextWake())
	edited := after(40, job(3, 0, 10, 1))
	decide(t, h, 9, backfill.Event{Kind: backfill.Changed, Job: edited})
	require.Equal(t, []string{"changed 0", "released 2"}, kinds(), "job 4 is held, as it fits nowhere")
	require.Equal(t, backfill.Time(17), s.NextWake(), "job 1 ends")
	require.Equal(t, []backfill.JobID{2}, startedIDs(decide(t, h, 17, jobEvent(backfill.Completed, 1))))
	decide(t, h, 50, jobEvent(backfill.Completed, 2))
	require.True(t, s.IsRunning(3))
	require.Equal(t, []string{"completed 2", "released 3"}, kinds())
}

func TestAnEventThatReleasesMustBeTrue(t *testing.T) {
	s := newState(t, cpus(4))
	accept(t, s, backfill.Round{Events: submitted(job(1, 0, 10, 1), after(5, job(2, 0, 10, 1)))}, nil)
	for id, want := range map[backfill.JobID]string{
		1: "job 1 does not wait for its earliest start",
		2: "job 2 may not start before 5: it is 4",
		3: "job 3 does not wait for its earliest start",
	} {
		_, err := s.Open(backfill.Round{Now: 4, Events: []backfill.Event{jobEvent(backfill.Released, id)}})
		require.ErrorContains(t, err, want)
	}
}

// TestARefusedReleaseIsUndone checks that a round at a job's earliest start leaves no trace if it is
// refused, whatever the job has: nothing, or a reservation.
func TestARefusedReleaseIsUndone(t *testing.T) {
	for _, reserved := range []bool{false, true} {
		s := newState(t, cpus(4))
		late := after(5, job(1, 0, 10, 1))
		accept(t, s, backfill.Round{Events: submitted(late)}, func(c *backfill.Cycle) {
			drain(c)
			if reserved {
				c.Reserve(late, 8, on(0, 1))
			}
		})
		before := factsOf(s, 0)
		_, err := attempt(t, s, backfill.Round{Now: 5, Events: []backfill.Event{jobEvent(backfill.Released, 1)}},
			func(c *backfill.Cycle) {
				drain(c)
				require.Equal(t, []backfill.JobID{1}, queueIDs(c))
				c.Start(late, on(0, 1))
				c.Start(late, on(0, 1))
			})
		require.ErrorContains(t, err, "you started it earlier in this round")
		require.Equal(t, before, factsOf(s, 0))
		require.Equal(t, backfill.Time(5), s.NextWake())
		accept(t, s, backfill.Round{Now: 4}, func(c *backfill.Cycle) {
			require.Empty(t, queueIDs(c))
			for range c.Fast().Fitting(nil) {
				require.Fail(t, "the job may not start yet")
			}
			for range c.Fast().Startable() {
				require.Fail(t, "the job may not start yet")
			}
		})
	}
}

// TestAJobThatMayNotStartIsNotOvertaken checks that the start of a job behind it counts as one from
// the head of the queue.
func TestAJobThatMayNotStartIsNotOvertaken(t *testing.T) {
	for _, policy := range []string{"fcfs", "conservative"} {
		h := newHost(t, newState(t, cpus(4)), policy, "fcfs")
		d := decide(t, h, 0, submitted(after(50, job(1, 0, 10, 1)), job(2, 0, 10, 1))...)
		require.Equal(t, []backfill.JobID{2}, startedIDs(d))
		require.Equal(t, backfill.ByQueue, d.Started[0].How)
	}
}

func TestWhyAJobMayNotStartYet(t *testing.T) {
	name := func(j *backfill.Job) string { return fmt.Sprint("no. ", j.ID) }
	text := func(h *backfill.Host, id backfill.JobID) string {
		r, ok := h.State.Reason(id)
		require.True(t, ok)
		return h.State.Describe(r, name)
	}
	jobs := submitted(after(50, job(1, 0, 10, 1)), job(2, 0, 10, 1), job(3, 0, 10, 1), job(4, 0, 10, 1))
	h := newHost(t, newState(t, cpus(1)), "first-fit", "fcfs")
	decide(t, h, 0, jobs...)
	require.Equal(t, "may not start before 50", text(h, 1))
	require.Equal(t, "waits", text(h, 3), "it is the first that may start")
	require.Equal(t, "waits behind job no. 3", text(h, 4))
	decide(t, h, 50)
	require.Equal(t, "waits", text(h, 1))

	h = newHost(t, newState(t, cpus(1)), "conservative", "fcfs")
	h.SetPlanning(backfill.Planning{Depth: 1, Reorder: true})
	decide(t, h, 0, submitted(job(0, 0, 10, 1), after(50, job(1, 0, 10, 1)))...)
	require.Equal(t, "no promise yet: next in the plan's order, which reaches 1; may not start before 50", text(h, 1))

	h = newHost(t, newState(t, cpus(1)), "conservative", "fcfs")
	decide(t, h, 0, jobs...)
	require.Equal(t, "reserved, expected start 50 on a×1, guaranteed by 50; may not start before 50", text(h, 1))
}

func TestAPlanFromBeforeTheEarliestStartIsRefused(t *testing.T) {
	h := newHost(t, newState(t, cpus(1)), "conservative", "fcfs")
	decide(t, h, 0, submitted(job(1, 0, 10, 1), job(2, 0, 10, 1))...)
	snap := h.State.Snapshot()
	for i := range snap.Jobs {
		snap.Jobs[i].Job = after(11, snap.Jobs[i].Job)
	}
	_, err := backfill.Restore(snap)
	require.EqualError(t, err, "snapshot: job 2 is planned for 10, and may not start before 11")
}
