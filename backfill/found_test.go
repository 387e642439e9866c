package backfill_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
)

func found(j *backfill.Job, at backfill.Placement, start, end backfill.Time) backfill.Event {
	return backfill.Event{Kind: backfill.Found, Job: j, Placement: at, Start: start, End: end}
}

// TestFound checks the effect of a Found event for a job in every situation. The job is found
// running on slot b, which has one cpu and a reservation of job 9.
func TestFound(t *testing.T) {
	wide := gang(7, 0, 10, 2, 1)
	for _, tt := range []struct {
		name  string
		job   *backfill.Job
		freed bool // whether room is freed if job 9's reservation is not in the way
	}{
		{"unknown", job(1, 0, 10, 1), false},
		{"waits", job(2, 0, 10, 1), false},
		{"waits, reserved", job(3, 0, 10, 1), true},
		{"runs elsewhere", job(4, 0, 10, 1), true},
		{"held", job(5, 0, 10, 1), false},
		{"edited", gang(4, 0, 3, 1, 1), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newState(t, cpus(1), cpus(1))
			accept(t, s, backfill.Round{Now: 1, Events: submitted(job(2, 0, 10, 1), job(3, 0, 10, 1), job(4, 0, 10, 1),
				job(5, 0, 10, 1), wide, job(9, 0, 10, 1))}, func(c *backfill.Cycle) {
				c.Reserve(job(3, 0, 10, 1), 40, on(0, 1))
				c.Reserve(job(9, 0, 10, 1), 20, on(1, 1))
				c.Reserve(wide, 50, on(0, 1, 1, 1))
				c.Hold(job(5, 0, 10, 1), "for a reason")
				c.Start(job(4, 0, 10, 1), on(0, 1))
			})
			before := s.Snapshot()
			round := backfill.Round{Now: 5, Events: []backfill.Event{found(tt.job, on(1, 1), 3, 25)}}
			c, err := s.Open(round)
			require.NoError(t, err)
			e, more := c.Next()
			require.True(t, more)
			require.True(t, e.Freed, "job 9's reservation is void")
			require.Equal(t, []backfill.JobID{9}, ids(e.Displaced))
			require.True(t, s.IsRunning(tt.job.ID))
			c.Rollback()
			require.Equal(t, before, s.Snapshot())

			d := accept(t, s, round, nil)
			require.Empty(t, d.Started, "the decision did not start it")
			got := jobState(t, s, tt.job.ID)
			require.Equal(t, backfill.JobState{
				Job: tt.job, Placement: on(1, 1), Standing: backfill.Standing{Running: true, Start: 3, End: 25},
				Alone: got.Alone,
			}, got)
			require.Equal(t, map[bool]int{true: 1, false: 2}[tt.job.ID == 4], s.RunningJobs())
			require.Equal(t, backfill.Vector{int64(s.RunningJobs())}, s.Use())
			again, err := backfill.Restore(s.Snapshot())
			require.NoError(t, err)
			require.Equal(t, factsOf(again, 5), factsOf(s, 5))

			// The job ends before job 9's reservation begins: only the job itself can have freed
			// room.
			s, err = backfill.Restore(before)
			require.NoError(t, err)
			c, err = s.Open(backfill.Round{Now: 5, Events: []backfill.Event{found(tt.job, on(1, 1), 3, 20)}})
			require.NoError(t, err)
			e, _ = c.Next()
			require.Equal(t, tt.freed, e.Freed)
			require.Empty(t, e.Displaced)
		})
	}
}

// TestFoundWhereItWasTaken checks that a job which is found on the slot where it is known to run
// frees room only if it ends earlier than expected.
func TestFoundWhereItWasTaken(t *testing.T) {
	s := newState(t, cpus(2))
	accept(t, s, backfill.Round{Now: 1, Events: submitted(job(1, 0, 10, 1))},
		func(c *backfill.Cycle) { c.Start(job(1, 0, 10, 1), on(0, 1)) })
	for end, freed := range map[backfill.Time]bool{11: false, 12: false, 10: true} {
		c, err := s.Open(backfill.Round{Now: 2, Events: []backfill.Event{found(job(1, 0, 10, 1), on(0, 1), 0, end)}})
		require.NoError(t, err)
		e, _ := c.Next()
		require.Equal(t, freed, e.Freed, "it ends at %d", end)
		c.Rollback()
	}
}

