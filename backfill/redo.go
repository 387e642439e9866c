package backfill

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Settled is a round that is over, as the host has completed it, with what was decided. It is valid until
// the host's next round.
type Settled struct {
	Round    *Round
	Decision *Decision
	// Own says that the decision is that of the policy in charge. Else the fallback has decided, or there
	// was nothing to decide.
	Own bool
	// Refused is why the decision of the policy in charge did not count; nil: it counts, or there was nothing
	// to decide.
	Refused error
}

// Watch has the host tell of each round that it has decided, right after its end; nil: it tells nobody. What
// it tells to can write a record, from which [Host.Redo] decides the same rounds again.
func (h *Host) Watch(watch func(Settled)) { h.watch = watch }

// settled tells of a round.
func (h *Host) settled(r *Round, d *Decision, own bool) {
	if h.watch != nil { // copies, as what they are of would else be on the heap in each round that nobody watches
		round, decision := *r, *d
		h.watch(Settled{Round: &round, Decision: &decision, Own: own, Refused: h.failure})
	}
	h.failure = nil
}

// Different says that a round was decided otherwise than before. The state is as it was before the round.
type Different struct {
	// Was is what was decided before, and Is what was decided now.
	Was, Is []Action
	// Failure is why the decision of now does not count; nil: it would.
	Failure error
}

// Error says where the two decisions part.
func (e *Different) Error() string {
	if e.Failure != nil {
		return fmt.Sprintf("the policy fails where it once decided: %v", e.Failure)
	}
	i := 0
	for i < min(len(e.Was), len(e.Is)) && e.Was[i].equal(&e.Is[i]) {
		i++
	}
	switch {
	case i == len(e.Is):
		return fmt.Sprintf("action %d of %d is missing", i+1, len(e.Was))
	case i == len(e.Was):
		return fmt.Sprintf("action %d comes behind the %d of before", i+1, len(e.Was))
	default:
		return fmt.Sprintf("action %d is another one than before", i+1)
	}
}

// Redo has the policy in charge decide a round again that [Host.Watch] has told of, with own as it was then,
// and compares its journal with that of then. If they are the same, the state goes on to the end of the
// round. If not, the error is a [*Different] and the state is as it was before. Any other error says that the
// round cannot follow the state. The fallback decides where it has then.
//
// The round has its keys and all that follows from the passing of time, so neither the host's order nor its
// planning counts.
func (h *Host) Redo(ctx context.Context, r Round, journal []Action, own bool) (Decision, error) {
	decider := h.fallback
	switch {
	case h.State.idle(&r):
		decider = nothing{}
	case own:
		decider = h.main
	}
	d, err := h.redo(ctx, &r, decider, journal)
	if err != nil {
		return d, err
	}
	h.main.Decided(r, d, own)
	if !own && decider != (nothing{}) {
		h.State.memo = nil // as in decide
	}
	return d, nil
}

// Follow ends a round that [Host.Watch] has told of as it ended then, without asking the policy.
func (h *Host) Follow(ctx context.Context, r Round, journal []Action) (Decision, error) {
	d, err := h.redo(ctx, &r, following(journal), journal)
	if err != nil {
		return d, err
	}
	h.main.Decided(r, d, false)
	h.State.memo = nil
	return d, nil
}

// redo has a decider decide a round that was decided before.
func (h *Host) redo(ctx context.Context, r *Round, decider Decider, journal []Action) (d Decision, err error) {
	t, err := h.State.begin(r)
	if err != nil {
		return d, fmt.Errorf("the round at %d does not follow the state: %w", r.Now, err)
	}
	err = decider.Decide(ctx, t)
	actions := slices.Clone(t.actions)
	switch {
	case err == nil && !slices.EqualFunc(journal, actions, func(a, b Action) bool { return a.equal(&b) }):
		t.Rollback()
		return d, &Different{Was: journal, Is: actions}
	case err == nil:
		err = t.close(&d)
	default:
		t.Rollback()
	}
	if err != nil && ctx.Err() != nil {
		return d, context.Cause(ctx)
	}
	if err != nil {
		return d, &Different{Was: journal, Is: actions, Failure: err}
	}
	d.By = decider.Spec().Name
	return d, nil
}

// following repeats a journal.
type following []Action

func (following) Spec() PolicySpec                                   { return PolicySpec{} }
func (f following) Decide(ctx context.Context, t *Transaction) error { return t.Replay(ctx, f) }
func (following) Decided(Round, Decision, bool)                      {}

// equal reports whether an action is the same as before. The reason of then may have lost what is no text on its
// way, or be hidden.
func (a *Action) equal(b *Action) bool {
	return a.After == b.After && a.Kind == b.Kind && a.Job == b.Job && a.At == b.At &&
		slices.Equal(a.Placement, b.Placement) && (valid(a.Reason) == valid(b.Reason) || a.Reason == HideReason(b.Reason))
}

// ReasonHidden stands for why a policy holds a job where that is not told, as it may name somebody.
const ReasonHidden = "for a reason that is not told"

// HideReason returns what can be told of why a job is held without naming anybody: nothing but whether the state
// itself holds it, see [NeverFits]. A decision is the same as before, to [Host.Redo], if it is so but for that.
func HideReason(reason string) string {
	switch {
	case reason == "" || reason == ReasonNeverFits:
		return reason
	case OverLimit(reason):
		return overLimit + ReasonHidden
	default:
		return ReasonHidden
	}
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
