package backfill_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
)

// The tests in this file are about jobs that fit on no slot: the state holds them without being
// asked, and lets them wait again when they fit.

func candidates(id int, slots ...backfill.SlotID) backfill.CandidateSet {
	return backfill.CandidateSet{ID: id, Candidates: backfill.Candidates{Slots: slots}}
}

func slotEvent(kind backfill.EventKind, id int, n int64) backfill.Event {
	return backfill.Event{Kind: kind, Slot: slot(id, cpus(n))}
}

func heldIDs(d backfill.Decision) []backfill.JobID {
	var out []backfill.JobID
	for _, h := range d.Held {
		out = append(out, h.Job.ID)
	}
	return out
}

// outgrown is a pool under conservative at time 1. It had the slots a, of 4 cpus, and b, of 8, and
// b was lost. Job 1 runs on a until 10; job 2 is planned there for 10. Job 3 ran on b and job 4 was
// planned there; both are too wide for a and are held.
func outgrown(t *testing.T) (*backfill.State, *backfill.Host) {
	t.Helper()
	s := newState(t, cpus(4), cpus(8))
	h := newHost(t, s, "conservative", "fcfs")
	one, two := job(1, 0, 10, 4), job(2, 0, 10, 4)
	one.Candidates, two.Candidates = 1, 1 // on a alone
	d, err := h.Decide(t.Context(), backfill.Round{
		Candidates: []backfill.CandidateSet{candidates(1, 0)},
		Events:     submitted(one, two, job(3, 0, 10, 8), job(4, 0, 20, 8)),
	})
	require.NoError(t, err)
	require.Equal(t, []backfill.JobID{1, 3}, startedIDs(d))
	d = decide(t, h, 1, backfill.Event{Kind: backfill.SlotLost, Slot: slot(1, nil)})
	require.Equal(t, []backfill.JobID{3, 4}, heldIDs(d))
	require.Empty(t, d.Broken)
	return s, h
}

// TestNobodyIsBlocked checks, under every policy, that three jobs which can never run do not block
// the queue: one is too wide for any slot, one is a gang too large for all slots together, and one
// has no candidates.
func TestNobodyIsBlocked(t *testing.T) {
	for _, spec := range policies.All() {
		s := newState(t, cpus(4), cpus(4))
		h := newHost(t, s, spec.Name, "fcfs")
		nowhere := job(3, 0, 10, 1)
		nowhere.Candidates = 1
		d, err := h.Decide(t.Context(), backfill.Round{
			Candidates: []backfill.CandidateSet{candidates(1)},
			Events: submitted(job(1, 0, 10, 5), gang(2, 0, 10, 9, 1), nowhere, job(4, 0, 10, 4), job(5, 0, 10, 4),
				job(6, 0, 10, 4)),
		})
		require.NoError(t, err)
		require.Equal(t, []backfill.JobID{1, 2, 3}, heldIDs(d), spec.Name)
		require.Equal(t, []backfill.JobID{4, 5}, startedIDs(d), spec.Name)
		require.Equal(t, []backfill.JobID{6}, ids(s.FirstWaiting(9)), spec.Name)
		for _, held := range d.Held {
			require.Equal(t, "fits on no slot of the pool, even an empty one", held.Reason)
			reason, _ := s.Reason(held.Job.ID)
			require.Equal(t, backfill.HeldBack, reason.Why)
			require.Equal(t, held.Reason, reason.Text)
		}
		require.Equal(t, []backfill.JobID{6}, startedIDs(decide(t, h, 10, jobEvent(backfill.Completed, 4),
			jobEvent(backfill.Completed, 5))), spec.Name)
	}
}

