package backfill_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestInvalidRounds checks that invalid and contradictory rounds are refused and change nothing.
func TestInvalidRounds(t *testing.T) {
	with := func(change func(*backfill.Job)) []backfill.Event {
		j := job(9, 5, 10, 1)
		change(j)
		return submitted(j)
	}
	twice := append(submitted(job(9, 5, 1, 1)), submitted(job(9, 5, 1, 1))...)
	for _, tt := range []struct {
		name  string
		round backfill.Round
		want  string
	}{
		{"time runs backwards", backfill.Round{Now: 4}, "time runs backwards: the round is at 4, the state at 5"},
		{
			"a candidate set out of turn",
			backfill.Round{Now: 5, Candidates: []backfill.CandidateSet{{ID: 2}}},
			"candidate set 2: the next free ID is 1",
		},
		{
			"a candidate set out of turn behind a changed one",
			backfill.Round{Now: 5, Candidates: []backfill.CandidateSet{
				{ID: 0},
				{ID: 2},
			}},
			"candidate set 2: the next free ID is 1",
		},
		{
			"a candidate set below zero",
			backfill.Round{Now: 5, Candidates: []backfill.CandidateSet{{ID: -1}}},
			"candidate set -1",
		},
		{"a candidate set with too few ranks", backfill.Round{
			Now: 5,
			Candidates: []backfill.CandidateSet{{
				ID: 1,
				Candidates: backfill.Candidates{
					Slots: []backfill.SlotID{0, 1},
					Rank:  []int32{1},
				},
			}},
		}, "candidate set 1: 1 ranks for 2 slots"},
		{
			"a job twice",
			backfill.Round{Now: 5, Events: twice},
			"event 1 (submitted): job 9 has more than one event in the round",
		},
		{"a job's end and its removal", backfill.Round{
			Now: 5,
			Events: []backfill.Event{
				jobEvent(backfill.Completed, 1),
				jobEvent(backfill.Removed, 1),
			},
		}, "job 1 has more than one event"},
		{"out of order", backfill.Round{Now: 5, Events: append(submitted(job(9, 5, 1, 1)),
			jobEvent(backfill.Completed, 1))}, "event 1 (completed) is out of order"},
		{"no kind", backfill.Round{Now: 5, Events: []backfill.Event{{}}}, "unknown kind 0"},
		{
			"an unknown kind",
			backfill.Round{Now: 5, Events: []backfill.Event{{Kind: 100}}},
			"(unknown 100): unknown kind 100",
		},
		{"an unknown slot is lost", backfill.Round{
			Now:    5,
			Events: []backfill.Event{{Kind: backfill.SlotLost, Slot: slot(4, nil)}},
		}, "unknown slot 4"},
		{"a slot below zero changes", backfill.Round{
			Now:    5,
			Events: []backfill.Event{{Kind: backfill.SlotChanged, Slot: slot(-1, cpus(1))}},
		}, "unknown slot -1"},
		{"a slot is added out of turn", backfill.Round{
			Now:    5,
			Events: []backfill.Event{{Kind: backfill.SlotAdded, Slot: slot(5, cpus(1))}},
		}, "unknown slot 5"},
		{"a slot of other resources", backfill.Round{
			Now: 5,
			Events: []backfill.Event{{
				Kind: backfill.SlotAdded,
				Slot: slot(4, backfill.Vector{1, 2}),
			}},
		}, "slot e has 2 resources, the pool 1"},
		{
			"an unknown job completes",
			backfill.Round{Now: 5, Events: []backfill.Event{jobEvent(backfill.Completed, 99)}},
			"job 99 does not run",
		},
		{
			"a waiting job completes",
			backfill.Round{Now: 5, Events: []backfill.Event{jobEvent(backfill.Completed, 2)}},
			"job 2 does not run",
		},
		{"a waiting job overruns", backfill.Round{
			Now:    5,
			Events: []backfill.Event{{Kind: backfill.EstimateChanged, JobID: 2, End: 9}},
		}, "job 2 does not run"},
		{"an unknown job's start fails", backfill.Round{
			Now:    5,
			Events: []backfill.Event{jobEvent(backfill.StartFailed, 99)},
		}, "job 99 was not to be started"},
		{
			"the start of a job without a place fails",
			backfill.Round{Now: 5, Events: []backfill.Event{jobEvent(backfill.StartFailed,
				2)}},
			"job 2 was not to be started",
		},
		{
			"an unknown job is removed",
			backfill.Round{Now: 5, Events: []backfill.Event{jobEvent(backfill.Removed, 99)}},
			"job 99 is unknown",
		},
		{"an unknown job changes", backfill.Round{
			Now:    5,
			Events: []backfill.Event{{Kind: backfill.Changed, Job: job(99, 5, 1, 1)}},
		}, "job 99 does not wait"},
		{"a job that comes back changes twice", backfill.Round{
			Now: 5,
			Events: []backfill.Event{
				{Kind: backfill.StartFailed, JobID: 1},
				{Kind: backfill.Changed, Job: job(1, 5, 1, 1)},
				{
					Kind: backfill.Changed,
					Job:  job(1, 5, 1, 1),
				},
			},
		}, "job 1 has more than one event"},
		{"a job that is gone comes twice", backfill.Round{
			Now: 5,
			Events: []backfill.Event{
				{Kind: backfill.Removed, JobID: 1},
				{Kind: backfill.Submitted, Job: job(1, 5, 1, 1)},
				{Kind: backfill.Submitted, Job: job(1, 5, 1, 1)},
			},
		}, "job 1 has more than one event"},
		{"a running job changes", backfill.Round{
			Now:    5,
			Events: []backfill.Event{{Kind: backfill.Changed, Job: job(1, 5, 1, 1)}},
		}, "job 1 does not wait"},
		{
			"a known job is submitted",
			backfill.Round{Now: 5, Events: submitted(job(2, 5, 1, 1))},
			"job 2 is known already",
		},
		{
			"a submission without a job",
			backfill.Round{Now: 5, Events: []backfill.Event{{Kind: backfill.Submitted}}},
			"no job is given",
		},
		{
			"a change without a job",
			backfill.Round{Now: 5, Events: []backfill.Event{{Kind: backfill.Changed}}},
			"no job is given",
		},
		{
			"an unknown candidate set",
			backfill.Round{Now: 5, Events: with(func(j *backfill.Job) { j.Candidates = 1 })},
			"job 9 has an unknown candidate set 1",
		},
		{
			"a candidate set below zero is asked for",
			backfill.Round{
				Now:    5,
				Events: with(func(j *backfill.Job) { j.Candidates = -1 }),
			},
			"unknown candidate set -1",
		},
		{
			"no chunks",
			backfill.Round{Now: 5, Events: with(func(j *backfill.Job) { j.Nodes = 0 })},
			"job 9: 0 chunks: must be from 1 to 1048576",
		},
		{
			"no estimate",
			backfill.Round{Now: 5, Events: with(func(j *backfill.Job) { j.Estimate = 0 })},
			"job 9: estimate of 0 s: must be from 1 to 1099511627776",
		},
		{
			"a negative estimate",
			backfill.Round{Now: 5, Events: with(func(j *backfill.Job) { j.Estimate = -1 })},
			"job 9: estimate of -1 s: must be from 1 to 1099511627776",
		},
		{"an endless estimate", backfill.Round{
			Now:    5,
			Events: with(func(j *backfill.Job) { j.Estimate = backfill.Forever }),
		}, "job 9: estimate of"},
		{
			"a negative limit",
			backfill.Round{Now: 5, Events: with(func(j *backfill.Job) { j.Limit = -1 })},
			"job 9: limit of -1 s: must be from 0 to 1099511627776",
		},
		{
			"too few resources",
			backfill.Round{Now: 5, Events: with(func(j *backfill.Job) { j.Request = nil })},
			"job 9: asks for 0 resources, the pool has 1",
		},
		{
			"a negative amount",
			backfill.Round{Now: 5, Events: with(func(j *backfill.Job) { j.Request = cpus(-1) })},
			"job 9: asks for 1 times [-1]: amounts must be at least 0 and at most 1000000000000000 in all",
		},
		{
			"nothing is asked for",
			backfill.Round{Now: 5, Events: with(func(j *backfill.Job) { j.Request = cpus(0) })},
			"job 9: asks for nothing: some amount must be at least 1",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := busy(t, false)
			before := factsOf(s, 5)
			// A valid part of the same round must have no effect either.
			tt.round.Candidates = append(tt.round.Candidates, backfill.CandidateSet{ID: 0})
			_, err := s.Open(tt.round)
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, before, factsOf(s, 5))
		})
	}
}

