package backfill_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
)

// variant is a policy with options and an order, to be put in charge.
type variant struct {
	policy  string
	options map[string]string
	order   string
}

// variants are all linked-in policies, some with options that decide otherwise.
func variants() (all []variant) {
	orders := backfill.Orders()
	for i, spec := range policies.All() {
		all = append(all, variant{spec.Name, nil, orders[i%len(orders)].Name})
	}
	return append(all,
		variant{"easy", map[string]string{"depth": "3"}, "fcfs"},
		variant{"ibb", map[string]string{"resources": "cpus"}, "sjf"},
		variant{"maui", map[string]string{"backfillpolicy": "bestfit", "reservationpolicy": "highest", "reservationdepth": "2"}, "fcfs"},
		variant{"conservative", nil, "ljf"},
	)
}

// deciders makes a variant and its fallback.
func (v variant) deciders(t *testing.T) (by backfill.Order, main, fallback backfill.Decider) {
	t.Helper()
	main = link(t, v.policy, v.options)
	return order(t, v.order), main, link(t, policies.FallbackFor(main.Spec()).Name, nil)
}

// TestChangesOnTheWay puts another policy, other options or another order in
// charge in random rounds. Each decision must be the one of a new host on the same
// state, and the rules that hold under one policy hold across the changes.
func TestChangesOnTheWay(t *testing.T) {
	all := variants()
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 9))
		d := conformance.NewDriver(seed)
		d.Calm, d.Exact = seed%3 == 1, seed%3 == 2
		of := all[random.IntN(len(all))]
		by, main, fallback := of.deciders(t)
		never := func(r backfill.Refusal) { require.NoError(t, r.Err, "seed %d: %s at %d", seed, r.Policy, r.Now) }
		h, err := backfill.NewHost(backfill.NewState(d.Resources(), d.Rule()), by, main, fallback, never)
		require.NoError(t, err)
		book := book{t: t, seed: seed, runs: map[backfill.JobID]backfill.Placement{}, promised: map[backfill.JobID]backfill.Time{}}
		for range 100 {
			changed := random.IntN(4) == 0
			if changed {
				of = all[random.IntN(len(all))]
				require.NoError(t, h.Change(of.deciders(t)))
			}
			round := d.Round(h.State)
			var want backfill.Decision
			if changed {
				state, restoreErr := backfill.Restore(h.State.Snapshot())
				require.NoError(t, restoreErr)
				by, main, fallback = of.deciders(t)
				fresh, hostErr := backfill.NewHost(state, by, main, fallback, never)
				require.NoError(t, hostErr)
				want, err = fresh.Decide(t.Context(), round)
				require.NoError(t, err)
			}
			got, err := h.Decide(t.Context(), round)
			require.NoError(t, err)
			if changed {
				require.Equal(t, want, got, "seed %d: %s by %s", seed, of.policy, of.order)
			}
			name, guarantees := h.State.Policy()
			require.Equal(t, []any{of.policy, link(t, of.policy, nil).Spec().Guarantees}, []any{name, guarantees})
			book.follow(round, got, h.State.Snapshot())
		}
	}
}

// book follows what runs and what was promised, from rounds, decisions and plain
// data alone.
type book struct {
	t        *testing.T
	seed     uint64
	runs     map[backfill.JobID]backfill.Placement
	promised map[backfill.JobID]backfill.Time
	shrunk   bool
}

func (b *book) follow(r backfill.Round, d backfill.Decision, s backfill.Snapshot) {
	b.t.Helper()
	for _, e := range r.Events {
		b.shrunk = b.shrunk || e.Kind == backfill.SlotChanged
		switch e.Kind {
		case backfill.Completed, backfill.Removed, backfill.StartFailed:
			delete(b.runs, e.Job)
		case backfill.SlotLost:
			for id, at := range b.runs {
				if slices.ContainsFunc(at, func(on backfill.Chunks) bool { return on.Slot == e.Slot.ID }) {
					delete(b.runs, id)
				}
			}
		default:
		}
	}
	for _, started := range d.Started {
		require.NotContains(b.t, b.runs, started.Job.ID, "seed %d: job %d is started twice", b.seed, started.Job.ID)
		b.runs[started.Job.ID] = started.Placement
		if latest, ok := b.promised[started.Job.ID]; ok && !slices.ContainsFunc(d.Broken, func(o backfill.Broken) bool { return o.Job.ID == started.Job.ID }) {
			require.LessOrEqual(b.t, d.Now, latest, "seed %d: job %d", b.seed, started.Job.ID)
		}
	}
	for _, broken := range d.Broken {
		require.NotEqual(b.t, backfill.CauseNone, broken.Cause)
		b.promised[broken.Job.ID] = broken.Now
	}
	before := b.promised
	b.promised = map[backfill.JobID]backfill.Time{}
	for _, j := range s.Jobs {
		require.Equal(b.t, b.runs[j.Job.ID] != nil, j.Running, "seed %d: job %d", b.seed, j.Job.ID)
		if j.Running || j.Held != "" || !s.Guarantees {
			continue
		}
		require.True(b.t, j.Promised, "seed %d: job %d waits without a guarantee", b.seed, j.Job.ID)
		require.NotNil(b.t, j.Placement)
		require.LessOrEqual(b.t, j.Start, j.Guarantee)
		if latest, ok := before[j.Job.ID]; ok {
			require.Equal(b.t, latest, j.Guarantee, "seed %d: job %d: its guarantee changed unreported", b.seed, j.Job.ID)
		}
		b.promised[j.Job.ID] = j.Guarantee
	}
	b.capacity(s)
}