// TestOutgrownJobsAreHeld checks that jobs are held and lose their guarantees when the last slot
// that is large enough is lost or shrinks, and that other jobs keep theirs.
func TestOutgrownJobsAreHeld(t *testing.T) {
	s, h := outgrown(t)
	for _, id := range []backfill.JobID{3, 4} {
		require.Equal(t, backfill.ReasonNeverFits, jobState(t, s, id).Held)
		require.False(t, jobState(t, s, id).Promised)
	}
	require.Equal(t, backfill.Time(10), jobState(t, s, 2).Start, "a job with a place on another slot keeps it")
	require.Equal(t, backfill.Time(10), jobState(t, s, 2).Guarantee)
	require.Equal(t, backfill.JobID(2), s.FirstWaiting(9)[0].ID)
	require.Equal(t, 1, s.Waiting())

	d := decide(t, h, 2, slotEvent(backfill.SlotChanged, 0, 3)) // a shrinks under what runs there
	require.Equal(t, []backfill.JobID{2}, heldIDs(d))
	require.Empty(t, decide(t, h, 3, slotEvent(backfill.SlotChanged, 0, 2)).Held, "a held job is not held again")
}

// TestHeldJobsReturn checks that the held jobs of outgrown wait again if, and only if, they fit on
// a slot, also in a restored state.
func TestHeldJobsReturn(t *testing.T) {
	for _, tt := range []struct {
		name  string
		round backfill.Round
		plan  map[backfill.JobID]backfill.Time // of the jobs that return; a job planned for 5 starts
	}{
		{
			"the slot comes back",
			backfill.Round{Events: []backfill.Event{slotEvent(backfill.SlotAdded, 1, 8)}},
			map[backfill.JobID]backfill.Time{3: 5, 4: 15},
		},
		{
			"the other slot grows",
			backfill.Round{Events: []backfill.Event{slotEvent(backfill.SlotChanged, 0, 12)}},
			map[backfill.JobID]backfill.Time{3: 5, 4: 15},
		},
		{"a slot that is no candidate comes", backfill.Round{Events: []backfill.Event{slotEvent(backfill.SlotAdded, 2,
			8)}}, nil},
		{
			"a slot comes and is a candidate from now on", backfill.Round{
				Candidates: []backfill.CandidateSet{candidates(0, 0, 2)},
				Events:     []backfill.Event{slotEvent(backfill.SlotAdded, 2, 8)},
			}, map[backfill.JobID]backfill.Time{3: 5, 4: 15},
		},
		{
			"it comes and a job is edited at once", backfill.Round{Events: []backfill.Event{
				slotEvent(backfill.SlotAdded, 1, 8), {Kind: backfill.Changed, Job: job(3, 0, 7, 8)},
			}}, map[backfill.JobID]backfill.Time{3: 5, 4: 12},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := outgrown(t)
			restored, err := backfill.Restore(s.Snapshot())
			require.NoError(t, err)

			// A round that is rolled back leaves the held jobs held.
			before := factsOf(s, 1)
			tried := tt.round
			tried.Now = 5
			tried.Keys = []backfill.JobKey{{Job: 3, Key: 7}, {Job: 1, Key: 8}, {Job: 2, Key: -1}}
			tried.Events = append([]backfill.Event{policyChanged(false)}, tried.Events...)
			c, err := s.Open(tried)
			require.NoError(t, err)
			drain(c.Cycle)
			require.Equal(t, "easy", s.Snapshot().Policy)
			c.Rollback()
			require.Equal(t, before, factsOf(s, 1))

			for _, s := range []*backfill.State{s, restored} {
				h := newHost(t, s, "conservative", "fcfs")
				tt.round.Now = 5
				d, err := h.Decide(t.Context(), tt.round)
				require.NoError(t, err)
				require.Empty(t, d.Held)
				for _, id := range []backfill.JobID{3, 4} {
					j := jobState(t, s, id)
					start, back := tt.plan[id]
					require.Equal(t, back, j.Held == "", "job %d", id)
					if !back {
						continue
					}
					require.Equal(t, start, j.Start, "job %d", id)
					if !j.Running {
						require.True(t, j.Promised)
						require.Equal(t, start, j.Guarantee)
					}
				}
				require.Equal(t, backfill.Time(10), jobState(t, s, 2).Start)
			}
		})
	}
}