// TestOpeningShowsTheLastDecision checks that the cycle shows the state after the last decision
// until the round's events are taken, and then the effect of each event that was taken.
func TestOpeningShowsTheLastDecision(t *testing.T) {
	s := busy(t, false)
	c, err := s.Open(backfill.Round{Now: 8, Events: append([]backfill.Event{jobEvent(backfill.Completed, 1)},
		submitted(job(6, 8, 5, 1))...)})
	require.NoError(t, err)
	require.Equal(t, backfill.Time(8), c.Now())
	require.Len(t, c.Fast().Round().Events, 2)
	require.Equal(t, []string{"cpus"}, c.State().Resources())
	require.Equal(t, []backfill.JobID{2, 4, 5}, queueIDs(c.Cycle), "the arriving job is not there yet")
	require.Equal(t, cpus(2), c.State().Use(), "the completed job still holds its place")
	require.Equal(t, cpus(2), c.State().Profile().Free(0, 8))

	e, more := c.Next()
	require.True(t, more)
	require.Equal(t, backfill.Completed, e.Kind)
	require.Equal(t, cpus(0), c.State().Use())
	require.Equal(t, cpus(4), c.State().Profile().Free(0, 8))
	require.Equal(t, []backfill.JobID{2, 4, 5}, queueIDs(c.Cycle))

	_, more = c.Next()
	require.True(t, more)
	require.Equal(t, []backfill.JobID{2, 4, 5, 6}, queueIDs(c.Cycle))
	_, more = c.Next()
	require.False(t, more)

	var behind []backfill.JobID
	for j := range c.Fast().Behind(s.FirstWaiting(2)[1]) {
		behind = append(behind, j.ID)
		if j.ID == 5 {
			c.Start(j, on(0, 1)) // must not disturb the loop
		}
	}
	for range c.Fast().Behind(job(99, 0, 1, 1)) {
		require.Fail(t, "no job is behind an unknown job")
	}
	require.Equal(t, []backfill.JobID{5, 6}, behind)
	_, promised := c.State().Guaranteed(4)
	require.False(t, promised)
	c.Rollback()
}

