package backfill_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// busy is a pool at time 5 with a job in every situation:
//
//	slots a and b have 4 cpus each; slot c is lost; slot d is in no candidate set
//	job 1 runs on a with 2 cpus until 20
//	job 2 waits: two chunks of 2 cpus for 10 s
//	job 3 is held
//	job 4 waits with a reservation: all of a from 20 to 30
//	job 5 waits: one cpu for 10 s
//
// With guarantees, jobs 2 and 5 have reservations as well, and all three have guarantees.
func busy(t *testing.T, guarantees bool) *backfill.State {
	t.Helper()
	s := newState(t, cpus(4), cpus(4), cpus(4), cpus(4))
	accept(t, s, backfill.Round{
		Candidates: []backfill.CandidateSet{{
			ID:         0,
			Candidates: backfill.Candidates{Slots: []backfill.SlotID{0, 1, 2}},
		}},
		Events: append([]backfill.Event{
			policyChanged(guarantees),
			{Kind: backfill.SlotLost, Slot: slot(2, nil)},
		}, submitted(job(1, 0, 20, 2), gang(2, 0, 10, 2, 2), job(3, 0, 10, 1), job(4, 0, 10, 4), job(5, 0, 10, 1))...),
	}, func(c *backfill.Cycle) {
		c.Start(job(1, 0, 20, 2), on(0, 1))
		c.Hold(job(3, 0, 10, 1), "its owner said so")
		c.Reserve(job(4, 0, 10, 4), 20, on(0, 1))
		if guarantees {
			c.Guarantee(job(4, 0, 10, 4), 20)
			c.Reserve(gang(2, 0, 10, 2, 2), 8, on(1, 2))
			c.Guarantee(gang(2, 0, 10, 2, 2), 8)
			c.Reserve(job(5, 0, 10, 1), 7, on(0, 1))
			c.Guarantee(job(5, 0, 10, 1), 9)
		}
		c.Wake(11)
	})
	accept(t, s, backfill.Round{Now: 5}, nil)
	return s
}

// TestOnlyJobsThatWaitFit checks that a job that runs, was started earlier in the round, or is held fits
// no slot now, whatever is free.
func TestOnlyJobsThatWaitFit(t *testing.T) {
	s := newState(t, cpus(9))
	jobs := []*backfill.Job{job(0, 0, 20, 1), job(1, 0, 20, 1), job(2, 0, 20, 1), job(3, 0, 20, 1)}
	fits := func(c *backfill.Cycle) (can []bool) {
		for _, j := range jobs {
			_, ok := c.FitsNow(j)
			can = append(can, ok)
		}
		return can
	}
	accept(t, s, backfill.Round{Events: submitted(jobs...)}, func(c *backfill.Cycle) {
		require.Equal(t, []bool{true, true, true, true}, fits(c))
		c.Start(jobs[0], on(0, 1))
		c.Hold(jobs[2], "why not")
		require.Equal(t, []bool{false, true, false, true}, fits(c))
	})
	accept(t, s, backfill.Round{Now: 1}, func(c *backfill.Cycle) {
		c.Start(jobs[1], on(0, 1))
		require.Equal(t, []bool{false, false, false, true}, fits(c))
	})
}

