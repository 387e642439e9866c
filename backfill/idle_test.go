package backfill_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// TestDraining checks the reserved idle cpus while two busy slots drain for a gang. A job that ends
// before the gang's planned start may start on these slots, a longer one may not. Jobs of any
// length may start on the other slots.
//
//	a, to 10  │ 1 1 . .     d, to 20  │ 3 3 . .     4: two chunks of 4 cpus on a and b, planned for 20
//	b, to 20  │ 2 2 . .     c         │ . . . .
func TestDraining(t *testing.T) {
	for _, policy := range []string{"easy", "bb", "ibb", "conservative", "pc", "dc"} {
		t.Run(policy, func(t *testing.T) {
			s := newState(t, cpus(4), cpus(4), cpus(4), cpus(4)) // a to d, set 0 is all of them
			h := newHost(t, s, policy, "fcfs")
			on := func(set int, j *backfill.Job) *backfill.Job {
				j.Candidates = set
				return j
			}
			d, err := h.Decide(t.Context(), backfill.Round{
				Candidates: []backfill.CandidateSet{
					candidates(1, 0), candidates(2, 1), candidates(3, 3),
					candidates(4, 0, 1),
				},
				Events: submitted(
					on(1, job(1, 0, 10, 2)), on(2, job(2, 0, 20, 2)), on(3, job(3, 0, 20, 2)), on(4,
						gang(4, 0, 10, 2, 4)),
				),
			})
			require.NoError(t, err)
			require.Equal(t, []backfill.JobID{1, 2, 3}, startedIDs(d))
			start, at, planned := s.Planned(4)
			require.True(t, planned)
			require.Equal(t, backfill.Time(20), start)
			require.ElementsMatch(t, []backfill.SlotID{0, 1}, []backfill.SlotID{at[0].Slot, at[1].Slot})
			require.EqualValues(t, 4, s.ReservedIdle(), "two on a and two on b")

			d = decide(t, h, 1, submitted(on(4, job(5, 1, 20, 1)))...) // one second too long
			require.Empty(t, startedIDs(d))
			require.EqualValues(t, 4, s.ReservedIdle())
			d = decide(t, h, 1, submitted(on(1, job(6, 1, 19, 2)))...) // ends in time
			require.Equal(t, []backfill.JobID{6}, startedIDs(d))
			require.EqualValues(t, 2, s.ReservedIdle())
			// Jobs of any length start on c and d.
			d = decide(t, h, 2, submitted(on(0, job(7, 2, 99, 4)), on(3, job(8, 2, 99, 2)))...)
			require.Equal(t, []backfill.JobID{7, 8}, startedIDs(d))
			require.EqualValues(t, 2, s.ReservedIdle())

			decide(t, h, 10, jobEvent(backfill.Completed, 1))
			require.EqualValues(t, 4, s.ReservedIdle(), "two more cpus of a are idle")
			d = decide(t, h, 20, jobEvent(backfill.Completed, 2), jobEvent(backfill.Completed, 3),
				jobEvent(backfill.Completed, 6))
			require.Equal(t, []backfill.JobID{4}, startedIDs(d), "on time")
			require.Zero(t, s.ReservedIdle(), "job 5 cannot use the idle cpus of d")
		})
	}
}

// TestReservedIdle checks the number of reserved idle cpus as a plan grows. By planned start, each
// reservation takes what it will use of the idle cpus that are left on its slots.
func TestReservedIdle(t *testing.T) {
	s := newState(t, cpus(4), cpus(4))
	reserve := func(j *backfill.Job, start backfill.Time, at backfill.Placement) {
		accept(t, s, backfill.Round{Now: s.Now(), Events: submitted(j)},
			func(c *backfill.Cycle) { c.Reserve(j, start, at) })
	}
	require.Zero(t, s.ReservedIdle(), "nothing is planned")
	one := job(1, 0, 10, 3)
	accept(t, s, backfill.Round{Events: submitted(one)}, func(c *backfill.Cycle) { c.Start(one, on(0, 1)) })
	reserve(job(2, 0, 10, 4), 10, on(0, 1))
	require.EqualValues(t, 1, s.ReservedIdle(), "all that is idle on a, and no more")
	reserve(gang(3, 0, 10, 3, 1), 20, on(0, 1, 1, 2))
	require.EqualValues(t, 3, s.ReservedIdle(), "two more on b; nothing is left on a")
	reserve(job(4, 0, 10, 1), 30, on(1, 1))
	require.EqualValues(t, 4, s.ReservedIdle())
	reserve(job(5, 0, 10, 4), 40, on(1, 1))
	require.EqualValues(t, 5, s.ReservedIdle(), "all that is idle")
	decide := func(events ...backfill.Event) {
		accept(t, s, backfill.Round{Now: 1, Events: events}, nil)
	}
	decide(backfill.Event{Kind: backfill.SlotLost, Slot: slot(1, nil)})
	require.EqualValues(t, 1, s.ReservedIdle(), "b is gone")
	decide(backfill.Event{Kind: backfill.SlotChanged, Slot: slot(0, cpus(2))})
	require.Zero(t, s.ReservedIdle(), "more runs on a than it has")
}