// TestEarliestAndFitsNow checks that both ignore the job's own reservation, and leave it as it is.
func TestEarliestAndFitsNow(t *testing.T) {
	s := newState(t, cpus(4))
	first, second := job(1, 0, 10, 3), job(2, 0, 10, 3)
	accept(t, s, backfill.Round{Events: submitted(first, second)}, func(c *backfill.Cycle) {
		c.Reserve(first, 6, on(0, 1))
		c.Reserve(second, 30, on(0, 1))
		for _, tt := range []struct {
			j         *backfill.Job
			notBefore backfill.Time
			want      backfill.Time
		}{
			{first, 0, 0},    // could start earlier
			{first, 6, 6},    // stays
			{first, 7, 7},    // its own reservation is not in its way
			{first, 25, 40},  // after the second job
			{second, 0, 16},  // right after the first job
			{second, 20, 20}, // not earlier than asked for
			{second, 30, 30}, // stays
		} {
			start, at, ok := c.Earliest(tt.j, tt.notBefore)
			require.True(t, ok)
			require.Equal(t, tt.want, start, "job %d not before %d", tt.j.ID, tt.notBefore)
			require.Equal(t, on(0, 1), at)
		}
		_, fits := c.FitsNow(first)
		require.True(t, fits, "its own reservation is not in its way")
		_, fits = c.FitsNow(second)
		require.False(t, fits, "the first job's reservation is in its way")

		start, at, _ := c.Reservation(first)
		require.Equal(t, backfill.Time(6), start, "asking changes nothing")
		require.Equal(t, on(0, 1), at)
		require.Equal(t, cpus(1), s.Free(0, 6))
		require.Equal(t, cpus(4), s.Free(0, 5))
	})
}

// TestRestore checks that an invalid snapshot is refused, and that a valid one gives the same
// state.
func TestRestore(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*backfill.Snapshot)
		want   string
	}{
		{"a slot in another's place", func(s *backfill.Snapshot) { s.Slots[0].ID = 1 }, "slot 1 stands in place 0"},
		{
			"a slot of other resources", func(s *backfill.Snapshot) { s.Slots[0].Capacity = nil },
			"slot a has 0 resources, the pool 1",
		},
		{
			"a candidate set in another's place", func(s *backfill.Snapshot) { s.Candidates[0].ID = 1 },
			"candidate set 1 stands in place 0",
		},
		{"a job twice", func(s *backfill.Snapshot) { s.Jobs = append(s.Jobs, s.Jobs[0]) }, "job 1 is known already"},
		{"an entry without a job", func(s *backfill.Snapshot) { s.Jobs[0].Job = nil }, "no job is given"},
		{
			"a job on an unknown slot", func(s *backfill.Snapshot) { s.Jobs[0].Placement = on(9, 1) },
			"job 1 is on an unknown slot 9",
		},
		{
			"a job with too many chunks on a slot", func(s *backfill.Snapshot) { s.Jobs[0].Placement = on(0, 2) },
			"job 1 has 2 chunks on slot 0",
		},
		{
			"a job without its chunks", func(s *backfill.Snapshot) { s.Jobs[0].Placement = backfill.Placement{} },
			"job 1 has 0 of 1 chunks placed",
		},
		{"a job that runs nowhere", func(s *backfill.Snapshot) { s.Jobs[0].Placement = nil }, "job 1 runs nowhere"},
		{
			"a held job with a place", func(s *backfill.Snapshot) { s.Jobs[0].Held = "why not" },
			"job 1 is held and has a place",
		},
		{
			"a key that is no number", func(s *backfill.Snapshot) { s.Jobs[0].Key = math.NaN() },
			"job 1: its key is not a number",
		},
		{
			"a job of an unknown candidate set", func(s *backfill.Snapshot) { s.Candidates = nil },
			"unknown candidate set 0",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			snap := busy(t, false).Snapshot()
			tt.change(&snap)
			_, err := backfill.Restore(snap)
			require.ErrorContains(t, err, tt.want)
		})
	}
	s := busy(t, true)
	again, err := backfill.Restore(s.Snapshot())
	require.NoError(t, err)
	require.Equal(t, factsOf(s, 5), factsOf(again, 5))
	require.False(t, again.SlotUp(2))
}

