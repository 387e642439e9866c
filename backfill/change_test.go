package backfill_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// variant is a policy with options and an order.
type variant struct {
	policy  string
	options map[string]string
	order   string
}

// variants returns all linked-in policies, some of them also with options that change decisions.
func variants() (all []variant) {
	orders := backfill.Orders()
	for i, spec := range policies.All() {
		all = append(all, variant{spec.Name, nil, orders[i%len(orders)].Name})
	}
	return append(all,
		variant{"easy", map[string]string{"depth": "3"}, "fcfs"},
		variant{"ibb", map[string]string{"resources": "cpus"}, "sjf"},
		variant{"maui", map[string]string{
			"backfillpolicy": "bestfit", "reservationpolicy": "highest",
			"reservationdepth": "2",
		}, "fcfs"},
		variant{"conservative", nil, "ljf"},
		variant{"slack", map[string]string{"factor": "0.5", "base": "3", "aging": "0.5"}, "sjf"},
	)
}

// deciders makes a variant and its fallback.
func (v variant) deciders(t *testing.T) (ordering backfill.Order, main, fallback backfill.Decider) {
	t.Helper()
	main = link(t, v.policy, v.options)
	return order(t, v.order), main, link(t, policies.FallbackFor(main.Spec()).Name, nil)
}

// TestChangesOnTheWay changes policy, options and order at random times in random pools. It checks
// that the host then decides exactly as a new host on the same state does, and that no mandatory
// rule of package conformance is broken.
func TestChangesOnTheWay(t *testing.T) {
	all := variants()
	for seed := range thorough.Seeds(20, 60) {
		random := rand.New(rand.NewPCG(seed, 9))
		chosen := all[random.IntN(len(all))]
		start := func() *conformance.Run {
			order, main, fallback := chosen.deciders(t)
			run, err := conformance.Start(seed, main)
			require.NoError(t, err)
			require.NoError(t, run.Host.Change(order, main, fallback))
			run.Host.SetPlanning(planningOf(seed))
			return run
		}
		changed, renewed := start(), start()
		never := func(r backfill.Refusal) { require.NoError(t, r.Err, "seed %d: %s at %d", seed, r.Policy, r.Now) }
		for range 100 {
			if random.IntN(4) == 0 {
				chosen = all[random.IntN(len(all))]
				require.NoError(t, changed.Host.Change(chosen.deciders(t)))
				require.NoError(t, renewed.Renew())
				order, main, fallback := chosen.deciders(t)
				var err error
				renewed.Host, err = backfill.NewHost(renewed.Host.State, order, main, fallback, never)
				require.NoError(t, err)
				renewed.Host.SetPlanning(planningOf(seed))
			}
			want, err := renewed.Next(t.Context())
			require.NoError(t, err)
			got, err := changed.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, got, "seed %d: %s by %s", seed, chosen.policy, chosen.order)
			name, guarantees := changed.Host.State.Policy()
			require.Equal(t, []any{chosen.policy, link(t, chosen.policy, nil).Spec().Guarantees}, []any{name, guarantees})
			changed.Check()
			// Advice may be broken: Maui with HIGHEST keeps the reservations of other jobs, which
			// may be in the way of the head of the queue.
			for _, f := range changed.Findings() {
				require.True(t, f.Rule.Advice(), "%s by %s: %s: %v", chosen.policy, chosen.order, f.Rule, f)
			}
		}
	}
}