// TestFoundInFullSlots checks that a job which is found on a slot without room for it
// oversubscribes the slot and breaks the guarantee of the job planned there, which moves forward
// again when the found job is evicted.
func TestFoundInFullSlots(t *testing.T) {
	s := newState(t, cpus(2))
	h := newHost(t, s, "conservative", "fcfs")
	decide(t, h, 1, submitted(job(1, 0, 10, 2), job(2, 1, 10, 1))...)
	require.Equal(t, backfill.Time(11), jobState(t, s, 2).Guarantee)
	d := decide(t, h, 2, found(job(3, 0, 30, 2), on(0, 1), 2, 32))
	require.Equal(t, []backfill.Broken{{
		Job: jobState(t, s, 2).Job, Promised: 11, Now: 32,
		Cause: backfill.CauseSlotChanged,
	}}, d.Broken)
	require.Equal(t, backfill.Vector{4}, s.Use(), "more than the slot has")
	d = decide(t, h, 5, jobEvent(backfill.StartFailed, 3)) // evicted
	require.Empty(t, d.Broken)
	state := jobState(t, s, 3)
	require.True(t, state.Promised, "every job that returns to the queue gets a guarantee")
	require.Equal(t, state.Start, state.Guarantee)
	require.Equal(t, backfill.Time(11), jobState(t, s, 2).Start, "it moved forward into the room that was given back")
}

// TestFoundTooLate checks that the guarantee of a job is reported as broken, once, if the job is
// found to have started later than promised.
func TestFoundTooLate(t *testing.T) {
	s := newState(t, cpus(1))
	h := newHost(t, s, "conservative", "fcfs")
	decide(t, h, 1, submitted(job(1, 0, 10, 1), job(2, 0, 10, 1))...)
	d := decide(t, h, 15, jobEvent(backfill.Completed, 1), found(job(2, 0, 10, 1), on(0, 1), 13, 23))
	require.Equal(t, []backfill.Broken{{Job: job(2, 0, 10, 1), Promised: 11, Now: 13, Cause: backfill.CauseStartLate}},
		d.Broken)
}

// TestFoundOverdue checks that a found job whose expected end has passed is expected to end as a
// job that has outlived its estimate.
func TestFoundOverdue(t *testing.T) {
	s := newState(t, cpus(1))
	h := newHost(t, s, "easy", "fcfs")
	decide(t, h, 100, found(job(1, 0, 10, 1), on(0, 1), 75, 85))
	require.Equal(t, backfill.Time(115), jobState(t, s, 1).End, "the start at 75 plus four times the estimate of 10 s")
}

// TestInvalidFoundEvents checks that Found events which contradict the pool, the job or other
// events of the round are refused.
func TestInvalidFoundEvents(t *testing.T) {
	s := newState(t, cpus(1), cpus(1))
	accept(t, s, backfill.Round{Now: 1, Events: []backfill.Event{{Kind: backfill.SlotLost, Slot: slot(1, cpus(1))}}},
		nil)
	one, two := job(1, 0, 10, 1), gang(2, 0, 10, 2, 1)
	unknown := *one
	unknown.Candidates = 3
	for want, events := range map[string][]backfill.Event{
		"no job is given":                    {found(nil, on(0, 1), 0, 10)},
		"unknown slot 2":                     {found(one, on(2, 1), 0, 10)},
		"runs on slot 1, which is not there": {found(one, on(1, 1), 0, 10)},
		"runs on slot 0, which is not there": {
			{Kind: backfill.SlotLost, Slot: slot(0, cpus(1))},
			found(one, on(0, 1), 0, 10),
		},
		"0 of 1 chunks placed":                     {found(one, nil, 0, 10)},
		"1 of 2 chunks placed":                     {found(two, on(0, 1), 0, 10)},
		"is on slot 0 twice":                       {found(two, on(0, 1, 0, 1), 0, 10)},
		"cannot run since 6: it is 5":              {found(one, on(0, 1), 6, 10)},
		"cannot be expected to end at 5: it is 5":  {found(one, on(0, 1), 0, 5)},
		"unknown candidate set 3":                  {found(&unknown, on(0, 1), 0, 10)},
		"job 1 has more than one event":            {found(one, on(0, 1), 0, 10), submitted(one)[0]},
		"event 1 (found) is out of order":          {submitted(one)[0], found(two, on(0, 2), 0, 10)},
		"event 0 (found): job 1: asks for nothing": {found(job(1, 0, 10, 0), on(0, 1), 0, 10)},
	} {
		_, err := s.Open(backfill.Round{Now: 5, Events: events})
		require.ErrorContains(t, err, want)
	}
	_, err := s.Open(backfill.Round{Now: 5, Events: []backfill.Event{
		{Kind: backfill.SlotAdded, Slot: slot(1, cpus(1))},
		found(one, on(1, 1), 0, 10),
	}})
	require.NoError(t, err)
}