// TestRefusedRoundLeavesNoCandidateSet checks that a refused round leaves none of its candidate
// sets, not even an empty one.
func TestRefusedRoundLeavesNoCandidateSet(t *testing.T) {
	s := newState(t, cpus(4))
	before := factsOf(s, 0)
	_, err := attempt(t, s, backfill.Round{Candidates: []backfill.CandidateSet{{ID: 1}, {ID: 2}}},
		func(c *backfill.Cycle) { c.Wake(0) })
	require.Error(t, err)
	require.Equal(t, before, factsOf(s, 0))
	_, err = s.Open(backfill.Round{Events: []backfill.Event{{
		Kind: backfill.Submitted,
		Job:  &backfill.Job{Candidates: 1, Nodes: 1, Request: cpus(1), Estimate: 1},
	}}})
	require.ErrorContains(t, err, "unknown candidate set 1")
}

// TestRefusedRoundLeavesNoSlot checks that a refused round leaves neither its new slots nor its new
// capacities of known slots.
func TestRefusedRoundLeavesNoSlot(t *testing.T) {
	for _, tt := range []struct {
		name string
		slot backfill.Slot
	}{
		{"a new slot", slot(2, cpus(7))},
		{"a lost slot with another capacity", slot(1, cpus(7))},
		{"a slot that is there with another capacity", slot(0, cpus(7))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newState(t, cpus(4), cpus(4))
			accept(t, s, backfill.Round{Events: []backfill.Event{{Kind: backfill.SlotLost, Slot: slot(1, nil)}}}, nil)
			before := factsOf(s, 0)
			_, err := attempt(t, s, backfill.Round{Events: []backfill.Event{{Kind: backfill.SlotAdded, Slot: tt.slot}}},
				func(c *backfill.Cycle) { c.Wake(0) })
			require.Error(t, err)
			require.Equal(t, before, factsOf(s, 0))
		})
	}
}

// TestRenamedSlotIsPlacedOnByItsNewName checks that a renamed slot takes the place of its new name
// in the order in which slots are filled, also in a state restored from a snapshot.
func TestRenamedSlotIsPlacedOnByItsNewName(t *testing.T) {
	s := newState(t, cpus(4), cpus(4))
	renamed := backfill.Slot{ID: 0, Name: "z", Capacity: cpus(4)}
	accept(t, s, backfill.Round{Events: []backfill.Event{{Kind: backfill.SlotChanged, Slot: renamed}}}, nil)
	restored, err := backfill.Restore(s.Snapshot())
	require.NoError(t, err)
	for _, s := range []*backfill.State{restored, s} {
		accept(t, s, backfill.Round{Events: submitted(job(1, 0, 1, 1))}, func(c *backfill.Cycle) {
			at, fits := c.FitsNow(job(1, 0, 1, 1))
			require.True(t, fits)
			require.Equal(t, on(1, 1), at)
		})
	}
}

// The tests from here on are regression tests.

// TestRefusedRoundForgetsNothing checks that the profile forgets nothing in a round that is
// refused. The refused round is at 10; afterwards the time is 0 again, and the profile must know
// that job 1 runs until 8.
func TestRefusedRoundForgetsNothing(t *testing.T) {
	s := newState(t, cpus(4))
	one, two := job(1, 0, 8, 4), job(2, 0, 10, 4)
	accept(t, s, backfill.Round{Events: submitted(one, two)}, func(c *backfill.Cycle) { c.Start(one, on(0, 1)) })
	before := factsOf(s, 0)
	_, err := attempt(t, s, backfill.Round{Now: 10}, func(c *backfill.Cycle) { c.Wake(0) })
	require.Error(t, err)
	require.Equal(t, backfill.Time(0), s.Now())
	require.Equal(t, before, factsOf(s, 0))
	_, err = attempt(t, s, backfill.Round{Now: 6}, func(c *backfill.Cycle) { c.Start(two, on(0, 1)) })
	require.ErrorContains(t, err, "not free", "both would run on the slot from 6 to 8")
}