// TestRefusals checks that one impossible action after possible ones makes Close refuse the
// decision, and that the state is then the same as before the round.
func TestRefusals(t *testing.T) {
	j := func(id backfill.JobID) *backfill.Job { return &backfill.Job{ID: id} }
	const maxInt = int(^uint(0) >> 1)
	for _, tt := range []struct {
		name       string
		guarantees bool
		act        func(*backfill.Cycle)
		want       string
	}{
		{
			"start an unknown job", false, func(c *backfill.Cycle) { c.Start(j(99), on(0, 1)) },
			"start job 99: there is no such job",
		},
		{
			"start a running job", false, func(c *backfill.Cycle) { c.Start(j(1), on(1, 1)) },
			"start job 1: it runs since 0",
		},
		{
			"start a held job", false, func(c *backfill.Cycle) { c.Start(j(3), on(1, 1)) },
			"start job 3: it is held (its owner said so)",
		},
		{
			"start a job twice", false, func(c *backfill.Cycle) { c.Start(j(5), on(1, 1)); c.Start(j(5), on(1, 1)) },
			"start job 5: you started it earlier in this round",
		},
		{
			"reserve for a job just started", false, func(c *backfill.Cycle) {
				c.Start(j(5), on(1, 1))
				c.Reserve(j(5), 9, on(1, 1))
			},
			"reserve for job 5: you started it earlier in this round",
		},
		{
			"release a job just started", false, func(c *backfill.Cycle) { c.Start(j(5), on(1, 1)); c.Release(j(5)) },
			"release job 5: you started it earlier in this round",
		},
		{
			"hold a job just started", false, func(c *backfill.Cycle) { c.Start(j(5), on(1, 1)); c.Hold(j(5), "why") },
			"hold job 5: you started it earlier in this round",
		},
		{
			"start on no slot", false, func(c *backfill.Cycle) { c.Start(j(5), nil) },
			"0 chunks are placed, the job has 1",
		},
		{
			"start with too few chunks", false, func(c *backfill.Cycle) { c.Start(j(2), on(1, 1)) },
			"1 chunks are placed, the job has 2",
		},
		{
			"start with too many chunks", false, func(c *backfill.Cycle) { c.Start(j(5), on(0, 1, 1, 1)) },
			"2 chunks are placed, the job has 1",
		},
		{
			"start with too many chunks on a slot", false, func(c *backfill.Cycle) { c.Start(j(5), on(1, 2)) },
			"2 chunks on slot b: the job has 1",
		},
		{
			"start with a slot of no chunk", false, func(c *backfill.Cycle) { c.Start(j(5), on(0, 0, 1, 1)) },
			"0 chunks on slot a",
		},
		{
			"start with less than no chunk", false, func(c *backfill.Cycle) { c.Start(j(2), on(0, -1, 1, 3)) },
			"-1 chunks on slot a",
		},
		{
			"start with chunks whose count overflows", false,
			func(c *backfill.Cycle) { c.Start(j(2), on(0, maxInt, 1, maxInt)) }, "chunks on slot a",
		},
		{
			"start with a slot named twice", false, func(c *backfill.Cycle) { c.Start(j(2), on(1, 1, 1, 1)) },
			"slot b is named twice",
		},
		{
			"start on a slot that is no candidate", false, func(c *backfill.Cycle) { c.Start(j(5), on(3, 1)) },
			"slot d is no candidate",
		},
		{"start on a lost slot", false, func(c *backfill.Cycle) { c.Start(j(5), on(2, 1)) }, "slot 2 is not there"},
		{
			"start on a slot that never was", false, func(c *backfill.Cycle) { c.Start(j(5), on(17, 1)) },
			"slot 17 is not there",
		},
		{
			"start on a slot below zero", false, func(c *backfill.Cycle) { c.Start(j(5), on(-1, 1)) },
			"slot -1 is not there",
		},
		{
			"start more than is free now", false, func(c *backfill.Cycle) { c.Start(j(4), on(0, 1)) },
			"1 chunks of [4] are not free on slot a during [5, 15)",
		},
		{"start into a reservation", false, func(c *backfill.Cycle) {
			c.Reserve(j(4), 14, on(1, 1))
			c.Start(j(5), on(1, 1))
		}, "1 chunks of [1] are not free on slot b during [5, 15)"},

		{
			"reserve for an unknown job", false, func(c *backfill.Cycle) { c.Reserve(j(99), 9, on(0, 1)) },
			"reserve for job 99: there is no such job",
		},
		{
			"reserve for a running job", false, func(c *backfill.Cycle) { c.Reserve(j(1), 9, on(0, 1)) },
			"reserve for job 1: it runs since 0",
		},
		{
			"reserve for a held job", false, func(c *backfill.Cycle) { c.Reserve(j(3), 9, on(0, 1)) },
			"reserve for job 3: it is held",
		},
		{
			"reserve in the past", false, func(c *backfill.Cycle) { c.Reserve(j(5), 4, on(1, 1)) },
			"the start at 4 is not between now (5)",
		},
		{"reserve after the end of time", false, func(c *backfill.Cycle) {
			c.Reserve(j(5), backfill.Forever+1,
				on(1, 1))
		}, "the end of time"},
		{
			"reserve what is taken", false, func(c *backfill.Cycle) { c.Reserve(j(5), 29, on(0, 1)) },
			"1 chunks of [1] are not free on slot a during [29, 39)",
		},
		{
			"reserve on a lost slot", false, func(c *backfill.Cycle) { c.Reserve(j(5), 50, on(2, 1)) },
			"slot 2 is not there",
		},
		{
			"plan for now and do not start", false, func(c *backfill.Cycle) { c.Reserve(j(5), 5, on(1, 1)) },
			"job 5 is planned for 5 and was not started",
		},

		{
			"release an unknown job", false, func(c *backfill.Cycle) { c.Release(j(99)) },
			"release job 99: there is no such job",
		},
		{"release a running job", false, func(c *backfill.Cycle) { c.Release(j(1)) }, "release job 1: it runs since 0"},
		{
			"hold a running job", false, func(c *backfill.Cycle) { c.Hold(j(1), "why not") },
			"hold job 1: it runs since 0",
		},
		{"hold a held job", false, func(c *backfill.Cycle) { c.Hold(j(3), "once more") }, "hold job 3: it is held"},
		{
			"hold without a reason", false, func(c *backfill.Cycle) { c.Hold(j(5), "") },
			"hold job 5: its owner is given no reason",
		},
		{
			"hold a promised job", true, func(c *backfill.Cycle) { c.Hold(j(4), "in my way") },
			"hold job 4: it was promised to start at 20",
		},
		{
			"guarantee under a policy that gives none", false, func(c *backfill.Cycle) { c.Guarantee(j(5), 9) },
			"guarantee for job 5: the policy in charge gives none",
		},
		{"wake now", false, func(c *backfill.Cycle) { c.Wake(5) }, "wake at 5: it is 5 already"},
		{"wake in the past", false, func(c *backfill.Cycle) { c.Wake(4) }, "wake at 4: it is 5 already"},

		{
			"guarantee for a running job", true, func(c *backfill.Cycle) { c.Guarantee(j(1), 9) },
			"guarantee job 1: it runs since 0",
		},
		{
			"guarantee twice", true, func(c *backfill.Cycle) { c.Guarantee(j(4), 20) },
			"guarantee for job 4: it was promised to start at 20 at the latest",
		},
		{
			"guarantee in the past", true, func(c *backfill.Cycle) { c.Guarantee(j(6), 4) },
			"guarantee for job 6: 4 is in the past",
		},
		{
			"guarantee before the reservation", true,
			func(c *backfill.Cycle) { c.Reserve(j(6), 50, on(0, 1)); c.Guarantee(j(6), 49) },
			"job 6 is planned for 50, but was promised to start at 49",
		},
		{
			"no guarantee for an arrival", true, func(c *backfill.Cycle) { c.Reserve(j(6), 50, on(0, 1)) },
			"job 6 was given no guarantee",
		},
		{"no reservation for an arrival", true, nil, "job 6 is left without a reservation"},
		{"guarantee and release", true, func(c *backfill.Cycle) {
			c.Reserve(j(6), 50, on(0, 1))
			c.Guarantee(j(6), 50)
			c.Release(j(6))
		}, "job 6 is left without a reservation"},
		{"move a reservation behind its guarantee", true, func(c *backfill.Cycle) {
			c.Hold(j(6), "aside")
			c.Reserve(j(5), 10, on(0, 1))
		}, "job 5 is planned for 10, but was promised to start at 9"},
		{
			"release what is guaranteed", true, func(c *backfill.Cycle) { c.Hold(j(6), "aside"); c.Release(j(4)) },
			"job 4 is left without a reservation",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := busy(t, tt.guarantees)
			before := factsOf(s, 5)
			c, err := s.Open(backfill.Round{
				Now: 5,
				Candidates: []backfill.CandidateSet{
					{ID: 0, Candidates: backfill.Candidates{Slots: []backfill.SlotID{0, 1, 2}, Rank: []int32{1, 2, 3}}},
				},
				Events: append([]backfill.Event{{Kind: backfill.SlotChanged, Slot: slot(3, cpus(9))}},
					submitted(job(6, 5, 10, 1))...),
			})
			require.NoError(t, err)
			drain(c.Cycle)
			c.Wake(300)
			c.Wake(200)
			c.Wake(200) // a repetition is allowed
			if tt.act != nil {
				tt.act(c.Cycle)
			}
			c.Wake(400) // actions after an impossible one have no effect
			d, err := c.Close()
			require.ErrorContains(t, err, tt.want)
			require.Zero(t, d)
			require.Equal(t, before, factsOf(s, 5))
		})
	}
}

