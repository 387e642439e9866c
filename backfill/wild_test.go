package backfill_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// TestWildRounds adds to the driver's rounds ends that move in either direction, and several slots
// that go, come and change at once. It checks that no decision is refused, that no reservation lies
// where there is no room, and that a state restored from its snapshot is the same.
func TestWildRounds(t *testing.T) {
	for turn, spec := range policies.All() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			for seed := range thorough.Share(turn, 5, 20) {
				t.Run(fmt.Sprintf("pool-%d", seed), func(t *testing.T) {
					p := newPool(t, seed, link(t, spec.Name, nil))
					p.driver.Calm = true // the test adds its own mishaps
					random := rand.New(rand.NewPCG(seed, 2))
					p.round()
					for range 60 {
						r := p.driver.Round(p.host.State)
						r.Events = append(r.Events, mishaps(random, p.host.State, r)...)
						_, err := p.host.Decide(t.Context(), r)
						require.NoError(t, err)
						requireSound(t, p.host.State)
					}
				})
			}
		})
	}
}

// mishaps returns random events for slots, and for jobs that do not complete in the round.
func mishaps(random *rand.Rand, s *backfill.State, r backfill.Round) (events []backfill.Event) {
	known := map[backfill.JobID]bool{}
	for _, e := range r.Events {
		known[e.JobID] = known[e.JobID] || e.Kind == backfill.Completed
	}
	for _, j := range s.Snapshot().Jobs {
		if known[j.Job.ID] || random.IntN(6) > 0 {
			continue
		}
		switch kind := random.IntN(4); {
		case j.Running && kind < 2:
			events = append(events, backfill.Event{
				Kind: backfill.EstimateChanged, JobID: j.Job.ID,
				End: r.Now + 1 + backfill.Time(random.IntN(20)),
			})
		case j.Running && kind == 2:
			events = append(events, jobEvent(backfill.StartFailed, j.Job.ID))
		case !j.Running && kind == 0:
			changed := *j.Job
			changed.Submit, changed.Estimate, changed.Nodes = changed.Submit-backfill.Time(random.IntN(9)),
				1+backfill.Time(random.IntN(9)), 1+random.IntN(2)
			if changed.Whole {
				changed.Nodes = 1
			}
			events = append(events, backfill.Event{Kind: backfill.Changed, Job: &changed})
		case kind == 3:
			events = append(events, jobEvent(backfill.Removed, j.Job.ID))
		}
	}
	for _, slot := range s.Slots() {
		if random.IntN(12) > 0 {
			continue
		}
		kind := backfill.SlotChanged
		if !s.SlotUp(slot.ID) {
			kind = backfill.SlotAdded
		} else if random.IntN(2) == 0 {
			kind = backfill.SlotLost
		}
		capacity := make(backfill.Vector, len(slot.Capacity))
		for i := range capacity {
			capacity[i] = random.Int64N(9)
		}
		if !bundled(s, slot.ID) {
			slot.Capacity = capacity
		}
		events = append(events, backfill.Event{Kind: kind, Slot: slot})
	}
	return events
}

// requireSound checks a state against its own snapshot: what is in use, how many jobs run and wait,
// that planned jobs have room, and that no two jobs take conflicting bundles at the same time.
func requireSound(t *testing.T, s *backfill.State) {
	t.Helper()
	facts := factsOf(s, s.Now())
	restored, err := backfill.Restore(facts.Snapshot)
	require.NoError(t, err)
	require.Equal(t, facts, factsOf(restored, s.Now()))

	use, running, waiting := make(backfill.Vector, len(s.Resources())), 0, 0
	for _, j := range facts.Snapshot.Jobs {
		switch {
		case j.Running:
			running++
			use.AddScaled(s.Holds(j.Job, j.Placement), 1)
			require.Greater(t, j.End, s.Now(), "job %d", j.Job.ID)
			continue
		case j.Held == "":
			waiting++
		}
		for _, c := range j.Placement {
			require.True(t, s.SlotUp(c.Slot), "job %d is planned on a lost slot", j.Job.ID)
			for at := j.Start; at < j.End; at++ {
				for k, free := range s.Free(c.Slot, at) {
					if free < 0 {
						require.Zero(t, s.Chunk(j.Job, c.Slot)[k], "job %d is planned where there is no room", j.Job.ID)
					}
				}
			}
		}
	}
	require.Equal(t, use, facts.Use)
	require.Equal(t, running, s.RunningJobs())
	require.Equal(t, waiting, s.Waiting())
	capacity := make(backfill.Vector, len(use))
	for _, slot := range s.Slots() {
		if s.SlotUp(slot.ID) {
			capacity.AddScaled(slot.Capacity, 1)
		}
	}
	require.Equal(t, capacity, facts.Capacity)
	for at := s.Now(); at < s.Now()+30; at++ {
		taken := map[backfill.SlotID]backfill.JobID{}
		for _, j := range facts.Snapshot.Jobs {
			if !j.Job.Whole || j.Start > at || j.End <= at {
				continue
			}
			require.NotEqual(t, -1, slices.IndexFunc(s.Bundles(), func(b backfill.Bundle) bool {
				return slices.EqualFunc(j.Placement, b.Slots,
					func(c backfill.Chunks, id backfill.SlotID) bool {
						return c == backfill.Chunks{
							Slot:  id,
							Count: 1,
						}
					})
			}), "job %d is on no bundle", j.Job.ID)
			for _, c := range j.Placement {
				require.NotContains(t, taken, c.Slot, "two bundles in conflict are taken at %d: jobs %d and %d", at,
					j.Job.ID, taken[c.Slot])
				taken[c.Slot] = j.Job.ID
			}
		}
	}
	require.Equal(t, conformance.ReservedIdle(facts.Snapshot), s.ReservedIdle())
}