// TestStartBeforeAnEventThatUndoesIt starts a job before it takes the event of the round, which
// takes the slot, or removes or edits the job. The decision must be refused or leave a sound state.
func TestStartBeforeAnEventThatUndoesIt(t *testing.T) {
	for _, e := range []backfill.Event{
		{Kind: backfill.SlotLost, Slot: slot(0, nil)},
		{Kind: backfill.SlotChanged, Slot: slot(0, cpus(1))},
		jobEvent(backfill.Removed, 1),
		{Kind: backfill.Changed, Job: job(1, 0, 10, 3)},
	} {
		t.Run(e.Kind.String(), func(t *testing.T) {
			s := newState(t, cpus(4), cpus(4))
			accept(t, s, backfill.Round{Events: submitted(job(1, 0, 10, 2))}, nil)
			c, err := s.Open(backfill.Round{Now: 1, Events: []backfill.Event{e}})
			require.NoError(t, err)
			c.Start(job(1, 0, 10, 2), on(0, 1)) // the event has not been taken yet
			d, err := c.Close()
			if err != nil {
				return // a refusal is right
			}
			for _, started := range d.Started {
				require.True(t, s.IsRunning(started.Job.ID), "the decision starts job %d, which is gone",
					started.Job.ID)
				require.GreaterOrEqual(t, s.Free(0, 1)[0], int64(0), "slot a is oversubscribed")
			}
		})
	}
}

// TestPackageExample checks that the policy in the package documentation starts a job that arrives
// at an idle pool.
func TestPackageExample(t *testing.T) {
	s := newState(t, cpus(4))
	c, err := s.Open(backfill.Round{Events: submitted(job(1, 0, 10, 2))})
	require.NoError(t, err)
	func(c *backfill.Cycle) {
		for _, more := c.Next(); more; { // take the events
			_, more = c.Next()
		}
		for j := range c.Queue() {
			at, fits := c.FitsNow(j)
			if !fits {
				return
			}
			c.Start(j, at)
		}
	}(c.Cycle)
	d, err := c.Close()
	require.NoError(t, err)
	require.Equal(t, []backfill.JobID{1}, startedIDs(d))
}

// TestMoreInvalidRounds checks that rounds whose fault is less obvious are refused and change
// nothing.
func TestMoreInvalidRounds(t *testing.T) {
	set := func(c backfill.Candidates) backfill.Round {
		return backfill.Round{Now: 5, Candidates: []backfill.CandidateSet{{ID: 1, Candidates: c}}}
	}
	for name, r := range map[string]backfill.Round{
		"a slot changes before a completion": {
			Now: 5,
			Events: []backfill.Event{
				{Kind: backfill.SlotChanged, Slot: slot(0, cpus(4))},
				jobEvent(backfill.Completed, 1),
			},
		},
		"a job changes before an overrun": {
			Now: 5,
			Events: []backfill.Event{
				{Kind: backfill.Changed, Job: job(2, 0, 1, 1)},
				{Kind: backfill.EstimateChanged, JobID: 1, End: 9},
			},
		},
		"a running job ends in the past": {
			Now:    5,
			Events: []backfill.Event{{Kind: backfill.EstimateChanged, JobID: 1, End: 4}},
		},
		"a running job ends now": {
			Now:    5,
			Events: []backfill.Event{{Kind: backfill.EstimateChanged, JobID: 1, End: 5}},
		},
		"a planned start that is yet to come": {Now: 5, Events: []backfill.Event{jobEvent(backfill.StartFailed, 4)}},
		"a negative capacity": {
			Now:    5,
			Events: []backfill.Event{{Kind: backfill.SlotChanged, Slot: slot(0, cpus(-1))}},
		},
		"a candidate set with a slot twice": set(backfill.Candidates{Slots: []backfill.SlotID{0, 0}}),
		"a candidate set of unknown slots":  set(backfill.Candidates{Slots: []backfill.SlotID{77}}),
		"a candidate set out of order":      set(backfill.Candidates{Slots: []backfill.SlotID{1, 0}}),
		"a capacity out of bounds": {
			Now:    5,
			Events: []backfill.Event{{Kind: backfill.SlotChanged, Slot: slot(0, cpus(1e15+1))}},
		},
		"a key for nobody":        {Now: 5, Keys: []backfill.JobKey{{Job: 99}}},
		"a key that is no number": {Now: 5, Keys: []backfill.JobKey{{Job: 1, Key: math.NaN()}}},
		"a job whose key is no number": {
			Now:    5,
			Events: []backfill.Event{{Kind: backfill.Submitted, Job: job(9, 5, 1, 1), Key: math.NaN()}},
		},
		"too many chunks":      {Now: 5, Events: submitted(gang(9, 5, 1, 1<<20+1, 1))},
		"too much in all":      {Now: 5, Events: submitted(gang(9, 5, 1, 2, 1e15))},
		"too long an estimate": {Now: 5, Events: submitted(job(9, 5, 1<<40+1, 1))},
	} {
		t.Run(name, func(t *testing.T) {
			s := busy(t, false)
			before := factsOf(s, 5)
			_, err := s.Open(r)
			require.Error(t, err)
			require.Equal(t, before, factsOf(s, 5))
		})
	}
}

