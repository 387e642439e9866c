package backfilltest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
)

// Conform drives a policy through random pools, one for each seed: by turns full
// of mishaps, calm, and such that every job ends when it was expected to. It
// requires of every decision:
//
//   - it is accepted: possible, and true to the guarantees;
//   - nothing is oversubscribed, at any time now or planned, and nothing runs but
//     what was started and has not ended;
//   - every start keeps its job's guarantee, unless that was reported broken;
//   - no job at the head of the queue could have started, and none is planned
//     for now;
//   - the state as plain data makes the same state again;
//   - what the policy promises beyond that.
//
// Decider makes the policy under test, one for each pool.
func Conform(t *testing.T, pools, rounds int, decider func(t *testing.T) backfill.Decider, promises ...Promise) {
	t.Helper()
	for seed := range uint64(pools) {
		t.Run(fmt.Sprintf("pool-%d", seed), func(t *testing.T) {
			main := decider(t)
			driver := NewDriver(seed)
			driver.Calm, driver.Exact = seed%3 == 1, seed%3 == 2
			host := NewHost(t, driver, main)
			c := checker{
				t: t, spec: main.Spec(), driver: driver, guarantees: map[backfill.JobID]backfill.Time{},
				runs: map[backfill.JobID]backfill.Placement{}, headPlan: map[backfill.JobID]backfill.Time{},
			}
			for range rounds {
				round := driver.Round(host.State)
				d, err := host.Decide(t.Context(), round)
				require.NoError(t, err)
				c.check(host.State, round, d)
				for _, kept := range promises {
					kept(&c)
				}
			}
		})
	}
}

// NewHost puts a policy in charge of a driver's pool. A refused decision fails
// the test.
func NewHost(t *testing.T, d *Driver, main backfill.Decider) *backfill.Host {
	t.Helper()
	fallback, err := backfill.Link(policies.FallbackFor(main.Spec()), nil)
	require.NoError(t, err)
	fcfs, err := backfill.OrderNamed("fcfs")
	require.NoError(t, err)
	host, err := backfill.NewHost(backfill.NewState(d.Resources(), d.Rule()), fcfs, main, fallback, func(r backfill.Refusal) {
		require.NoError(t, r.Err, "the decision of %s at %d was refused", r.Policy, r.Now)
	})
	require.NoError(t, err)
	return host
}

// checker holds decisions against promises, from the plain data alone.
type checker struct {
	t      *testing.T
	spec   backfill.Spec
	driver *Driver

	// The round that was decided last, and the state after it.
	round    backfill.Round
	decision backfill.Decision
	snap     backfill.Snapshot

	guarantees map[backfill.JobID]backfill.Time
	runs       map[backfill.JobID]backfill.Placement // by rounds and decisions alone
	headPlan   map[backfill.JobID]backfill.Time      // when a job was planned for as it came to the head of the queue
	shrunk     bool                                  // a slot has lost capacity under running jobs
}

func (c *checker) check(s *backfill.State, r backfill.Round, d backfill.Decision) {
	c.round, c.decision, c.snap = r, d, s.Snapshot()
	c.follow()
	c.capacity()
	c.promises()
	c.head()
	require.Equal(c.t, ReservedIdle(c.snap), s.ReservedIdle())
	again, err := backfill.Restore(c.snap)
	require.NoError(c.t, err)
	require.Equal(c.t, c.snap, again.Snapshot())
	for _, slot := range c.snap.Slots {
		for t := c.snap.Now; t < c.snap.Now+40; t += 3 {
			if slot.Up {
				require.Equal(c.t, s.Free(slot.ID, t), again.Free(slot.ID, t), "free on %s at %d", slot.Name, t)
			}
		}
	}
}