// TestReservedIdleOfFullSlots: cpus of a slot that hosts as many jobs as it can are idle for nobody, such
// as those of a static slot whose job asks for fewer.
func TestReservedIdleOfFullSlots(t *testing.T) {
	s := backfill.NewState([]string{"cpus", backfill.Claims}, profile.ByRank)
	both := backfill.CandidateSet{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0, 1}}}
	accept(t, s, backfill.Round{Candidates: []backfill.CandidateSet{both}, Events: []backfill.Event{
		{Kind: backfill.SlotAdded, Slot: slot(0, backfill.Vector{4, 1})},
		{Kind: backfill.SlotAdded, Slot: slot(1, backfill.Vector{4, 2})},
	}}, nil)
	one, two, next := job(1, 0, 10, 1, 1), job(2, 0, 20, 1, 1), gang(3, 0, 10, 2, 4, 1)
	accept(t, s, backfill.Round{Events: submitted(one, two, next)}, func(c *backfill.Cycle) {
		c.Start(one, on(0, 1))
		c.Start(two, on(1, 1))
		c.Reserve(next, 20, on(0, 1, 1, 1))
	})
	require.EqualValues(t, 3, s.ReservedIdle(), "those of b, which could host another job")
	require.EqualValues(t, 3, conformance.ReservedIdle(s.Snapshot()))
	accept(t, s, backfill.Round{Now: 10, Events: []backfill.Event{jobEvent(backfill.Completed, 1)}}, nil)
	require.EqualValues(t, 7, s.ReservedIdle(), "a is free")
	require.EqualValues(t, 7, conformance.ReservedIdle(s.Snapshot()))
}

// TestOnReserved checks that OnReserved reports a started job if it runs on a slot that was
// reserved for a job before it in the queue's order. Job 1 has a reservation on a, and job 2 starts
// on a, on b or on both.
func TestOnReserved(t *testing.T) {
	for _, c := range []struct {
		name       string
		reserved   float64 // the key of the reserved job; that of the others is 0
		at         backfill.Placement
		width      int
		running    backfill.Time
		onReserved bool
	}{
		{"on its slot", -1, on(0, 1), 1, 0, true},
		{"on its slot, expected to run longer than its estimate: the reservation is void", -1, on(0, 1), 1, 50, true},
		{"beside it", -1, on(1, 1), 1, 50, false},
		{"on both", -1, on(1, 1, 0, 1), 2, 0, true},
		{"equal keys: before it by the order of jobs", 0, on(0, 1), 1, 0, true},
		{"job 2 is first in the queue's order", 1, on(0, 1), 1, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newState(t, cpus(4), cpus(4))
			wide := job(1, 0, 10, 4)
			event := submitted(wide)
			event[0].Key = c.reserved
			accept(t, s, backfill.Round{Events: event},
				func(cycle *backfill.Cycle) { cycle.Reserve(wide, 10, on(0, 1)) })
			small := predicted(gang(2, 1, 5, c.width, 1), c.running)
			d := accept(t, s, backfill.Round{Now: 1, Events: submitted(small)},
				func(cycle *backfill.Cycle) { cycle.Start(small, c.at) })
			_, _, planned := s.Planned(1)
			require.Equal(t, c.running == 0 || !c.onReserved, planned)
			require.Equal(t, c.onReserved, s.OnReserved(&d, 0))
			require.Equal(t, c.reserved <= 0, d.Started[0].How == backfill.ByBackfill)
		})
	}
}