// TestHostilePolicy takes random actions, possible and impossible, between the events; starts only
// after the last event. It checks that a refused decision leaves the state unchanged, and that an
// accepted one leaves a sound state in which all guarantees hold.
func TestHostilePolicy(t *testing.T) {
	for _, guarantees := range []bool{false, true} {
		t.Run(fmt.Sprintf("guarantees %v", guarantees), func(t *testing.T) {
			t.Parallel()
			name := map[bool]string{true: "conservative", false: "easy"}[guarantees]
			accepted, refused := 0, 0
			for seed := range thorough.Seeds(12, 30) {
				p := newPool(t, seed, link(t, name, nil))
				p.driver.Calm = true
				random := rand.New(rand.NewPCG(seed, 3))
				p.round()
				for range 40 {
					// A dry run on a clone gives the round as the host passes it on. The hostile
					// policy decides it first; if it is refused, the host does.
					s := p.host.State
					r := p.driver.Round(s)
					r.Events = append(r.Events, mishaps(random, s, r)...)
					clone := s.Clone()
					dry := &recorder{Decider: link(t, name, nil)}
					h, err := backfill.NewHost(clone, order(t, "fcfs"), dry, dry.Decider, nil)
					require.NoError(t, err)
					_, err = h.Decide(t.Context(), r)
					require.NoError(t, err)

					before := factsOf(s, r.Now)
					c, err := s.Open(dry.rounds[0])
					require.NoError(t, err)
					hostile(random, c.Cycle)
					d, err := c.Close()
					if err != nil {
						refused++
						require.Equal(t, before, factsOf(s, r.Now))
						_, err = p.host.Decide(t.Context(), r)
						require.NoError(t, err)
						continue
					}
					accepted++
					requireSound(t, s)
					for _, started := range d.Started {
						require.True(t, s.IsRunning(started.Job.ID))
					}
					for _, j := range s.Snapshot().Jobs {
						if guarantees && !j.Running && j.Held == "" {
							mayHaveNoStart := s.Request(j.Job).Candidates.Windows != nil || s.Profile().Ends().Count() > 0
							require.True(t, j.Promised || mayHaveNoStart)
							require.LessOrEqual(t, j.Start, j.Guarantee)
						}
					}
				}
			}
			require.Greater(t, accepted, 20)
			require.Greater(t, refused, 20)
		})
	}
}

// hostile takes random actions after some of the events. At the end it tries to do what a policy
// must do: it gives each waiting job a reservation and a guarantee, and starts the jobs that are
// due.
func hostile(random *rand.Rand, c *backfill.Cycle) {
	act := func(starts bool) {
		for j := range c.Queue() {
			if random.IntN(3) > 0 {
				continue
			}
			start, at, ok := c.Earliest(j, c.Now()+backfill.Time(random.IntN(3)))
			switch kind := random.IntN(40); {
			case kind == 0:
				c.Reserve(j, c.Now()+backfill.Time(random.IntN(30))-2, on(random.IntN(3), 1+random.IntN(2)))
			case kind == 1 && starts:
				c.Start(j, on(random.IntN(3), 1+random.IntN(2)))
			case kind == 2:
				c.Release(j)
			case kind == 3:
				c.Hold(j, "hostile")
			case kind == 4:
				c.Guarantee(j, c.Now()+backfill.Time(random.IntN(20))-1)
			case kind == 5:
				c.Wake(c.Now() + backfill.Time(random.IntN(20)))
			case ok:
				c.Reserve(j, start, at)
			}
		}
	}
	for {
		if random.IntN(4) == 0 {
			act(false)
		}
		if _, more := c.Next(); !more {
			break
		}
	}
	if random.IntN(4) == 0 {
		act(true)
	}
	for j := range c.Queue() {
		if _, _, planned := c.Reservation(j); !planned {
			if start, at, ok := c.Earliest(j, c.Now()); ok {
				c.Reserve(j, start, at)
			} else {
				c.Hold(j, "nowhere")
			}
		}
		if start, _, ok := c.Reservation(j); ok {
			if _, promised := c.State().Guaranteed(j.ID); !promised {
				c.Guarantee(j, start)
			}
		}
	}
	for _, j := range c.Due() {
		_, at, _ := c.Reservation(j)
		c.Start(j, at)
	}
}