// TestHeldAndBackInOneRound checks that a job which one event of a round holds and a later one
// brings back is not reported as held. Its guarantee still counts: here it is reported as broken.
func TestHeldAndBackInOneRound(t *testing.T) {
	s := newState(t, cpus(8), cpus(4))
	h := newHost(t, s, "conservative", "fcfs")
	decide(t, h, 0, submitted(job(1, 0, 10, 8), job(2, 0, 10, 8))...)
	d := decide(t, h, 1, slotEvent(backfill.SlotLost, 0, 0), slotEvent(backfill.SlotChanged, 1, 8))
	require.Empty(t, d.Held)
	require.Len(t, d.Broken, 2)
	require.Equal(t, []backfill.JobID{1}, startedIDs(d))
	require.Equal(t, backfill.Time(11), jobState(t, s, 2).Guarantee)
}

// TestOthersDoNotReturn checks that a job held by a policy stays held when a slot comes.
func TestOthersDoNotReturn(t *testing.T) {
	s := busy(t, false)
	accept(t, s, backfill.Round{Now: 6, Events: []backfill.Event{slotEvent(backfill.SlotAdded, 2, 8)}}, nil)
	require.Equal(t, "its owner said so", jobState(t, s, 3).Held)
}

// TestChangedCandidates checks that a changed candidate set, in a round without events, holds jobs,
// brings them back and moves a reservation.
func TestChangedCandidates(t *testing.T) {
	for _, policy := range []string{"fcfs", "conservative"} {
		t.Run(policy, func(t *testing.T) {
			s := newState(t, cpus(8), cpus(8))
			h := newHost(t, s, policy, "fcfs")
			wide := func(id backfill.JobID) *backfill.Job { // on candidate set 1
				j := job(id, 0, 10, 8)
				j.Candidates = 1
				return j
			}
			round := func(now backfill.Time, set backfill.CandidateSet, events ...backfill.Event) backfill.Decision {
				d, err := h.Decide(t.Context(), backfill.Round{
					Now: now, Candidates: []backfill.CandidateSet{set},
					Events: events,
				})
				require.NoError(t, err)
				return d
			}
			d := round(0, candidates(1, 0), submitted(wide(1), wide(2), wide(3))...)
			require.Equal(t, []backfill.JobID{1}, startedIDs(d))

			d = round(1, candidates(1))
			require.Equal(t, []backfill.JobID{2, 3}, heldIDs(d), "no candidates are left")
			require.True(t, s.IsRunning(1), "a running job goes on")
			require.Zero(t, s.Waiting(), "held jobs do not wait")

			d = round(2, candidates(1, 1))
			require.Equal(t, []backfill.JobID{2}, startedIDs(d))
			require.Equal(t, backfill.Time(12), jobState(t, s, 3).Start)

			d = round(3, candidates(1, 0))
			require.Empty(t, d.Held)
			start, at, ok := s.Planned(3)
			require.True(t, ok)
			require.Equal(t, backfill.Time(10), start)
			require.Equal(t, on(0, 1), at, "its planned slot was no candidate any more")
		})
	}
}

