package backfill_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// newRecordedHost creates a host with two recorders of easy, and collects the refusals.
func newRecordedHost(t *testing.T, s *backfill.State) (h *backfill.Host, main, fallback *recorder,
	refusals *[]backfill.Refusal,
) {
	t.Helper()
	main, fallback = &recorder{Decider: link(t, "easy", nil)}, &recorder{Decider: link(t, "easy", nil)}
	refusals = new([]backfill.Refusal)
	h, err := backfill.NewHost(s, order(t, "fcfs"), main, fallback,
		func(r backfill.Refusal) { *refusals = append(*refusals, r) })
	require.NoError(t, err)
	return h, main, fallback, refusals
}

// TestEventOrder checks that the host sorts the events of a round before the policy sees them, and
// announces the policy once.
func TestEventOrder(t *testing.T) {
	s := newState(t, cpus(9), cpus(9))
	// Jobs 1 to 6 run; 5 and 6 started later than 3 and 4; 7 and 8 wait.
	accept(t, s, backfill.Round{Events: submitted(job(6, 0, 90, 1), job(5, 0, 90, 1), job(2, 0, 90, 1),
		job(1, 0, 90, 1))}, func(c *backfill.Cycle) {
		c.Start(job(1, 0, 90, 1), on(0, 1))
		c.Start(job(2, 0, 90, 1), on(0, 1))
	})
	accept(t, s, backfill.Round{Now: 1, Events: submitted(job(4, 1, 90, 1), job(3, 1, 90, 1), job(8, 0, 90, 9),
		job(7, 1, 90, 9))}, func(c *backfill.Cycle) {
		c.Start(job(4, 1, 90, 1), on(0, 1))
		c.Start(job(3, 1, 90, 1), on(0, 1))
	})
	accept(t, s, backfill.Round{Now: 2}, func(c *backfill.Cycle) {
		c.Start(job(6, 0, 90, 1), on(0, 1))
		c.Start(job(5, 0, 90, 1), on(0, 1))
	})
	h, main, _, _ := newRecordedHost(t, s)

	events := append(submitted(job(12, 3, 1, 1), job(11, 3, 1, 1), job(13, 2, 1, 1)),
		backfill.Event{Kind: backfill.Wake},
		backfill.Event{Kind: backfill.Changed, Job: job(8, 0, 90, 8)},
		jobEvent(backfill.Removed, 7),
		jobEvent(backfill.StartFailed, 6),
		jobEvent(backfill.StartFailed, 5),
		backfill.Event{Kind: backfill.SlotLost, Slot: slot(1, nil)},
		backfill.Event{Kind: backfill.SlotChanged, Slot: slot(0, cpus(8))},
		jobEvent(backfill.Completed, 4),
		jobEvent(backfill.Completed, 3),
		jobEvent(backfill.Completed, 1),
		backfill.Event{Kind: backfill.EstimateChanged, JobID: 2, End: 70},
		backfill.Event{Kind: backfill.SlotAdded, Slot: slot(3, cpus(1))},
		backfill.Event{Kind: backfill.SlotAdded, Slot: slot(2, cpus(1))},
	)
	given := append([]backfill.Event{}, events...)
	decide(t, h, 3, events...)
	require.Equal(t, given, events, "the caller's events are not touched")

	var got []string
	for _, e := range main.rounds[0].Events {
		switch {
		case e.Job != nil:
			got = append(got, fmt.Sprint(e.Kind, " ", e.Job.ID))
		case e.Slot.Name != "":
			got = append(got, fmt.Sprint(e.Kind, " ", e.Slot.Name))
		case e.JobID != 0:
			got = append(got, fmt.Sprint(e.Kind, " ", e.JobID))
		default:
			got = append(got, e.Kind.String())
		}
	}
	require.Equal(t, []string{
		"policy changed",
		"slot added c", "slot added d",
		"completed 1", "completed 3", "completed 4", // by start, then order of jobs
		"slot changed a", "slot lost b", // one class, by slot
		"start failed 5", "start failed 6", // order of jobs
		"estimate changed 2",
		"changed 8", "removed 7", // one class, in order of jobs: 8 came earlier
		"submitted 13", "submitted 11", "submitted 12",
		"wake",
	}, got)

	// The policy is announced once.
	decide(t, h, 3)
	require.Empty(t, main.rounds[1].Events)
}