// TestReservationLeavesACandidateSetThatShrinks checks that a job cannot start on the slot that is
// reserved for it if the slot is no candidate any more.
func TestReservationLeavesACandidateSetThatShrinks(t *testing.T) {
	s := newState(t, cpus(4), cpus(4))
	one := job(1, 0, 10, 4)
	accept(t, s, backfill.Round{Events: submitted(one)}, func(c *backfill.Cycle) { c.Reserve(one, 5, on(0, 1)) })
	_, err := attempt(t, s, backfill.Round{
		Now:        5,
		Candidates: []backfill.CandidateSet{{ID: 0, Candidates: backfill.Candidates{Slots: []backfill.SlotID{1}}}},
	}, func(c *backfill.Cycle) { c.Start(one, on(0, 1)) })
	require.ErrorContains(t, err, "no candidate")
}

// TestJobThatNoLongerFitsDoesNotBlock checks that a job does not block the queue when it is too
// large for the slots that are left.
func TestJobThatNoLongerFitsDoesNotBlock(t *testing.T) {
	s := newState(t, cpus(8), cpus(4))
	h := newHost(t, s, "fcfs", "fcfs")
	decide(t, h, 0, submitted(job(1, 0, 10, 8))...)
	decide(t, h, 1, submitted(job(2, 1, 10, 8))...)
	decide(t, h, 2, backfill.Event{Kind: backfill.SlotLost, Slot: slot(0, nil)})
	d := decide(t, h, 3, submitted(job(3, 3, 10, 4))...)
	require.Equal(t, []backfill.JobID{3}, startedIDs(d))
}

// TestHeldJobReturnsWithTheSlot checks that a job which was held because no slot is large enough
// waits again when such a slot comes.
func TestHeldJobReturnsWithTheSlot(t *testing.T) {
	s := newState(t, cpus(4))
	h := newHost(t, s, "conservative", "fcfs")
	decide(t, h, 0, submitted(job(1, 0, 10, 4))...)
	decide(t, h, 1, submitted(job(2, 1, 10, 4))...)
	decide(t, h, 2, backfill.Event{Kind: backfill.SlotLost, Slot: slot(0, nil)})
	d := decide(t, h, 3, backfill.Event{Kind: backfill.SlotAdded, Slot: slot(0, cpus(4))})
	require.Equal(t, []backfill.JobID{1}, startedIDs(d))
}

// TestGuaranteeAfterALiftBinds checks that a guarantee binds even if it is given in a round in
// which the policy changes, which lifts all earlier guarantees.
func TestGuaranteeAfterALiftBinds(t *testing.T) {
	s := newState(t, cpus(4))
	one := job(1, 0, 10, 4)
	accept(t, s, backfill.Round{Events: submitted(one)}, nil)
	_, err := attempt(t, s, backfill.Round{Now: 1, Events: []backfill.Event{policyChanged(true)}},
		func(c *backfill.Cycle) {
			c.Guarantee(one, 2)
			c.Reserve(one, 50, on(0, 1))
		})
	require.ErrorContains(t, err, "promised to start at 2")
}

// TestHoldDoesNotLiftAGuarantee checks that a policy cannot drop a guarantee by holding the job.
func TestHoldDoesNotLiftAGuarantee(t *testing.T) {
	s := busy(t, true)
	_, err := attempt(t, s, backfill.Round{Now: 5}, func(c *backfill.Cycle) { c.Hold(job(4, 0, 10, 4), "in my way") })
	require.Error(t, err)
}

// TestNoGuaranteeUnderAPolicyThatGivesNone checks that no guarantee of an earlier policy remains
// under a policy that gives none.
func TestNoGuaranteeUnderAPolicyThatGivesNone(t *testing.T) {
	s := planned(t)
	accept(t, s, backfill.Round{Now: 3, Events: []backfill.Event{policyChanged(false)}}, nil)
	accept(t, s, backfill.Round{Now: 4, Events: []backfill.Event{jobEvent(backfill.StartFailed, 1)}}, nil)
	for _, j := range s.Snapshot().Jobs {
		require.False(t, !j.Running && j.Promised, "job %d waits with a guarantee of %d", j.Job.ID, j.Guarantee)
	}
}

