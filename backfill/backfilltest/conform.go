package backfilltest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
)

// Conform drives a policy through random pools, one for each seed, some calm,
// some full of mishaps, and requires of every decision:
//
//   - it is accepted: possible, and true to the guarantees;
//   - nothing is oversubscribed, at any time now or planned;
//   - every start keeps its job's guarantee, unless that was reported broken;
//   - no job at the head of the queue could have started, and none is planned
//     for now;
//   - the state as plain data makes the same state again.
//
// Decider makes the policy under test, one for each pool.
func Conform(t *testing.T, pools, rounds int, decider func(t *testing.T) backfill.Decider) {
	t.Helper()
	for seed := range uint64(pools) {
		t.Run(fmt.Sprintf("pool-%d", seed), func(t *testing.T) {
			main := decider(t)
			driver := NewDriver(seed)
			driver.Calm = seed%2 == 0
			host := NewHost(t, driver, main)
			c := checker{t: t, guarantees: map[backfill.JobID]backfill.Time{}, spec: main.Spec()}
			for range rounds {
				round := driver.Round(host.State)
				for _, e := range round.Events {
					c.shrunk = c.shrunk || e.Kind == backfill.SlotChanged
				}
				d, err := host.Decide(t.Context(), round)
				require.NoError(t, err)
				c.check(host.State, d)
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
	t          *testing.T
	spec       backfill.Spec
	guarantees map[backfill.JobID]backfill.Time
	shrunk     bool // a slot has lost capacity under running jobs
}

func (c *checker) check(s *backfill.State, d backfill.Decision) {
	snap := s.Snapshot()
	c.capacity(snap)
	c.promises(snap, d)
	c.conservation(s, snap)
	again, err := backfill.Restore(snap)
	require.NoError(c.t, err)
	require.Equal(c.t, snap, again.Snapshot())
	for _, slot := range snap.Slots {
		for t := snap.Now; t < snap.Now+40; t += 3 {
			if slot.Up {
				require.Equal(c.t, s.Free(slot.ID, t), again.Free(slot.ID, t), "free on %s at %d", slot.Name, t)
			}
		}
	}
}

// capacity adds up what runs and what is planned, second by second. Where a slot
// has shrunk, what runs there may be more than there is; no job may be planned
// beside it that asks for the same.
func (c *checker) capacity(snap backfill.Snapshot) {
	horizon := snap.Now
	for _, j := range snap.Jobs {
		horizon = max(horizon, j.End)
	}
	horizon = min(horizon, snap.Now+200)
	for t := snap.Now; t <= horizon; t++ {
		use, planned := make([]backfill.Vector, len(snap.Slots)), make([]backfill.Vector, len(snap.Slots))
		for i := range use {
			use[i], planned[i] = make(backfill.Vector, len(snap.Resources)), make(backfill.Vector, len(snap.Resources))
		}
		for _, j := range snap.Jobs {
			if t < j.Start || j.End <= t {
				continue
			}
			for _, at := range j.Placement {
				use[at.Slot].AddScaled(j.Job.Request, int64(at.Count))
				if !j.Running {
					planned[at.Slot].AddScaled(j.Job.Request, int64(at.Count))
				}
			}
		}
		for i, slot := range snap.Slots {
			for k, capacity := range slot.Capacity {
				fits := use[i][k] <= capacity || c.shrunk && planned[i][k] == 0
				require.True(c.t, fits, "slot %s at %d (now %d): %v of %v", slot.Name, t, snap.Now, use[i], slot.Capacity)
			}
		}
	}
}

// promises follows the guarantees from outside.
func (c *checker) promises(snap backfill.Snapshot, d backfill.Decision) {
	for _, b := range d.Broken {
		require.NotEqual(c.t, backfill.CauseNone, b.Cause)
		c.guarantees[b.Job.ID] = b.Now
	}
	if !c.spec.Guarantees {
		require.Empty(c.t, d.Broken)
		return
	}
	for _, s := range d.Started {
		if latest, ok := c.guarantees[s.Job.ID]; ok {
			require.LessOrEqual(c.t, d.Now, latest, "job %d starts after its guarantee", s.Job.ID)
		}
		delete(c.guarantees, s.Job.ID)
	}
	for _, j := range snap.Jobs {
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

// conservation looks for a job that stands idle without need.
func (c *checker) conservation(s *backfill.State, snap backfill.Snapshot) {
	for _, j := range snap.Jobs {
		if !j.Running && j.Placement != nil {
			require.Greater(c.t, j.Start, snap.Now, "job %d is planned for now and was not started", j.Job.ID)
		}
	}
	first := s.FirstWaiting(1)
	if len(first) == 0 || c.spec.Guarantees {
		return
	}
	// With all reservations gone, the head of the queue must still not fit.
	snap.Jobs = slices.Clone(snap.Jobs)
	for i := range snap.Jobs {
		if j := &snap.Jobs[i]; !j.Running {
			j.Placement, j.Start, j.End = nil, 0, 0
		}
	}
	bare, err := backfill.Restore(snap)
	require.NoError(c.t, err)
	cycle, err := bare.Open(backfill.Round{Now: snap.Now})
	require.NoError(c.t, err)
	_, fits := cycle.FitsNow(first[0])
	require.False(c.t, fits, "job %d at the head of the queue could start", first[0].ID)
}