// TestReplayRefuses checks that Replay and Close refuse a journal with an impossible entry, and
// that the state is then the same as before the round.
func TestReplayRefuses(t *testing.T) {
	for _, tt := range []struct {
		name    string
		actions []backfill.Action
		want    string
	}{
		{"an unknown action", []backfill.Action{{Kind: 77, After: 1}}, "unknown action 77"},
		{"no action", []backfill.Action{{After: 1}}, "unknown action 0"},
		{
			"events that are not there",
			[]backfill.Action{{Kind: backfill.ActWake, At: 9, After: 2}},
			"from event 0 to 2 of 1",
		},
		{"a journal that goes back", []backfill.Action{
			{Kind: backfill.ActWake, At: 9, After: 1},
			{Kind: backfill.ActWake, At: 10},
		}, "from event 1 to 0 of 1"},
		{
			"a job before it arrives",
			[]backfill.Action{{Kind: backfill.ActStart, Job: 6, Placement: on(1, 1)}},
			"start job 6: there is no such job",
		},
		{
			"an unknown job",
			[]backfill.Action{{Kind: backfill.ActRelease, Job: 99}},
			"release job 99: there is no such job",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := busy(t, false)
			before := factsOf(s, 5)
			c, err := s.Open(backfill.Round{Now: 5, Events: submitted(job(6, 5, 10, 1))})
			require.NoError(t, err)
			require.ErrorContains(t, c.Replay(t.Context(), tt.actions), tt.want)
			_, err = c.Close()
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, before, factsOf(s, 5))
		})
	}
}

