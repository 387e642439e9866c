package backfill_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/backfilltest"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// pool is a random pool under a policy. It records the rounds and the decisions.
type pool struct {
	t         *testing.T
	driver    *conformance.Driver
	main      *recorder
	host      *backfill.Host
	before    func(backfill.Round) // sees each round just before it is decided
	decisions []backfill.Decision
}

func newPool(t *testing.T, seed uint64, main backfill.Decider) *pool {
	t.Helper()
	switch seed % 4 {
	case 2:
		seed += conformance.Deferred
	case 3:
		seed += conformance.Partitioned
	}
	if seed%3 == 1 {
		seed += conformance.Windowed
	}
	if seed%5 > 2 {
		seed += conformance.Ending
	}
	p := &pool{t: t, driver: conformance.NewDriver(seed)}
	p.driver.Calm, p.driver.Predicted = seed%3 == 0, seed/4%2 == 0
	p.main = &recorder{Decider: main}
	p.host = backfilltest.NewHost(t, p.driver, p.main)
	p.host.SetPlanning(planningOf(seed))
	return p
}

// planningOf returns how far policies with guarantees plan in the pool of a seed: without a limit
// in half of the pools.
func planningOf(seed uint64) backfill.Planning {
	if seed%2 == 0 {
		return backfill.Planning{}
	}
	return backfill.Planning{Depth: int(seed % 5), Reorder: seed%3 == 0, Horizon: backfill.Time(seed%4-1) * 15}
}

func (p *pool) rounds(n int) {
	p.t.Helper()
	for range n {
		p.round()
	}
}

// round makes up a round, decides it and returns it as the policy got it.
func (p *pool) round() backfill.Round {
	p.t.Helper()
	r := p.driver.Round(p.host.State)
	if p.before != nil {
		// The host sorts and completes the round: a dry run on a clone gives the result.
		dry := *p.host
		dry.State = p.host.State.Clone()
		_, err := dry.Decide(p.t.Context(), backfill.Round{
			Now: r.Now, Bundles: r.Bundles, Candidates: r.Candidates,
			Keys: r.Keys, Events: append([]backfill.Event{}, r.Events...),
		})
		require.NoError(p.t, err)
		p.before(p.main.rounds[len(p.main.rounds)-1])
	}
	d, err := p.host.Decide(p.t.Context(), r)
	require.NoError(p.t, err)
	d.Actions, d.Started = slices.Clone(d.Actions), slices.Clone(d.Started) // valid until the next round
	p.decisions = append(p.decisions, d)
	return p.main.rounds[len(p.main.rounds)-1]
}

func init() { thorough.Properties(25) }

// everyPolicy calls check for random pools under each of the policies.
func everyPolicy(t *testing.T, check func(*pool)) {
	t.Helper()
	for turn, spec := range policies.All() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			for seed := range thorough.Share(turn, 4, 16) {
				t.Run(fmt.Sprintf("pool-%d", seed), func(t *testing.T) {
					check(newPool(t, seed, link(t, spec.Name, nil)))
				})
			}
		})
	}
}

// TestReplayIsTheDecision checks that replaying a decision's journal on a clone of the state before
// it gives the same decision and the same state.
func TestReplayIsTheDecision(t *testing.T) {
	everyPolicy(t, func(p *pool) {
		t := p.t
		for range 60 {
			copied := p.host.State.Clone()
			r := p.round()
			d := p.decisions[len(p.decisions)-1]

			c, err := copied.Open(r)
			require.NoError(t, err)
			require.NoError(t, c.Replay(t.Context(), d.Actions))
			again, err := c.Close()
			require.NoError(t, err)
			again.By = d.By // a journal does not say who decided
			require.Equal(t, d, again)
			require.Equal(t, factsOf(p.host.State, r.Now), factsOf(copied, r.Now))
		}
	})
}