// TestABrokenInheritanceIsRefused checks that a policy which replaces one of the same name must
// keep the existing guarantees: a decision that breaks one is refused.
func TestABrokenInheritanceIsRefused(t *testing.T) {
	s := newState(t, cpus(4))
	conservative := link(t, "conservative", nil)
	var refusals []backfill.Refusal
	h, err := backfill.NewHost(s, order(t, "fcfs"), conservative, conservative,
		func(r backfill.Refusal) { refusals = append(refusals, r) })
	require.NoError(t, err)
	decide(t, h, 0, submitted(job(1, 0, 10, 4), job(2, 0, 10, 4))...)
	start, _, _ := s.Planned(2)
	require.EqualValues(t, 10, start)

	rebuilt := &recorder{Decider: conservative, act: func(c *backfill.Cycle) error {
		for _, e := range c.Fast().Round().Events {
			require.NotEqual(t, backfill.PolicyChanged, e.Kind)
		}
		_, at, _ := c.Reservation(job(2, 0, 10, 4))
		c.Release(job(2, 0, 10, 4))
		c.Reserve(job(2, 0, 10, 4), 20, at)
		return nil
	}}
	require.NoError(t, h.Change(order(t, "fcfs"), rebuilt, link(t, "conservative", nil)))
	decide(t, h, 1, backfill.Event{Kind: backfill.Wake})
	require.Len(t, refusals, 1)
	require.ErrorContains(t, refusals[0].Err, "job 2 is planned for 20, but was promised to start at 10 at the latest")
	start, _, _ = s.Planned(2)
	require.EqualValues(t, 10, start)
}

// TestAnInheritedPromiseBinds replaces conservative by pc, which gives guarantees too, and lets it
// plan job 3 later than promised. The decision is refused, and the fallback keeps the promise.
func TestAnInheritedPromiseBinds(t *testing.T) {
	s := newState(t, cpus(4))
	conservative := link(t, "conservative", nil)
	var refusals []backfill.Refusal
	h, err := backfill.NewHost(s, order(t, "fcfs"), conservative, conservative,
		func(r backfill.Refusal) { refusals = append(refusals, r) })
	require.NoError(t, err)
	decide(t, h, 0, submitted(job(1, 0, 10, 4), job(2, 0, 10, 4), job(3, 0, 10, 4))...)

	late := &recorder{Decider: link(t, "pc", nil), act: func(c *backfill.Cycle) error {
		events := drain(c)
		require.Equal(t, effect{backfill.PolicyChanged, true, nil}, effects(events)[0])
		_, at, _ := c.Reservation(job(3, 0, 10, 4))
		c.Release(job(3, 0, 10, 4))
		c.Reserve(job(3, 0, 10, 4), 30, at)
		return nil
	}}
	require.NoError(t, h.Change(nil, late, conservative))
	d := decide(t, h, 1, backfill.Event{Kind: backfill.Wake})
	require.Len(t, refusals, 1)
	require.ErrorContains(t, refusals[0].Err, "job 3 is planned for 30, but was promised to start at 20 at the latest")
	require.Empty(t, d.Broken)
	require.EqualValues(t, 20, jobState(t, s, 3).Start)
	require.EqualValues(t, 20, jobState(t, s, 3).Guarantee)
}