// TestWhatComesBackToTheQueueIsHeldIfItFitsNowhere checks that a running job which returns to the
// queue without candidates is held, does not block the others, and starts when it has a candidate
// again.
func TestWhatComesBackToTheQueueIsHeldIfItFitsNowhere(t *testing.T) {
	for _, lost := range []backfill.Event{
		{Kind: backfill.SlotLost, Slot: slot(0, nil)},
		jobEvent(backfill.StartFailed, 1),
	} {
		for _, spec := range policies.All() {
			s := newState(t, cpus(4), cpus(4))
			h := newHost(t, s, spec.Name, "fcfs")
			one := job(1, 0, 10, 4)
			one.Candidates = 1
			_, err := h.Decide(t.Context(), backfill.Round{
				Candidates: []backfill.CandidateSet{candidates(1, 0)},
				Events:     submitted(one),
			})
			require.NoError(t, err)
			_, err = h.Decide(t.Context(), backfill.Round{Now: 1, Candidates: []backfill.CandidateSet{candidates(1)}})
			require.NoError(t, err)
			require.True(t, s.IsRunning(1), "a running job goes on without candidates")

			two := job(2, 2, 10, 4)
			two.Candidates = 2
			d, err := h.Decide(t.Context(), backfill.Round{
				Now:        2,
				Candidates: []backfill.CandidateSet{candidates(2, 1)}, Events: append(submitted(two), lost),
			})
			require.NoError(t, err)
			require.Equal(t, []backfill.JobID{1}, heldIDs(d), spec.Name)
			require.Equal(t, backfill.ReasonNeverFits, jobState(t, s, 1).Held, spec.Name)
			require.Equal(t, []backfill.JobID{2}, startedIDs(d), spec.Name)

			d, err = h.Decide(t.Context(), backfill.Round{
				Now: 3, Candidates: []backfill.CandidateSet{candidates(1,
					0)}, Events: []backfill.Event{slotEvent(comes(s), 0, 4)},
			})
			require.NoError(t, err)
			require.Equal(t, []backfill.JobID{1}, startedIDs(d), spec.Name)
		}
	}
}

// comes returns the kind of event that says that the first slot is there: a change if it is there
// already, else an addition.
func comes(s *backfill.State) backfill.EventKind {
	if s.SlotUp(0) {
		return backfill.SlotChanged
	}
	return backfill.SlotAdded
}

// TestHeldByAPolicy checks that jobs which a policy held wait again once it is given up or replaced, also
// by one of the same name. A job that fits nowhere stays held.
func TestHeldByAPolicy(t *testing.T) {
	changeTo := func(name string) func(*testing.T, *backfill.Host) {
		return func(t *testing.T, h *backfill.Host) {
			t.Helper()
			require.NoError(t, h.Change(order(t, "fcfs"), link(t, name, nil),
				link(t, policies.FallbackFor(link(t, name, nil).Spec()).Name, nil)))
		}
	}
	for name, end := range map[string]func(*testing.T, *backfill.Host){
		"given up":             func(*testing.T, *backfill.Host) {},
		"replaced":             changeTo("fcfs"),
		"replaced by promises": changeTo("conservative"),
		"repaired":             changeTo("easy"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newState(t, cpus(2))
			var fails error
			main := &recorder{Decider: link(t, "easy", nil), act: func(c *backfill.Cycle) error {
				drain(c)
				for j := range c.Queue() {
					c.Hold(j, "out of spite")
				}
				return fails
			}}
			h, err := backfill.NewHost(s, order(t, "fcfs"), main, link(t, "fcfs", nil), nil)
			require.NoError(t, err)
			d := decide(t, h, 0, submitted(job(1, 0, 10, 2), job(2, 0, 10, 2), job(3, 0, 10, 3))...)
			require.Equal(t, []backfill.JobID{3, 1, 2}, heldIDs(d))
			if fails = backfill.ErrGivenUp; name != "given up" {
				fails = errors.New("it crashed")
			}
			end(t, h)
			d = decide(t, h, 1, submitted(job(4, 1, 10, 2))...)
			require.Equal(t, []backfill.JobID{1}, startedIDs(d))
			require.Empty(t, d.Held)
			require.Equal(t, []backfill.JobID{2, 4}, ids(s.FirstWaiting(9)))
			require.Equal(t, []backfill.JobID{2}, startedIDs(decide(t, h, 11, jobEvent(backfill.Completed, 1))))
			require.Equal(t, 1, s.Held())
		})
	}
}
