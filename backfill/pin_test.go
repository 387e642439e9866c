package backfill_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// sooner has a job make way for another, and pinned gives that one its place.
func sooner(victim, other backfill.JobID, end backfill.Time) backfill.Event {
	return backfill.Event{Kind: backfill.EndsSooner, JobID: victim, By: other, End: end}
}

func pinned(id backfill.JobID, start backfill.Time, at backfill.Placement) backfill.Event {
	return backfill.Event{Kind: backfill.Pinned, JobID: id, Start: start, Placement: at}
}

// TestAJobMakesWay follows a preemption from the plan to the victim's second start, under a policy with
// guarantees and one without: what is idle until the take-over is used, the plan knows the instant, the
// victim's promise was kept and it is promised anew.
func TestAJobMakesWay(t *testing.T) {
	for _, policy := range []string{"conservative", "easy", "slack"} {
		t.Run(policy, func(t *testing.T) {
			s := newState(t, cpus(4))
			h := newHost(t, s, policy, "fcfs")
			d := decide(t, h, 0, submitted(job(1, 0, 1000, 3))...)
			require.Equal(t, []backfill.JobID{1}, startedIDs(d))
			decide(t, h, 10, submitted(job(2, 10, 100, 4))...)
			start, _, ok := s.Planned(2)
			require.True(t, ok)
			require.GreaterOrEqual(t, start, backfill.Time(1000))

			d = decide(t, h, 10, pinned(2, 40, on(0, 1)), sooner(1, 2, 40))
			require.Empty(t, d.Broken)
			reason, _ := s.Reason(1)
			require.True(t, reason.Yields)
			reason, _ = s.Reason(2)
			require.Equal(t, backfill.TakesOver, reason.Why)
			require.EqualValues(t, 40, reason.At)
			require.Equal(t, on(0, 1), reason.Placement)
			require.Equal(t, cpus(3), s.Use(), "it holds nothing yet")
			require.Equal(t, "takes over a×1, expected start 40, once others have made way",
				s.Describe(reason, func(*backfill.Job) string { return "" }))

			d = decide(t, h, 11, submitted(job(3, 11, 40, 1), job(4, 11, 29, 1))...)
			require.Equal(t, []backfill.JobID{4}, startedIDs(d), "only this one ends in time")
			before := factsOf(s, 11)
			again, err := backfill.Restore(s.Snapshot())
			require.NoError(t, err)
			require.Equal(t, before, factsOf(again, 11))

			d = decide(t, h, 40, jobEvent(backfill.Completed, 4), jobEvent(backfill.StartFailed, 1),
				backfill.Event{Kind: backfill.Found, Job: s.Job(2), Placement: on(0, 1), Start: 40, End: 140})
			require.Empty(t, d.Broken)
			require.Empty(t, d.Started)
			require.Equal(t, cpus(4), s.Use())
			require.True(t, s.IsWaiting(1))
			if _, guarantees := s.Policy(); guarantees {
				latest, promised := s.Guaranteed(1)
				require.True(t, promised)
				require.GreaterOrEqual(t, latest, backfill.Time(140))
			}
			d = decide(t, h, 140, jobEvent(backfill.Completed, 2))
			require.Contains(t, startedIDs(d), backfill.JobID(1), "with its old submit time it comes first")
		})
	}
}

// TestPreemptionLiftsPromises: a reservation without room beside the pinned job is lifted for this cause,
// and WouldLift tells it beforehand, and changes nothing.
func TestPreemptionLiftsPromises(t *testing.T) {
	s := newState(t, cpus(4))
	h := newHost(t, s, "conservative", "fcfs")
	decide(t, h, 0, submitted(job(1, 0, 100, 4))...)
	decide(t, h, 10, submitted(job(2, 10, 50, 4), job(3, 10, 1000, 4))...)
	preempt := []backfill.Event{pinned(3, 20, on(0, 1)), sooner(1, 3, 20)}
	before := factsOf(s, 10)
	lifted, err := s.WouldLift(backfill.Round{Now: 10, Events: preempt})
	require.NoError(t, err)
	require.Equal(t, []backfill.JobID{2}, lifted)
	require.Equal(t, before, factsOf(s, 10))

	d := decide(t, h, 10, preempt...)
	require.Len(t, d.Broken, 1)
	require.Equal(t, backfill.Broken{Job: s.Job(2), Promised: 100, Now: 1020, Cause: backfill.CausePreempted}, d.Broken[0])
	require.Equal(t, "preempted", d.Broken[0].Cause.String())

	lifted, err = s.WouldLift(backfill.Round{Now: 11, Events: []backfill.Event{sooner(1, 3, 12)}})
	require.NoError(t, err)
	require.Empty(t, lifted)
}