// capacity adds up what runs and is planned at every start.
func (b *book) capacity(s backfill.Snapshot) {
	b.t.Helper()
	for _, at := range s.Jobs {
		if at.Placement == nil || at.Running && b.shrunk {
			continue
		}
		for _, on := range at.Placement {
			left := slices.Clone(s.Slots[on.Slot].Capacity)
			planned := false
			for _, j := range s.Jobs {
				if j.Start > at.Start || j.End <= at.Start {
					continue
				}
				for _, chunks := range j.Placement {
					if chunks.Slot == on.Slot {
						left.AddScaled(j.Job.Request, -int64(chunks.Count))
						planned = planned || !j.Running
					}
				}
			}
			for k, free := range left {
				oversubscribed := free < 0 && at.Job.Request[k] > 0
				require.False(b.t, oversubscribed && (planned || !b.shrunk), "seed %d: slot %d at %d: %v", b.seed, on.Slot, at.Start, left)
			}
		}
	}
}

// TestABrokenInheritanceIsRefused: another binary under the same name finds the
// guarantees, and its decision does not count if it breaks them.
func TestABrokenInheritanceIsRefused(t *testing.T) {
	s := newState(t, cpus(4))
	conservative := link(t, "conservative", nil)
	var refusals []backfill.Refusal
	h, err := backfill.NewHost(s, order(t, "fcfs"), conservative, conservative, func(r backfill.Refusal) { refusals = append(refusals, r) })
	require.NoError(t, err)
	decide(t, h, 0, submitted(job(1, 0, 10, 4), job(2, 0, 10, 4))...)
	start, _, _ := s.Planned(2)
	require.EqualValues(t, 10, start)

	rebuilt := &recorder{Decider: conservative, act: func(c *backfill.Cycle) error {
		for _, e := range c.Round().Events {
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

// TestAnotherGuaranteeMayBreakOne: from one policy with guarantees to another of
// that kind, who is planned later than promised is reported, with the cause.
func TestAnotherGuaranteeMayBreakOne(t *testing.T) {
	s := newState(t, cpus(4))
	conservative := link(t, "conservative", nil)
	h, err := backfill.NewHost(s, order(t, "fcfs"), conservative, conservative, nil)
	require.NoError(t, err)
	decide(t, h, 0, submitted(job(1, 0, 10, 4), job(2, 0, 10, 4), job(3, 0, 10, 4))...)

	other := link(t, "pc", nil)
	late := &recorder{Decider: other, act: func(c *backfill.Cycle) error {
		taken := 0
		for _, more := c.Next(); more; _, more = c.Next() {
			taken++
		}
		require.Positive(t, taken)
		_, at, _ := c.Reservation(job(3, 0, 10, 4))
		c.Release(job(3, 0, 10, 4))
		c.Reserve(job(3, 0, 10, 4), 30, at)
		return nil
	}}
	require.NoError(t, h.Change(nil, late, conservative))
	d := decide(t, h, 1, backfill.Event{Kind: backfill.Wake})
	require.Len(t, d.Broken, 1)
	require.Equal(t, backfill.Broken{Job: d.Broken[0].Job, Promised: 20, Now: 30, Cause: backfill.CausePolicyChanged}, d.Broken[0])
	require.EqualValues(t, 3, d.Broken[0].Job.ID)
}

// TestARefusedChange leaves everything as it was.
func TestARefusedChange(t *testing.T) {
	s := newState(t, cpus(4))
	h, main, _, _ := newRecordedHost(t, s)
	decide(t, h, 0, submitted(job(1, 0, 10, 4), job(2, 0, 10, 4))...)
	err := h.Change(nil, link(t, "conservative", nil), link(t, "easy", nil))
	require.EqualError(t, err, "policy conservative cannot fall back to easy: one of them gives guarantees and the other does not")
	decide(t, h, 1, backfill.Event{Kind: backfill.Wake})
	require.Equal(t, 2, main.calls)
}

// TestNobodyTakesOverAMemo: what a policy remembered is not for the one that takes
// its place, nor is the fallback's for the policy.
func TestNobodyTakesOverAMemo(t *testing.T) {
	s := newState(t, cpus(4))
	h, main, fallback, _ := newRecordedHost(t, s)
	var memos []any
	remember := func(memo any) func(c *backfill.Cycle) error {
		return func(c *backfill.Cycle) error {
			memos = append(memos, c.Memo())
			c.Remember(memo)
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