// TestFallback checks that the fallback decides a round at once if the main policy fails or its
// decision is refused, and that the main policy decides the next round again.
func TestFallback(t *testing.T) {
	for _, tt := range []struct {
		name string
		act  func(*backfill.Cycle) error
		want string
	}{
		{"an impossible action", func(c *backfill.Cycle) error {
			drain(c)
			c.Start(job(1, 0, 10, 2), on(0, 1))
			c.Start(job(2, 0, 10, 2), on(0, 1))
			c.Start(job(3, 0, 10, 2), on(0, 1))
			return nil
		}, "not free on slot a"},
		{"an error after some actions", func(c *backfill.Cycle) error {
			drain(c)
			c.Start(job(2, 0, 10, 2), on(0, 1))
			c.Wake(77)
			return errors.New("connection lost")
		}, "connection lost"},
		{"an exceeded deadline of the policy's own", func(*backfill.Cycle) error {
			return fmt.Errorf("its deadline: %w", context.DeadlineExceeded)
		}, "its deadline"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newState(t, cpus(4))
			h, main, fallback, refusals := newRecordedHost(t, s)
			main.act = tt.act
			events := submitted(job(1, 0, 10, 2), job(2, 0, 10, 2), job(3, 0, 10, 2))
			d := decide(t, h, 3, events...)
			require.Equal(t, []backfill.JobID{1, 2}, startedIDs(d), "the fallback's decision")
			require.Equal(t, "easy", d.By)
			require.Equal(t, 1, main.calls)
			require.Equal(t, 1, fallback.calls)
			require.Equal(t, []bool{false}, main.own, "the main policy is told that it was not its decision")
			require.Empty(t, s.Snapshot().Wakes)
			require.Len(t, *refusals, 1)
			require.Equal(t, backfill.Time(3), (*refusals)[0].Now)
			require.Equal(t, "easy", (*refusals)[0].Policy)
			require.ErrorContains(t, (*refusals)[0].Err, tt.want)

			main.act = nil // the main policy works again
			d = decide(t, h, 4, jobEvent(backfill.Completed, 1))
			require.Equal(t, []backfill.JobID{3}, startedIDs(d))
			require.Equal(t, 1, fallback.calls)
			require.Equal(t, []bool{false, true}, main.own)
		})
	}
}

// TestNoFallback checks that an invalid round and an ended context are errors: the fallback is not
// asked.
func TestNoFallback(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	fails := func(*backfill.Cycle) error { return errors.New("no idea") }
	for _, tt := range []struct {
		name  string
		ctx   context.Context //nolint:containedctx // a column of the table
		round backfill.Round
		want  string
		calls int // of the main policy
	}{
		{"the context has ended", cancelled, backfill.Round{Now: 3, Events: submitted(job(1, 3, 10, 2))}, "no idea", 1},
		{"the round is invalid", t.Context(), backfill.Round{
			Now:    3,
			Events: []backfill.Event{jobEvent(backfill.Completed, 9)},
		}, "job 9 does not run", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newState(t, cpus(4))
			before := factsOf(s, 3)
			h, main, fallback, refusals := newRecordedHost(t, s)
			main.act = fails
			_, err := h.Decide(tt.ctx, tt.round)
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, tt.ctx.Err() != nil, errors.Is(err, context.Canceled))
			require.Equal(t, tt.calls, main.calls)
			require.Zero(t, fallback.calls)
			require.Empty(t, *refusals)
			require.Empty(t, main.rounds, "there was no decision to report")
			require.Equal(t, before, factsOf(s, 3))

			// The host can decide another round at the same time, and announces the policy in that.
			main.act = nil
			d := decide(t, h, 3, submitted(job(1, 3, 10, 2))...)
			require.Equal(t, []backfill.JobID{1}, startedIDs(d))
			require.Equal(t, backfill.PolicyChanged, main.rounds[0].Events[0].Kind)
		})
	}
}

// TestFallbackFailsAsWell checks that the state stays as it was if the fallback fails too.
func TestFallbackFailsAsWell(t *testing.T) {
	s := newState(t, cpus(4))
	before := factsOf(s, 0)
	h, main, fallback, refusals := newRecordedHost(t, s)
	main.act = func(*backfill.Cycle) error { return errors.New("no idea") }
	fallback.act = func(c *backfill.Cycle) error { c.Wake(0); return nil }
	_, err := h.Decide(t.Context(), backfill.Round{Events: submitted(job(1, 0, 1, 1))})
	require.EqualError(t, err, "fallback policy easy failed as well: wake at 0: it is 0 already")
	require.Len(t, *refusals, 1)
	require.Equal(t, before, factsOf(s, 0))
}