// TestActions checks the effect of each action on the state, and its entry in the journal. An
// action that changes nothing has no entry.
func TestActions(t *testing.T) {
	s := busy(t, false)
	one, two, four, five := job(1, 0, 20, 2), gang(2, 0, 10, 2, 2), job(4, 0, 10, 4), job(5, 0, 10, 1)
	d := accept(t, s, backfill.Round{Now: 6}, func(c *backfill.Cycle) {
		require.Equal(t, []backfill.JobID{2, 4, 5}, queueIDs(c))
		c.Release(two)                    // it has no reservation: no entry
		c.Reserve(two, 20, on(1, 2))      // for later
		c.Reserve(two, 20, on(1, 2))      // the same again: no entry
		c.Reserve(two, 8, on(0, 1, 1, 1)) // replaces the earlier reservation
		c.Reserve(four, 18, on(1, 1))
		require.Equal(t, []backfill.JobID{2, 4}, ids(c.Fast().Planned()))
		c.Start(five, on(1, 1)) // ends at 16, before job 4's reservation begins
		c.Release(four)
		c.Hold(two, "enough")
		c.Wake(30)
		c.Wake(30) // no entry
		c.Wake(25)
		require.Empty(t, c.Fast().Planned())

		var running []backfill.JobID
		for r := range c.Running() { // by expected end
			running = append(running, r.Job.ID)
		}
		require.Equal(t, []backfill.JobID{5, 1}, running)
		require.Equal(t, cpus(3), c.State().Use())
		require.Equal(t, cpus(12), c.Capacity())
	})
	require.Equal(t, []backfill.Action{
		{Kind: backfill.ActReserve, Job: 2, At: 20, Placement: on(1, 2)},
		{Kind: backfill.ActReserve, Job: 2, At: 8, Placement: on(0, 1, 1, 1)},
		{Kind: backfill.ActReserve, Job: 4, At: 18, Placement: on(1, 1)},
		{Kind: backfill.ActStart, Job: 5, Placement: on(1, 1)},
		{Kind: backfill.ActRelease, Job: 4},
		{Kind: backfill.ActHold, Job: 2, Reason: "enough"},
		{Kind: backfill.ActWake, At: 30},
		{Kind: backfill.ActWake, At: 25},
	}, d.Actions)
	require.Equal(t, []backfill.JobID{5}, startedIDs(d))
	require.Equal(t, backfill.ByBackfill, d.Started[0].How, "job 4, which is before it, still waits")
	require.Len(t, d.Held, 1)
	require.Equal(t, "enough", d.Held[0].Reason)
	require.Equal(t, backfill.Time(6), d.Now)
	require.Equal(t, s.Revision(), d.Revision)

	require.True(t, s.IsRunning(one.ID))
	require.True(t, s.IsRunning(five.ID))
	require.False(t, s.IsRunning(two.ID))
	require.Equal(t, []backfill.Time{11, 25, 30}, s.Snapshot().Wakes)
	require.Equal(t, backfill.Time(11), s.NextWake())
	require.Equal(t, cpus(4), s.Free(1, 16))
	require.Equal(t, cpus(3), s.Free(1, 15))
}

func TestWakesAreBounded(t *testing.T) {
	s := newState(t, cpus(4))
	const most = 100_000
	accept(t, s, backfill.Round{Now: 1}, func(c *backfill.Cycle) {
		for i := range most {
			c.Wake(backfill.Time(2 + i))
		}
	})
	_, err := attempt(t, s, backfill.Round{Now: 1}, func(c *backfill.Cycle) { c.Wake(2); c.Wake(200_000) })
	require.ErrorContains(t, err, "wake at 200000: the policy has asked for 100000 other times already")
}