// TestLostSlotIsTheCauseEvenIfTheStartFailedToo checks the reported cause of a broken guarantee if
// a job loses its slot and its start failed in the same round: the lost slot, which comes first.
func TestLostSlotIsTheCauseEvenIfTheStartFailedToo(t *testing.T) {
	s := newState(t, cpus(4), cpus(4))
	h := newHost(t, s, "conservative", "fcfs")
	decide(t, h, 0, submitted(job(1, 0, 10, 4), job(2, 0, 30, 4))...)
	d := decide(t, h, 1, backfill.Event{Kind: backfill.SlotLost, Slot: slot(0, nil)}, jobEvent(backfill.StartFailed, 1))
	require.Len(t, d.Broken, 1)
	require.Equal(t, backfill.CauseSlotLost, d.Broken[0].Cause)
}

// TestBrokenGuaranteesComeInTheOrderOfJobs checks that broken guarantees are reported in the order
// of jobs, whether the round begins with new keys or not: a restored negotiator may have none to
// set.
func TestBrokenGuaranteesComeInTheOrderOfJobs(t *testing.T) {
	for _, keys := range [][]backfill.JobKey{nil, {{Job: 4, Key: 1}, {Job: 2, Key: 2}}} {
		s := newState(t, cpus(4), cpus(4))
		h := newHost(t, s, "conservative", "fcfs")
		decide(t, h, 0, submitted(job(1, 0, 10, 4), job(2, 0, 10, 4), job(3, 0, 10, 4), job(4, 0, 10, 4))...)
		d, err := h.Decide(t.Context(), backfill.Round{
			Now: 1, Keys: keys, Events: []backfill.Event{slotEvent(backfill.SlotLost, 1, 0)},
		})
		require.NoError(t, err)
		var broken []backfill.JobID
		for _, b := range d.Broken {
			broken = append(broken, b.Job.ID)
		}
		require.Equal(t, []backfill.JobID{2, 4}, broken, "keys: %v", keys)
	}
}

// TestDisplacedByASlotComeInOneOrder checks that displaced jobs are listed by start, then in the
// order of jobs. A start in the past counts as now.
func TestDisplacedByASlotComeInOneOrder(t *testing.T) {
	s := newState(t, cpus(4), cpus(4))
	zero, one, two := job(0, 0, 10, 3), job(1, 1, 10, 3), job(2, 2, 30, 1)
	accept(t, s, backfill.Round{Events: submitted(zero)}, func(c *backfill.Cycle) { c.Start(zero, on(0, 1)) })
	accept(t, s, backfill.Round{Now: 2, Events: submitted(one, two)}, func(c *backfill.Cycle) {
		c.Reserve(one, 10, on(0, 1))
		c.Start(two, on(0, 1))
	})
	c, err := s.Open(backfill.Round{Now: 10, Events: []backfill.Event{
		jobEvent(backfill.Completed, 0),
		{Kind: backfill.SlotLost, Slot: slot(0, nil)},
	}})
	require.NoError(t, err)
	e := drain(c.Cycle)[1]
	require.Equal(t, []backfill.JobID{1, 2}, ids(e.Displaced))
}

// TestHugeRequestsDoNotWrapAround checks that sums of the largest amounts over slots and chunks do
// not overflow.
func TestHugeRequestsDoNotWrapAround(t *testing.T) {
	const huge = 1e15
	s := newState(t, cpus(huge), cpus(huge), cpus(huge), cpus(huge))
	require.Equal(t, cpus(4*huge), s.Capacity())
	all, more := gang(1, 0, 1<<40, 4, huge/4), gang(2, 0, 1<<40, 1<<20, huge>>20)
	h := newHost(t, s, "conservative", "fcfs")
	d := decide(t, h, 0, submitted(all, more)...)
	require.Equal(t, []backfill.JobID{1, 2}, startedIDs(d))
}

// TestGuaranteeNeedsAPolicyThatGivesThem checks that a policy which declares no guarantees cannot
// give one.
func TestGuaranteeNeedsAPolicyThatGivesThem(t *testing.T) {
	s := newState(t, cpus(4))
	one := job(1, 0, 10, 4)
	_, err := attempt(t, s, backfill.Round{Events: append([]backfill.Event{policyChanged(false)}, submitted(one)...)},
		func(c *backfill.Cycle) {
			c.Guarantee(one, 0)
		})
	require.Error(t, err)
}