// TestFoundWhereItRuns checks that Found events for all running jobs, with their known places and
// ends, change no decision.
func TestFoundWhereItRuns(t *testing.T) {
	for _, spec := range policies.All() {
		t.Run(spec.Name, rapid.MakeCheck(func(r *rapid.T) {
			seed := rapid.Uint64Range(0, 200).Draw(r, "seed")
			run, err := conformance.Start(seed, link(t, spec.Name, nil))
			require.NoError(r, err)
			for range rapid.IntRange(1, 30).Draw(r, "rounds") {
				_, err = run.Next(t.Context())
				require.NoError(r, err)
			}
			s := run.Host.State
			var events []backfill.Event
			for _, j := range s.Snapshot().Jobs {
				if j.Running {
					events = append(events, found(j.Job, j.Placement, j.Start, j.End))
				}
			}
			now := s.Now()
			told := s.Clone()
			h, other := newHost(t, s, spec.Name, "fcfs"), newHost(t, told, spec.Name, "fcfs")
			wake := backfill.Round{Now: now, Events: []backfill.Event{{Kind: backfill.Wake}}}
			_, err = h.Decide(t.Context(), wake)
			require.NoError(r, err)
			wake.Events = append(wake.Events, events...)
			_, err = other.Decide(t.Context(), wake)
			require.NoError(r, err)
			require.Equal(r, fmt.Sprint(s.Snapshot().Jobs), fmt.Sprint(told.Snapshot().Jobs))
		}))
	}
}

// TestFoundElsewhereIsFreed checks that a job which is found on another slot has freed room on the
// slot where it was known to run, and that this is recorded if the policy asked for it.
func TestFoundElsewhereIsFreed(t *testing.T) {
	s := newState(t, cpus(2), cpus(2))
	one := job(1, 0, 10, 1)
	accept(t, s, backfill.Round{Now: 1, Events: submitted(one)}, func(c *backfill.Cycle) {
		c.Fast().KeepFreed(100)
		c.Start(one, on(0, 1))
	})
	accept(t, s, backfill.Round{Now: 2, Events: []backfill.Event{found(one, on(0, 1), 1, 20)}}, nil)
	require.Empty(t, s.Snapshot().Freed)
	accept(t, s, backfill.Round{Now: 3, Events: []backfill.Event{found(one, on(1, 1), 1, 20)}}, nil)
	require.Equal(t, []backfill.Freed{{At: 3, Slot: 0, Amount: cpus(1)}}, s.Snapshot().Freed)
}

// TestFoundInTheirPlace checks which cause is told if jobs are evicted and another one is found in
// their place at once: the eviction made them late, not the room that they lack since.
func TestFoundInTheirPlace(t *testing.T) {
	s := newState(t, cpus(2))
	h := newHost(t, s, "conservative", "fcfs")
	decide(t, h, 1, submitted(job(1, 0, 10, 1), job(2, 0, 10, 1), job(3, 0, 10, 2))...)
	require.Equal(t, backfill.Time(11), jobState(t, s, 3).Guarantee)
	d := decide(t, h, 5, jobEvent(backfill.StartFailed, 1), jobEvent(backfill.StartFailed, 2), found(job(4, 0, 30, 2), on(0, 1), 5, 35))
	causes := map[backfill.JobID]backfill.Cause{}
	for _, b := range d.Broken {
		causes[b.Job.ID] = b.Cause
	}
	require.Equal(t, map[backfill.JobID]backfill.Cause{
		1: backfill.CauseStartFailed, 2: backfill.CauseStartFailed, 3: backfill.CauseSlotChanged,
	}, causes)
}