// TestWhatIsInherited checks what a change of policy leaves of the plan, before the new policy
// acts, and that taking it back restores all. Job 1 runs. Job 3 comes first in the queue, and is
// the one that a policy without guarantees reserves for. Job 2 is beyond the depth of the plan of
// the other.
func TestWhatIsInherited(t *testing.T) {
	for _, tt := range []struct {
		name     string
		from, to bool
		want     effect
		planned  []backfill.JobID
		promised []backfill.JobID
		lifted   int
		err      string
	}{
		{
			"both promise", true, true,
			effect{backfill.PolicyChanged, true, started(2, 4)},
			started(3), started(3), 0, "job 2 is left without a reservation, and the plan has 1 jobs of at most 2",
		},
		{
			"the new one promises", false, true,
			effect{backfill.PolicyChanged, true, started(2, 3, 4)},
			nil, nil, 0, "job 2 is left without a reservation, and the plan has 0 jobs of at most 2",
		},
		{
			"the old one promised", true, false,
			effect{backfill.PolicyChanged, false, started(2, 4)},
			started(3), nil, 1, "",
		},
		{
			"none promises", false, false,
			effect{backfill.PolicyChanged, false, started(2, 4)},
			started(3), nil, 0, "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newState(t, cpus(4))
			one, two, three, four := job(1, 0, 10, 4), job(2, 0, 10, 4), job(3, 0, 10, 4), job(4, 1, 10, 4)
			arrivals := submitted(one, two, three, four)
			arrivals[1].Key, arrivals[3].Key = 7, 3
			accept(t, s, backfill.Round{
				Planning: &backfill.Planning{Depth: 2}, Events: append([]backfill.Event{policyChanged(tt.from)}, arrivals...),
			}, func(c *backfill.Cycle) {
				c.Start(one, on(0, 1))
				c.Reserve(three, 10, on(0, 1))
				if tt.from {
					c.Guarantee(three, 12)
					c.Reserve(two, 20, on(0, 1))
					c.Guarantee(two, 20)
				}
			})
			if tt.from { // job 2 leaves the plan by an edit, and the plan is shallower by then
				accept(t, s, backfill.Round{Planning: &backfill.Planning{Depth: 1}, Events: []backfill.Event{
					jobEvent(backfill.Removed, 2),
				}}, nil)
				back := submitted(two)
				back[0].Key = 7
				accept(t, s, backfill.Round{Events: back}, nil)
			}
			before := factsOf(s, 0)
			c, err := s.Open(backfill.Round{
				Now: 1, Planning: &backfill.Planning{Depth: 2}, Events: []backfill.Event{policyChanged(tt.to)},
			})
			require.NoError(t, err)
			require.Equal(t, []effect{tt.want}, effects(drain(c.Cycle)))
			require.Equal(t, tt.planned, ids(c.Fast().Planned()))
			var promised []backfill.JobID
			for _, j := range []*backfill.Job{two, three, four} {
				if latest, ok := c.State().Guaranteed(j.ID); ok {
					promised = append(promised, j.ID)
					require.EqualValues(t, 12, latest)
				}
			}
			require.Equal(t, tt.promised, promised)
			if tt.err == "" {
				d, closed := c.Close()
				require.NoError(t, closed)
				require.Equal(t, tt.lifted, d.Lifted)
				require.Empty(t, d.Broken)
				return
			}
			_, err = c.Close()
			require.EqualError(t, err, tt.err)
			require.Equal(t, before, factsOf(s, 0))
		})
	}
}

// TestARefusedChange checks that a refused change of policy changes nothing.
func TestARefusedChange(t *testing.T) {
	s := newState(t, cpus(4))
	h, main, _, _ := newRecordedHost(t, s)
	decide(t, h, 0, submitted(job(1, 0, 10, 4), job(2, 0, 10, 4))...)
	err := h.Change(nil, link(t, "conservative", nil), link(t, "easy", nil))
	require.EqualError(t, err,
		"policy conservative cannot fall back to easy: one of them gives guarantees and the other does not")
	decide(t, h, 1, backfill.Event{Kind: backfill.Wake})
	require.Equal(t, 2, main.calls)
}

// TestNobodyTakesOverAMemo checks that a policy sees neither the memo of the policy before it nor
// that of the fallback.
func TestNobodyTakesOverAMemo(t *testing.T) {
	s := newState(t, cpus(4))
	h, main, fallback, _ := newRecordedHost(t, s)
	var memos []any
	remember := func(memo any) func(c *backfill.Cycle) error {
		return func(c *backfill.Cycle) error {
			memos = append(memos, c.Fast().Memo())
			c.Fast().Remember(memo)
			return nil
		}
	}
	main.act, fallback.act = remember("main"), remember("fallback")
	decide(t, h, 0, submitted(job(1, 0, 10, 5))...) // held
	decide(t, h, 0, submitted(job(2, 0, 10, 4), job(3, 0, 10, 4))...)
	decide(t, h, 1, backfill.Event{Kind: backfill.Wake})
	main.act = func(*backfill.Cycle) error { return errors.New("no idea") }
	decide(t, h, 2, backfill.Event{Kind: backfill.Wake})
	main.act = remember("main")
	decide(t, h, 3, backfill.Event{Kind: backfill.Wake})
	other := &recorder{Decider: link(t, "easy", map[string]string{"depth": "2"}), act: remember("other")}
	require.NoError(t, h.Change(order(t, "fcfs"), other, link(t, "easy", nil)))
	decide(t, h, 4, backfill.Event{Kind: backfill.Wake})
	decide(t, h, 5, backfill.Event{Kind: backfill.Wake})
	require.Equal(t, []any{nil, "main", "main", nil, nil, nil, "other"}, memos)
}