// TestIdleRounds checks that the policy is not asked to decide a round in which there is nothing to
// decide, but is told of it.
func TestIdleRounds(t *testing.T) {
	s := newState(t, cpus(4))
	h, main, _, _ := newRecordedHost(t, s)
	decide(t, h, 0)
	require.Zero(t, main.calls)
	decide(t, h, 1, submitted(job(1, 1, 10, 2))...) // something arrives
	require.Equal(t, 1, main.calls)
	decide(t, h, 2, backfill.Event{Kind: backfill.Wake},
		backfill.Event{Kind: backfill.SlotAdded, Slot: slot(1, cpus(4))}, backfill.Event{
			Kind: backfill.SlotChanged,
			Slot: slot(1, cpus(3)),
		})
	decide(t, h, 11) // it overruns
	decide(t, h, 12, jobEvent(backfill.Completed, 1))
	require.Equal(t, 1, main.calls)
	require.Equal(t, []bool{false, true, false, false, false}, main.own)

	decide(t, h, 13, submitted(job(2, 13, 10, 2))...)
	require.Equal(t, 2, main.calls)
	decide(t, h, 14, jobEvent(backfill.StartFailed, 2)) // it waits again
	require.Equal(t, 3, main.calls)
	decide(t, h, 15, backfill.Event{Kind: backfill.SlotLost, Slot: slot(1, nil)})
	require.Equal(t, 4, main.calls, "what ran there might wait again")
	require.Equal(t, 1, s.RunningJobs()+s.Waiting())
}

// TestOverrun checks when a job that outlives its estimate is expected to end: at start +
// min(estimate·2^k, limit), for the least k for which this is later than now; past the limit, at
// start + limit·2^k.
func TestOverrun(t *testing.T) {
	for _, tt := range []struct{ estimate, limit, now, want backfill.Time }{
		{10, 0, 10, 20}, // without a limit, the estimate is the limit
		{10, 0, 19, 20},
		{10, 0, 20, 40},
		{10, 0, 39, 40},
		{10, 0, 1000, 1280},
		{10, 10, 10, 20},
		{10, 100, 10, 20},
		{10, 100, 25, 40},
		{10, 100, 79, 80},
		{10, 100, 80, 100}, // not 160: the limit
		{10, 100, 99, 100},
		{10, 100, 100, 200},
		{10, 100, 200, 400},
		{10, 15, 10, 15},
		{10, 15, 15, 30},
		{10, 80, 40, 80}, // the limit is a power of two away
		{10, 80, 80, 160},
		{1, 1, 1, 2},
		{1, 0, 1 << 40, 1 << 41},
		{10, 1 << 40, 10, 20},
		{10, 1 << 40, 70, 80},
	} {
		t.Run(fmt.Sprintf("%d limit %d now %d", tt.estimate, tt.limit, tt.now), func(t *testing.T) {
			const start = 1000
			s := newState(t, cpus(4))
			h, _, _, _ := newRecordedHost(t, s)
			j := job(1, start, tt.estimate, 1)
			j.Limit = tt.limit
			decide(t, h, start, submitted(j)...)
			require.Equal(t, start+tt.estimate, jobState(t, s, 1).End)
			decide(t, h, start+tt.now)
			require.Equal(t, start+tt.want, jobState(t, s, 1).End)
			require.Equal(t, cpus(3), s.Free(0, start+tt.want-1))
			require.Equal(t, cpus(4), s.Free(0, start+tt.want))
		})
	}
}