// TestWakesAreUndone checks that a refused decision restores the wakes of the state, also those
// whose time had come in the round.
func TestWakesAreUndone(t *testing.T) {
	s := newState(t, cpus(4))
	accept(t, s, backfill.Round{Now: 1}, func(c *backfill.Cycle) { c.Wake(9); c.Wake(5); c.Wake(7) })
	before := s.Snapshot()
	_, err := attempt(t, s, backfill.Round{Now: 6},
		func(c *backfill.Cycle) { c.Wake(8); c.Wake(30); c.Wake(10); c.Wake(0) })
	require.Error(t, err)
	require.Equal(t, []backfill.Time{5, 7, 9}, before.Wakes)
	require.Equal(t, before, s.Snapshot())
}

// TestAReasonIsPrintable checks that a reason contains no characters that would break a terminal or
// a log line, and no more than 200.
func TestAReasonIsPrintable(t *testing.T) {
	s := newState(t, cpus(4))
	accept(t, s, backfill.Round{Now: 1, Events: submitted(job(1, 0, 10, 1))}, func(c *backfill.Cycle) {
		c.Hold(job(1, 0, 10, 1), "\x1b[2Jtoo\nlarge \xff\a")
	})
	reason, ok := s.Reason(1)
	require.True(t, ok)
	require.Equal(t, "\uFFFD[2Jtoo large \uFFFD\uFFFD", reason.Text)
	accept(t, s, backfill.Round{Now: 1, Events: submitted(job(2, 0, 10, 1))}, func(c *backfill.Cycle) {
		c.Hold(job(2, 0, 10, 1), strings.Repeat("ü", 201))
	})
	reason, _ = s.Reason(2)
	require.Equal(t, strings.Repeat("ü", 200)+"…", reason.Text)
}

// TestWakesPass checks that wakes disappear when their time has come.
func TestWakesPass(t *testing.T) {
	s := newState(t, cpus(1))
	require.Equal(t, backfill.Forever, s.NextWake())
	accept(t, s, backfill.Round{Now: 1}, func(c *backfill.Cycle) { c.Wake(9); c.Wake(5); c.Wake(7) })
	for _, next := range []backfill.Time{5, 7, 9, backfill.Forever} {
		require.Equal(t, next, s.NextWake())
		if next < backfill.Forever {
			accept(t, s, backfill.Round{Now: next, Events: []backfill.Event{{Kind: backfill.Wake}}}, nil)
		}
	}
}

// TestStartOnReservation checks that a job can start at its reservation's place or elsewhere, and
// that nothing of the reservation is left then.
func TestStartOnReservation(t *testing.T) {
	wide := job(1, 0, 10, 4)
	for _, at := range []backfill.Placement{on(0, 1), on(1, 1)} {
		s := newState(t, cpus(4), cpus(4))
		accept(t, s, backfill.Round{Events: submitted(wide)}, func(c *backfill.Cycle) { c.Reserve(wide, 3, on(0, 1)) })
		require.Equal(t, backfill.Time(3), s.NextWake())
		accept(t, s, backfill.Round{Now: 3}, func(c *backfill.Cycle) {
			require.Equal(t, []backfill.JobID{1}, ids(c.Due()))
			c.Start(wide, at)
		})
		require.Equal(t, at, jobState(t, s, 1).Placement)
		require.Equal(t, cpus(4), s.Use())
		require.Equal(t, backfill.Time(13), s.NextWake())
		require.Equal(t, cpus(4), s.Free(1-at[0].Slot, 5))
	}
}

// TestRollbackUndoes checks, in random pools under every policy, that a round which is decided and
// then rolled back leaves the state unchanged.
func TestRollbackUndoes(t *testing.T) {
	everyPolicy(t, func(p *pool) {
		t := p.t
		rounds := 0
		p.before = func(r backfill.Round) {
			if rounds++; rounds == 1 {
				return // it adds the slots: TestRefusedRoundLeavesNoSlot tests that
			}
			s := p.host.State
			before := factsOf(s, r.Now)
			c, err := s.Open(r)
			require.NoError(t, err)
			require.NoError(t, p.main.Decider.Decide(t.Context(), c))
			c.Rollback()
			require.Equal(t, before, factsOf(s, r.Now))
			_, err = c.Close()
			require.ErrorContains(t, err, "rolled back")
			require.Equal(t, before, factsOf(s, r.Now))
		}
		p.rounds(60)
	})
}