// follow keeps the book of what runs where, and holds the state against it.
func (c *checker) follow() {
	for _, e := range c.round.Events {
		switch e.Kind {
		case backfill.Completed, backfill.Removed, backfill.StartFailed:
			delete(c.runs, e.Job)
		case backfill.SlotLost:
			for id, at := range c.runs {
				if slices.ContainsFunc(at, func(on backfill.Chunks) bool { return on.Slot == e.Slot.ID }) {
					delete(c.runs, id)
				}
			}
		case backfill.SlotChanged:
			c.shrunk = true
		default:
		}
	}
	for _, s := range c.decision.Started {
		require.NotContains(c.t, c.runs, s.Job.ID, "job %d is started twice", s.Job.ID)
		c.runs[s.Job.ID] = s.Placement
	}
	running := map[backfill.JobID]backfill.Placement{}
	for _, j := range c.snap.Jobs {
		if j.Running {
			running[j.Job.ID] = j.Placement
		}
	}
	require.Equal(c.t, c.runs, running)
}

// capacity adds up what runs and what is planned, second by second. Where a slot
// has shrunk, what runs there may be more than there is; no job may be planned
// beside it that asks for the same.
func (c *checker) capacity() {
	horizon := c.snap.Now
	for _, j := range c.snap.Jobs {
		horizon = max(horizon, j.End)
		for _, at := range j.Placement {
			require.True(c.t, c.snap.Slots[at.Slot].Up, "job %d is on slot %d, which is not there", j.Job.ID, at.Slot)
		}
	}
	seconds := min(horizon-c.snap.Now, 200)
	left, unplanned := newGrid(c.snap, seconds), newGrid(c.snap, seconds)
	for _, j := range c.snap.Jobs {
		left.take(j, 1)
		if j.Running {
			unplanned.take(j, 1)
		}
	}
	for i, slot := range c.snap.Slots {
		for t := range seconds {
			for k, free := range left.free[i][t] {
				planned := free != unplanned.free[i][t][k]
				if free < 0 && (planned || !c.shrunk) {
					require.Fail(c.t, "oversubscribed", "slot %s at %d (now %d): of %v is left %v", slot.Name, c.snap.Now+t, c.snap.Now, slot.Capacity, left.free[i][t])
				}
			}
		}
	}
}

// promises follows the guarantees from outside.
func (c *checker) promises() {
	for _, b := range c.decision.Broken {
		require.NotEqual(c.t, backfill.CauseNone, b.Cause)
		require.False(c.t, c.driver.Calm || c.driver.Exact, "job %d's guarantee is broken, and nothing has happened", b.Job.ID)
		c.guarantees[b.Job.ID] = b.Now
	}
	if !c.spec.Guarantees {
		require.Empty(c.t, c.decision.Broken)
		return
	}
	for _, s := range c.decision.Started {
		if latest, ok := c.guarantees[s.Job.ID]; ok {
			require.LessOrEqual(c.t, c.decision.Now, latest, "job %d starts after its guarantee", s.Job.ID)
		}
		delete(c.guarantees, s.Job.ID)
	}
	for _, j := range c.snap.Jobs {
		if j.Running {
			continue
		}
		if j.Held != "" {
			delete(c.guarantees, j.Job.ID)
			continue
		}
		require.True(c.t, j.Promised, "job %d waits without a guarantee", j.Job.ID)
		require.LessOrEqual(c.t, j.Start, j.Guarantee, "job %d is planned after its guarantee", j.Job.ID)
		if latest, ok := c.guarantees[j.Job.ID]; ok && latest != j.Guarantee {
			require.Fail(c.t, "a guarantee changed unreported", "job %d: %d, was %d", j.Job.ID, j.Guarantee, latest)
		}
		c.guarantees[j.Job.ID] = j.Guarantee
	}
}

// head looks for a job that stands idle without need: planned for now, or first
// in the queue, where reservations do not bind, though it fits what is idle.
func (c *checker) head() {
	for _, j := range c.snap.Jobs {
		if !j.Running && j.Placement != nil {
			require.Greater(c.t, j.Start, c.snap.Now, "job %d is planned for now and was not started", j.Job.ID)
		}
	}
	if c.spec.Guarantees {
		return
	}
	if queue := c.queue(); len(queue) > 0 {
		require.False(c.t, c.idle(false).fits(queue[0].Job, c.snap.Now), "job %d at the head of the queue could start", queue[0].Job.ID)
	}
}