// TestElapsed checks that the host adds the events that follow from the passing of time, an overrun
// and a missed start, but none for a job that has an event in the round.
func TestElapsed(t *testing.T) {
	s := newState(t, cpus(4))
	h, main, _, _ := newRecordedHost(t, s)
	decide(t, h, 0, submitted(job(1, 0, 10, 1), job(2, 0, 10, 1), job(3, 0, 10, 4))...)
	start, _, planned := s.Planned(3)
	require.True(t, planned)
	require.Equal(t, backfill.Time(10), start)
	require.Equal(t, backfill.Time(10), s.NextWake())

	// Job 1 completes, 2 does not, and 3 was to start two seconds ago.
	decide(t, h, 12, jobEvent(backfill.Completed, 1))
	events := main.rounds[1].Events
	require.Len(t, events, 3)
	require.Equal(t, backfill.Event{Kind: backfill.StartFailed, JobID: 3}, events[1])
	require.Equal(t, backfill.Event{Kind: backfill.EstimateChanged, JobID: 2, End: 20}, events[2])
	start, _, _ = s.Planned(3)
	require.Equal(t, backfill.Time(20), start)

	// At the planned start itself nothing is late.
	decide(t, h, 20, jobEvent(backfill.Completed, 2))
	require.Len(t, main.rounds[2].Events, 1)
	require.True(t, s.IsRunning(3))
}

// TestNewHost checks that a host is refused if only one of main policy and fallback gives
// guarantees.
func TestNewHost(t *testing.T) {
	for _, tt := range []struct{ main, fallback, want string }{
		{
			"conservative", "easy",
			"policy conservative cannot fall back to easy: one of them gives guarantees and the other does not",
		},
		{"easy", "conservative", "policy easy cannot fall back to conservative"},
		{"easy", "fcfs", ""},
		{"conservative", "conservative", ""},
	} {
		_, err := backfill.NewHost(newState(t, cpus(1)), order(t, "fcfs"), link(t, tt.main, nil),
			link(t, tt.fallback, nil), nil)
		if tt.want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, tt.want)
		}
	}
	_, err := backfill.Link(link(t, "easy", nil).Spec(), map[string]string{"depth": "0"})
	require.Error(t, err)
}

// TestRefusedMayBeNil checks that the fallback decides also if the host has no function to report a
// refusal to.
func TestRefusedMayBeNil(t *testing.T) {
	main := &recorder{Decider: link(t, "easy", nil), act: func(*backfill.Cycle) error { return errors.New("no idea") }}
	h, err := backfill.NewHost(newState(t, cpus(4)), order(t, "fcfs"), main, link(t, "easy", nil), nil)
	require.NoError(t, err)
	require.Equal(t, []backfill.JobID{1}, startedIDs(decide(t, h, 0, submitted(job(1, 0, 1, 1))...)))
}

// The tests from here on are regression tests.

// TestOverrunOfAnEstimateAboveTheLimit checks that a job whose estimate is above its limit is
// expected, when it outlives the estimate, to end after twice the limit.
func TestOverrunOfAnEstimateAboveTheLimit(t *testing.T) {
	s := newState(t, cpus(4))
	h, _, _, _ := newRecordedHost(t, s)
	j := job(1, 0, 100, 1)
	j.Limit = 60
	decide(t, h, 0, submitted(j)...)
	decide(t, h, 100)
	require.Equal(t, backfill.Time(120), jobState(t, s, 1).End)
}

// TestChangedOrderHoldsForAll checks that a new order also sorts the jobs that wait already.
func TestChangedOrderHoldsForAll(t *testing.T) {
	s := newState(t, cpus(4))
	h := newHost(t, s, "easy", "sjf")
	decide(t, h, 0, submitted(job(1, 0, 100, 4), job(2, 0, 100, 4))...)
	h = newHost(t, s, "conservative", "fcfs")
	decide(t, h, 1, submitted(job(3, 1, 10, 4))...)
	require.Equal(t, []backfill.JobID{2, 3}, ids(s.FirstWaiting(9)), "in order of jobs")
}

// TestChangedOrderHoldsForThoseWhoReturn checks that a new order, also under the same policy, gives
// keys to the jobs that return to the queue.
func TestChangedOrderHoldsForThoseWhoReturn(t *testing.T) {
	s := newState(t, cpus(4), cpus(8))
	h := newHost(t, s, "easy", "sjf")
	decide(t, h, 0, submitted(job(1, 0, 90, 8), job(2, 0, 80, 4), job(3, 0, 70, 4))...) // 2 and 3 start
	decide(t, h, 1, backfill.Event{Kind: backfill.SlotLost, Slot: slot(1, nil)})        // 1 is held
	require.Equal(t, backfill.ReasonNeverFits, jobState(t, s, 1).Held)

	h = newHost(t, s, "easy", "ljf")
	decide(t, h, 2, submitted(job(4, 2, 85, 4))...)
	decide(t, h, 3, backfill.Event{Kind: backfill.SlotAdded, Slot: slot(1, cpus(8))},
		backfill.Event{Kind: backfill.SlotLost, Slot: slot(0, nil)})
	for id := range backfill.JobID(4) {
		j := jobState(t, s, id+1)
		require.Equal(t, -j.Job.Estimate, backfill.Time(j.Key), "job %d", id+1)
	}
}