// TestCloneIsIndependent changes first a state and then its clone, and checks that a change of one
// does not change the other.
func TestCloneIsIndependent(t *testing.T) {
	everyPolicy(t, func(p *pool) {
		t := p.t
		for range 5 {
			p.rounds(8)
			now := p.host.State.Now()
			clone := p.host.State.Clone()
			before := factsOf(clone, now)
			first := len(p.decisions)
			p.rounds(8)
			require.Equal(t, before, factsOf(clone, now), "a change of the original changed the clone")

			before = factsOf(p.host.State, p.host.State.Now())
			for i, d := range p.decisions[first:] {
				c, err := clone.Open(p.main.rounds[first+i])
				require.NoError(t, err)
				require.NoError(t, c.Replay(t.Context(), d.Actions))
				_, err = c.Close()
				require.NoError(t, err)
			}
			require.Equal(t, before, factsOf(clone, clone.Now()), "the same decisions give the same state")

			// Now the clone alone changes.
			j := job(1<<30, clone.Now(), 7, make([]int64, len(clone.Resources()))...)
			for len(clone.Snapshot().Candidates[j.Candidates].Candidates.Bundles) > 0 {
				j.Candidates++
			}
			j.Request[0] = 1
			accept(t, clone, backfill.Round{
				Now: clone.Now() + 1,
				Events: append([]backfill.Event{
					policyChanged(false),
					{Kind: backfill.SlotChanged, Slot: smaller(clone, j.Request)},
				}, submitted(j)...),
			}, func(c *backfill.Cycle) {
				for _, planned := range c.Fast().Planned() {
					c.Release(planned)
				}
				for waiting := range c.Queue() {
					if at, fits := c.FitsNow(waiting); fits {
						c.Start(waiting, at)
					}
				}
				c.Wake(c.Now() + 1)
			})
			require.Equal(t, before, factsOf(p.host.State, p.host.State.Now()),
				"a change of the clone changed the original")
		}
	})
}

// smaller returns the first slot with the given capacity. A slot of a bundle keeps its own, as that
// must not change.
func smaller(s *backfill.State, capacity backfill.Vector) backfill.Slot {
	changed := s.Slots()[0]
	if !bundled(s, changed.ID) {
		changed.Capacity = capacity
	}
	return changed
}

// bundled reports whether the slot belongs to a bundle.
func bundled(s *backfill.State, id backfill.SlotID) bool {
	return slices.ContainsFunc(s.Bundles(), func(b backfill.Bundle) bool { return slices.Contains(b.Slots, id) })
}

// TestSameSeedSameDecisions checks that the decisions for a pool are the same in every run: in a
// second run, with a new policy for each round, with a state that is restored from its snapshot
// before each round, and with a state that loses its memo before some rounds. The queue's order
// depends on the seed; the keys of some orders change with time.
func TestSameSeedSameDecisions(t *testing.T) {
	orders := backfill.Orders()
	for turn, spec := range policies.All() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			for seed := range thorough.Share(turn, 3, 12) {
				order := orders[seed%uint64(len(orders))]
				run := func(main backfill.Decider, before func(*backfill.State) *backfill.State) []backfill.Decision {
					kind := [...]uint64{0, conformance.Deferred, conformance.Windowed, conformance.Partitioned}[seed%4]
					if seed%8 == 7 {
						kind += conformance.Windowed
					}
					d := conformance.NewDriver(kind + seed)
					d.Calm, d.Exact = seed%3 == 1, seed%3 == 2
					d.Predicted = !d.Exact && seed/4%2 == 0
					h := newOrderedHost(t, d, main, order.Order)
					h.SetPlanning(planningOf(seed))
					var decisions []backfill.Decision
					for range 60 {
						h.State = before(h.State)
						decision, err := h.Decide(t.Context(), d.Round(h.State))
						require.NoError(t, err)
						decision.Actions = slices.Clone(decision.Actions) // valid until the next round only
						decision.Started = slices.Clone(decision.Started)
						decisions = append(decisions, decision)
					}
					return decisions
				}
				same := func(s *backfill.State) *backfill.State { return s }
				want := run(link(t, spec.Name, nil), same)
				require.Equal(t, want, run(link(t, spec.Name, nil), same), "seed %d, %s: again", seed, order.Name)
				require.Equal(t, want, run(afresh{t, spec.Name}, same), "seed %d, %s: without memory", seed, order.Name)
				require.Equal(t, want, run(link(t, spec.Name, nil), func(s *backfill.State) *backfill.State {
					restored, err := backfill.Restore(s.Snapshot())
					require.NoError(t, err)
					return restored
				}), "seed %d, %s: restored", seed, order.Name)
				random := rand.New(rand.NewPCG(seed, 4))
				require.Equal(t, want, run(link(t, spec.Name, nil), func(s *backfill.State) *backfill.State {
					if random.IntN(3) == 0 {
						return s.Clone() // a clone has no memo
					}
					return s
				}), "seed %d, %s: forgetful", seed, order.Name)
			}
		})
	}
}

// afresh is a decider that makes a new policy for each round.
type afresh struct {
	t    *testing.T
	name string
}

func (a afresh) Spec() backfill.PolicySpec { return link(a.t, a.name, nil).Spec() }
func (a afresh) Decide(ctx context.Context, tx *backfill.Transaction) error {
	return link(a.t, a.name, nil).Decide(ctx, tx)
}
func (a afresh) Decided(backfill.Round, backfill.Decision, bool) {}
