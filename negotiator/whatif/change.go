package whatif

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// otherRules are the rules under which a question has the plan made.
type otherRules struct {
	policy, fallback backfill.Decider // nil: those in charge
	order            backfill.Order   // nil: the one in charge
	set              *estimate.Set    // nil: the one in charge
}

// aboutChange answers what would differ under other rules or with other slots.
func (a *asking) aboutChange(ctx context.Context) error {
	var o *outlook.Outlook
	var more enlarging
	var past []estimate.Ended
	err := a.look(ctx, func(n *negotiator.Negotiator) (err error) {
		o = outlook.New(n)
		if a.q.Estimates != "" {
			past = slices.Collect(n.Learned())
		}
		more, err = a.enlarging(n)
		return err
	})
	if err != nil {
		return err
	}
	slots, err := a.otherSlots(ctx, more, o.State())
	if err != nil {
		return err
	}
	other, err := a.otherRules(o, past)
	if err != nil {
		return err
	}
	present, done, err := a.Twins.Rules(ctx, o)
	if err != nil {
		return err
	}
	defer done()
	guarantees := o.Guarantees()
	if other.policy != nil {
		guarantees = other.policy.Spec().Guarantees
	}
	next, first := o.Under(guarantees, other.set)
	truth := o // run times are the same in both plays
	if other.set != nil {
		truth = next
	}
	start := func(first *backfill.Round) ahead.Start {
		s := truth.Start()
		s.First = first
		return s
	}
	before, err := a.starts(ctx, plan{present, start(&backfill.Round{Now: o.Now()})}, nil)
	if err != nil {
		return err
	}
	changed := present
	if other.policy != nil {
		changed = next.RulesIn(other.order, other.policy, other.fallback)
	} else if other.order != nil || other.set != nil {
		changed = next.RulesIn(other.order, present.Policy, present.Fallback)
	}
	if spec := changed.Policy.Spec(); a.q.Order != "" && spec.IgnoresOrder {
		slots.notes = append(slots.notes, fmt.Sprintf("policy %s serves jobs by submit time, whatever the order", spec.Name))
	}
	from := start(first)
	from.Later = slots.begin(first, o.State())
	after, err := a.starts(ctx, plan{changed, from}, nil)
	if err != nil {
		return err
	}
	return a.tell(ctx, o, truth, before, after, guarantees, slots.notes)
}

// tell fills in the answer.
func (a *asking) tell(ctx context.Context, o, truth *outlook.Outlook, before, after map[backfill.JobID]backfill.Time,
	guarantees bool, notes []string,
) error {
	c := a.compare(ctx, truth, before, after)
	c.Drained = a.q.Drain
	if !guarantees {
		c.Lifted = c.Promises
	}
	a.answer.Now, a.answer.Present, a.answer.Asked = int64(o.Now()), a.present(o), a.inWords(o)
	a.answer.Notes, a.answer.Change = notes, c
	if a.q.Estimates != "" {
		a.answer.Notes = append(a.answer.Notes, "in both plans jobs run for as long as "+a.q.Estimates+" says")
	}
	return nil
}

// inWords puts into words what is asked.
func (a *asking) inWords(o *outlook.Outlook) string {
	policy, _ := o.State().Policy()
	parts := []string{inWords(cmp.Or(a.q.Policy, policy), cmp.Or(a.q.Order, a.Order, "fcfs"))}
	if a.q.Estimates != "" {
		parts = append(parts, "estimates "+a.q.Estimates)
	}
	if len(a.q.Without) > 0 {
		parts = append(parts, "without "+strings.Join(a.q.Without, ", "))
	}
	for _, s := range a.q.With {
		parts = append(parts, fmt.Sprintf("with %d more slots", s.Count))
	}
	for _, d := range a.q.Drain {
		parts = append(parts, d.Slot+" drained for a time")
	}
	return strings.Join(parts, ", ")
}

// otherRules makes what the question names: linked-in policies, or the one in charge, named orders
// and estimators.
func (a *asking) otherRules(o *outlook.Outlook, past []estimate.Ended) (other otherRules, err error) {
	name, guarantees := o.State().Policy()
	if a.q.Policy != "" && (a.q.Policy != name || a.q.Options != nil) {
		spec, unknown := policies.Named(a.q.Policy)
		if unknown != nil {
			return other, badly("no policy %q is linked in, and it is not the one in charge", a.q.Policy)
		}
		if other.policy, err = backfill.Link(spec, a.q.Options); err != nil {
			return other, badly("policy %s: %w", spec.Name, err)
		}
		if other.fallback, err = backfill.Link(policies.FallbackFor(spec), nil); err != nil {
			return other, err
		}
		guarantees = spec.Guarantees
	}
	if a.q.Order != "" && a.q.Order != a.Order {
		if a.q.Order == negotiator.FairShare {
			return other, badly("order %s is asked about only where it is in charge: its keys follow from an account of users",
				a.q.Order)
		}
		if other.order, err = backfill.OrderNamed(a.q.Order); err != nil {
			return other, &BadQuestion{err}
		}
	}
	if a.q.Estimates == "" {
		return other, nil
	}
	history := estimate.NewHistory(0)
	for _, e := range past {
		history.Add(e)
	}
	if other.set, err = estimate.New(estimate.Settings{All: a.q.Estimates}, history, guarantees, false, nil); err != nil {
		return other, &BadQuestion{err}
	}
	return other, nil
}