// TestLostSlotFreesTheRestOfAGang checks that a planned gang which loses one of its slots frees the
// others for waiting jobs.
func TestLostSlotFreesTheRestOfAGang(t *testing.T) {
	s := newState(t, cpus(4), cpus(4))
	h := newHost(t, s, "conservative", "fcfs")
	first, last := job(1, 0, 10, 4), job(3, 0, 20, 4)
	first.Candidates, last.Candidates = 1, 1 // on b alone
	_, err := h.Decide(t.Context(), backfill.Round{
		Candidates: []backfill.CandidateSet{{ID: 1, Candidates: backfill.Candidates{Slots: []backfill.SlotID{1}}}},
		Events:     submitted(first, gang(2, 0, 5, 2, 4), last),
	})
	require.NoError(t, err)
	require.Equal(t, backfill.Time(15), jobState(t, s, 3).Start)
	decide(t, h, 5, backfill.Event{Kind: backfill.SlotLost, Slot: slot(0, nil)})
	require.Equal(t, backfill.Time(10), jobState(t, s, 3).Start)
}

// TestClosedCycleIsOver checks that actions and Rollback have no effect after Close.
func TestClosedCycleIsOver(t *testing.T) {
	s := newState(t, cpus(4))
	c, err := s.Open(backfill.Round{Events: submitted(job(1, 0, 10, 4))})
	require.NoError(t, err)
	_, err = c.Close()
	require.NoError(t, err)
	before := factsOf(s, 0)
	c.Start(job(1, 0, 10, 4), on(0, 1))
	require.Equal(t, before, factsOf(s, 0))
	c.Rollback()
	require.Equal(t, before, factsOf(s, 0))
}

// TestBehindLeavesTheJobItselfOut checks that a job is not behind itself, also if the caller has a
// copy of it.
func TestBehindLeavesTheJobItselfOut(t *testing.T) {
	s := busy(t, false)
	accept(t, s, backfill.Round{Now: 5}, func(c *backfill.Cycle) {
		for j := range c.Fast().Behind(job(4, 0, 10, 4)) {
			require.NotEqual(t, backfill.JobID(4), j.ID)
		}
	})
}

// TestReturningJobMayBeEdited checks that a running job which returns to the queue can be edited by
// a later event of the same round, also if its slot is back by then.
func TestReturningJobMayBeEdited(t *testing.T) {
	for name, back := range map[string][]backfill.Event{
		"start failed":       {jobEvent(backfill.StartFailed, 1)},
		"slot lost":          {slotEvent(backfill.SlotLost, 0, 4)},
		"slot lost and back": {slotEvent(backfill.SlotLost, 0, 4), slotEvent(backfill.SlotChanged, 0, 4)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newState(t, cpus(4))
			one := job(1, 0, 10, 4)
			accept(t, s, backfill.Round{Events: submitted(one)}, func(c *backfill.Cycle) { c.Start(one, on(0, 1)) })
			accept(t, s, backfill.Round{Now: 1, Events: append(back,
				backfill.Event{Kind: backfill.Changed, Job: job(1, 0, 20, 2)})}, nil)
			found := jobState(t, s, 1)
			require.False(t, found.Running)
			require.Equal(t, backfill.Time(20), found.Job.Estimate)
		})
	}
}

// TestHoldWithinARoundKeepsTheGuarantee checks that a job does not lose its guarantee if the policy
// holds it after one event, and a later event of the same round brings it back. The job is then
// planned later than promised, so the guarantee is reported as broken.
func TestHoldWithinARoundKeepsTheGuarantee(t *testing.T) {
	s := newState(t, cpus(4), cpus(4))
	one, two := job(1, 0, 10, 4), job(2, 0, 10, 4)
	accept(t, s, backfill.Round{Events: append([]backfill.Event{policyChanged(true)}, submitted(one, two)...)},
		func(c *backfill.Cycle) {
			c.Start(one, on(0, 1))
			c.Reserve(two, 10, on(1, 1))
			c.Guarantee(two, 10)
		})
	longer := job(2, 0, 20, 4)
	c, err := s.Open(backfill.Round{Now: 1, Events: []backfill.Event{
		slotEvent(backfill.SlotLost, 1, 4), {Kind: backfill.Changed, Job: longer},
	}})
	require.NoError(t, err)
	_, more := c.Next()
	require.True(t, more)
	c.Hold(two, "fits nowhere just now")
	drain(c.Cycle)
	c.Reserve(longer, 30, on(0, 1))
	d, err := c.Close()
	require.NoError(t, err)
	require.Equal(t, []backfill.Broken{{Job: longer, Promised: 10, Now: 30, Cause: backfill.CauseJobChanged}}, d.Broken)
	require.Equal(t, backfill.Time(30), jobState(t, s, 2).Guarantee)
	require.Empty(t, d.Held)

	// If it is still held at the end of the round, it loses its guarantee.
	d = accept(t, s, backfill.Round{Now: 2, Events: []backfill.Event{{Kind: backfill.Changed, Job: two}}},
		func(c *backfill.Cycle) { c.Hold(two, "enough") })
	require.Equal(t, []backfill.JobID{2}, heldIDs(d))
	require.False(t, jobState(t, s, 2).Promised)
	require.Zero(t, jobState(t, s, 2).Guarantee)
}