// TestOverrunBesideAnEarlyCompletionBreaksAGuarantee lets job 2 complete early while job 1 overruns
// in the same round. The completion is taken first, and until the overrun is taken, job 1 counts as
// ended. So job 3 moves forward to 10, and job 4 to job 3's old place. Then the overrun displaces
// job 3; as its old place is taken, its guarantee breaks, and the overrun is the cause.
// DECISIONS.md says why completions come first.
func TestOverrunBesideAnEarlyCompletionBreaksAGuarantee(t *testing.T) {
	s := newState(t, cpus(4))
	h := newHost(t, s, "conservative", "fcfs")
	decide(t, h, 0, submitted(job(1, 0, 10, 2), job(2, 0, 20, 2), job(3, 0, 10, 4), job(4, 0, 10, 4))...)
	require.Equal(t, backfill.Time(20), jobState(t, s, 3).Guarantee)
	require.Equal(t, backfill.Time(30), jobState(t, s, 4).Guarantee)
	d := decide(t, h, 10, jobEvent(backfill.Completed, 2)) // and job 1 overruns, to 20
	require.Len(t, d.Broken, 1)
	broken := d.Broken[0]
	require.Equal(t, backfill.JobID(3), broken.Job.ID)
	require.Equal(t, backfill.CauseOverrun, broken.Cause)
	require.Equal(t, []backfill.Time{20, 30}, []backfill.Time{broken.Promised, broken.Now})
	require.Equal(t, backfill.Time(20), jobState(t, s, 4).Start, "job 4 gains what job 3 loses")
}

// TestRestartKeepsGuarantees checks that the same policy, active again after a restart, keeps its
// guarantees.
func TestRestartKeepsGuarantees(t *testing.T) {
	s := planned(t) // job 3 is promised by 12 and planned for 10
	restored, err := backfill.Restore(s.Snapshot())
	require.NoError(t, err)
	decide(t, newHost(t, restored, "conservative", "fcfs"), 3)
	require.Equal(t, jobState(t, s, 3).Guarantee, jobState(t, restored, 3).Guarantee)
}

// TestEventsWithNeedlessFieldsAreRefused checks that invalid events are refused with the right
// error if they also have fields that their kind does not use.
func TestEventsWithNeedlessFieldsAreRefused(t *testing.T) {
	h := newHost(t, newState(t, cpus(4)), "easy", "fcfs")
	_, err := h.Decide(t.Context(), backfill.Round{Events: []backfill.Event{
		{Kind: backfill.Completed, JobID: 7, Job: job(7, 0, 1, 1)},
		{Kind: backfill.Completed, JobID: 8, Job: job(8, 0, 1, 1)},
	}})
	require.ErrorContains(t, err, "job 7 does not run")
}

// TestReordered: an order whose keys do not move with time is asked anew for the waiting jobs that a round
// names, and for no others.
func TestReordered(t *testing.T) {
	s := newState(t, cpus(4))
	keys := map[backfill.JobID]float64{1: 1, 2: 2, 3: 3, 4: 4}
	changing := func(j *backfill.Job, _ backfill.Moment) (float64, backfill.Moves) {
		return keys[j.ID], backfill.Moves{}
	}
	h, err := backfill.NewHost(s, changing, link(t, "easy", nil), link(t, "easy", nil), nil)
	require.NoError(t, err)
	decide(t, h, 0, submitted(job(1, 0, 100, 4), job(2, 0, 100, 4), job(3, 0, 100, 4), job(4, 0, 100, 4))...)
	keys[1], keys[2], keys[3], keys[4] = 9, 9, 8, 0
	_, err = h.Decide(t.Context(), backfill.Round{Now: 1, Reordered: []backfill.JobID{1, 2, 3, 7}})
	require.NoError(t, err)
	require.Equal(t, []backfill.JobID{4, 3, 2}, ids(s.FirstWaiting(9)), "4 has its old key")
	require.Equal(t, []float64{1, 4}, []float64{s.Key(1), s.Key(4)}, "1 runs")
}