// TestPreemptionThatComesToNothing: the start fails, the victim runs on.
func TestPreemptionThatComesToNothing(t *testing.T) {
	s := newState(t, cpus(4))
	h := newHost(t, s, "conservative", "fcfs")
	decide(t, h, 0, submitted(job(1, 0, 100, 4))...)
	decide(t, h, 10, submitted(job(2, 10, 50, 4))...)
	decide(t, h, 10, pinned(2, 20, on(0, 1)), sooner(1, 2, 20))
	d := decide(t, h, 15, jobEvent(backfill.StartFailed, 2),
		backfill.Event{Kind: backfill.Found, Job: s.Job(1), Placement: on(0, 1), Start: 0, End: 100})
	reason, _ := s.Reason(1)
	require.False(t, reason.Yields)
	start, _, ok := s.Planned(2)
	require.True(t, ok)
	require.EqualValues(t, 100, start)
	require.Empty(t, d.Broken, "the promise was no earlier")
}

// TestVictimsThatAreLate: a victim that should be gone is expected to go soon, not at its estimate's end.
func TestVictimsThatAreLate(t *testing.T) {
	s := newState(t, cpus(4))
	h := newHost(t, s, "conservative", "fcfs")
	decide(t, h, 0, submitted(job(1, 0, 10_000, 4))...)
	decide(t, h, 10, submitted(job(2, 10, 50, 4), job(3, 10, 50, 4))...)
	decide(t, h, 10, pinned(2, 20, on(0, 1)), sooner(1, 2, 20))
	decide(t, h, 20)
	require.EqualValues(t, 80, jobState(t, s, 1).End)
	start, _, _ := s.Planned(3)
	require.EqualValues(t, 80, start, "job 3 waits for both")
	d := decide(t, h, 30, jobEvent(backfill.StartFailed, 1),
		backfill.Event{Kind: backfill.Found, Job: s.Job(2), Placement: on(0, 1), Start: 30, End: 80})
	require.Empty(t, d.Started)
	require.True(t, s.IsRunning(2))
	require.Equal(t, cpus(4), s.Use())
}

func TestBadPreemptions(t *testing.T) {
	s := newState(t, cpus(4))
	h := newHost(t, s, "conservative", "fcfs")
	decide(t, h, 0, submitted(job(1, 0, 100, 4))...)
	late := job(3, 10, 50, 4)
	late.Release = 60
	decide(t, h, 10, submitted(job(2, 10, 50, 4), late)...)
	for text, events := range map[string][]backfill.Event{
		"job 2 does not run":                        {sooner(2, 1, 20)},
		"job 9 does not run":                        {sooner(9, 1, 20)},
		"cannot be expected to end at 10: it is 10": {sooner(1, 2, 10)},
		"job 9, which is unknown or itself":         {sooner(1, 9, 20)},
		"job 1, which is unknown or itself":         {sooner(1, 1, 20)},
		"job 1 does not wait":                       {pinned(1, 20, on(0, 1))},
		"cannot take over at 10: it is 10":          {pinned(2, 10, on(0, 1))},
		"promised to start at 100 at the latest":    {pinned(2, 101, on(0, 1))},
		"may not start before 60":                   {pinned(3, 59, on(0, 1))},
		"to take over no slot":                      {pinned(2, 20, nil)},
		"slot 1, which is not there":                {pinned(2, 20, on(1, 1))},
		"has 2 chunks on slot 0":                    {pinned(2, 20, on(0, 2))},
		"more than one event":                       {sooner(1, 2, 20), sooner(1, 3, 20)},
	} {
		_, err := h.Decide(t.Context(), backfill.Round{Now: 10, Events: events})
		require.ErrorContains(t, err, text)
	}
	snap := s.Snapshot()
	snap.Jobs[1].Pinned = true
	_, err := backfill.Restore(snap)
	require.ErrorContains(t, err, "job 2 cannot be pinned")
}

// TestAPinnedJobIsOusted: another job is pinned to the place of one that has not begun. That one waits again
// and is promised anew, and so is whoever the other leaves no room; nobody is promised the place in between.
// Without another job that is pinned there, the start has merely failed.
func TestAPinnedJobIsOusted(t *testing.T) {
	for _, policy := range []string{"conservative", "slack", "easy"} {
		t.Run(policy, func(t *testing.T) {
			s := newState(t, cpus(4))
			h := newHost(t, s, policy, "fcfs")
			decide(t, h, 0, submitted(job(1, 0, 1000, 4))...)
			decide(t, h, 10, submitted(job(2, 10, 100, 4))...)
			decide(t, h, 10, pinned(2, 400, on(0, 1)), sooner(1, 2, 400))
			decide(t, h, 20, submitted(job(3, 20, 50, 4), job(4, 20, 2000, 4))...)
			latest, promised := s.Guaranteed(3)
			_, guarantees := s.Policy()

			oust := []backfill.Event{pinned(4, 400, on(0, 1)), jobEvent(backfill.StartFailed, 2), sooner(1, 4, 400)}
			before := factsOf(s, 20)
			lifted, err := s.WouldLift(backfill.Round{Now: 20, Events: oust})
			require.NoError(t, err)
			require.Equal(t, before, factsOf(s, 20))
			d := decide(t, h, 20, oust...)
			require.True(t, s.IsWaiting(2))
			reason, _ := s.Reason(1)
			require.True(t, reason.Yields)
			require.EqualValues(t, 400, jobState(t, s, 1).End)
			reason, _ = s.Reason(4)
			require.Equal(t, backfill.TakesOver, reason.Why)
			require.EqualValues(t, 400, reason.At)
			start, _, _ := s.Planned(2)
			require.EqualValues(t, 2400, start, "with its old submit time it comes first")
			require.Equal(t, cpus(4), s.Use())
			if guarantees {
				require.True(t, promised)
				require.Equal(t, []backfill.JobID{2, 3}, lifted)
				want := []backfill.Broken{{Job: s.Job(2), Promised: 1000, Now: 2400, Cause: backfill.CausePreempted}}
				if policy == "conservative" {
					want = append(want, backfill.Broken{Job: s.Job(3), Promised: latest, Now: 2500, Cause: backfill.CausePreempted})
					require.Equal(t, want, d.Broken)
				}
			} else {
				require.Empty(t, lifted)
				require.Empty(t, d.Broken)
			}
			for _, a := range d.Actions {
				require.False(t, a.Kind == backfill.ActReserve && a.At < 2400, "nobody is promised the place: %+v", a)
			}
			again, err := backfill.Restore(s.Snapshot())
			require.NoError(t, err)
			require.Equal(t, factsOf(s, 21), factsOf(again, 21))
		})
	}
}

// TestOustedJobsThatNeverFit: a pinned job whose candidates have changed since is held once it loses its place.
func TestOustedJobsThatNeverFit(t *testing.T) {
	s := newState(t, cpus(4))
	h := newHost(t, s, "conservative", "fcfs")
	decide(t, h, 0, submitted(job(1, 0, 1000, 4))...)
	decide(t, h, 10, submitted(job(2, 10, 100, 4), job(3, 10, 100, 1))...)
	decide(t, h, 10, pinned(2, 400, on(0, 1)), sooner(1, 2, 400))
	d := decide(t, h, 20, jobEvent(backfill.StartFailed, 2), pinned(3, 400, on(0, 1)),
		backfill.Event{Kind: backfill.SlotChanged, Slot: backfill.Slot{ID: 0, Name: "a", Capacity: cpus(3)}})
	require.Len(t, d.Held, 1)
	require.EqualValues(t, 2, d.Held[0].Job.ID)
	require.False(t, s.IsWaiting(2))
}

// TestAJobMakesWayOverItsTime checks that a job which is over its time when it is to make way, and so ends later
// than was expected, leaves no reservation where it runs.
func TestAJobMakesWayOverItsTime(t *testing.T) {
	s := newState(t, cpus(4), cpus(4))
	h := newHost(t, s, "conservative", "fcfs")
	wide, later, last := job(1, 0, 100, 3), job(2, 10, 40, 4), job(3, 10, 50, 4)
	wide.Nodes, later.Release, last.Release = 2, 105, 110
	decide(t, h, 0, submitted(wide)...)
	decide(t, h, 10, submitted(later, last)...)
	start, at, _ := s.Planned(2)
	require.EqualValues(t, 105, start)
	other := 1 - int(at[0].Slot)
	d := decide(t, h, 100, pinned(3, 110, on(other, 1)), sooner(1, 3, 110))
	require.Len(t, d.Broken, 1)
	require.False(t, s.Profile().Overfull(at[0].Slot, 100))
	start, _, _ = s.Planned(2)
	require.EqualValues(t, 110, start)
}
