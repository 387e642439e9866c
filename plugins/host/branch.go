package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// maxPending limits the events of rounds that are kept for a plugin that was not asked about them.
// With more, sending the whole state is shorter.
const maxPending = 10_000

// Branch is a [backfill.Decider] for one line of states that the policy follows: the host's own
// (the trunk), or a what-if.
type Branch struct {
	remote *Remote
	id     uint64

	// The state at which the plugin's copy of this branch is. It is valid as long as the session
	// lasts and the host continues with this state and revision.
	at       *session // nil: nowhere
	state    *backfill.State
	revision uint64              // including what is pending
	pending  []*policyv1.Settled // rounds that the plugin has not been sent yet
	events   int                 // in pending
	asked    bool                // it has decided, and the outcome is not known yet
	cut      bool                // it was told only a part of what candidates and slots have, see cutsOff

	known *session // the last session that may hold a copy, valid or not
}

var _ backfill.Decider = (*Branch)(nil)

// Spec returns the policy's description.
func (b *Branch) Spec() backfill.PolicySpec { return b.remote.spec }

// Decide lets the policy act on the open cycle, before any event is taken. An error means that
// there is no decision, or an impossible one.
func (b *Branch) Decide(ctx context.Context, tx *backfill.Transaction) error {
	b.remote.mu.Lock()
	defer b.remote.mu.Unlock()
	if err := b.decide(ctx, tx); err != nil {
		b.lose()
		return fmt.Errorf("policy plugin %s: %w", b.remote.spec.Name, err)
	}
	b.asked = true
	return nil
}

func (b *Branch) decide(ctx context.Context, tx *backfill.Transaction) error {
	r := b.remote
	s, err := r.live(ctx)
	if err != nil {
		return err
	}
	if err = b.readable(s, tx); err != nil {
		return err
	}
	// What an answer makes this process do counts, too: it has what the plugin left of the time.
	limit := r.options.Deadline
	timed, cancel := context.WithTimeoutCause(ctx, limit, late(limit))
	defer cancel()
	answer, err := b.ask(timed, s, tx)
	if err != nil {
		return r.failed(ctx, err)
	}
	if failure := answer.GetFailure(); failure != nil {
		return errors.New(brief(failure.GetText()))
	}
	if out := answer.GetOutOfStep(); out != nil {
		return r.failed(ctx, fmt.Errorf("it does not take the state over: %s", brief(out.GetText())))
	}
	decision := answer.GetDecision()
	if decision == nil || decision.GetBranch() != b.id || decision.GetBaseRevision() != b.revision {
		return r.failed(ctx, unexpected(answer))
	}
	r.backOff.succeeded()
	if err = bounded(decision.GetJournal(), tx.Cycle); err != nil {
		return err
	}
	err = replay(timed, limit, tx, wire.DecodeJournal(decision.GetJournal()))
	if _, ended := errors.AsType[late](err); ended {
		err = r.failed(ctx, err)
	}
	return err
}

// replay replays a plugin's journal in half of the time that is left: to take the actions back
// lasts about as long as they did.
func replay(ctx context.Context, limit time.Duration, tx *backfill.Transaction, journal []backfill.Action) error {
	if end, ok := ctx.Deadline(); ok {
		half, cancel := context.WithTimeoutCause(ctx, time.Until(end)/2, late(limit))
		defer cancel()
		ctx = half
	}
	return tx.Replay(ctx, journal)
}

// ask sends the round to the policy, with the whole state if necessary.
func (b *Branch) ask(ctx context.Context, s *session, tx *backfill.Transaction) (*policyv1.PolicyMessage, error) {
	cut := s.cutsOff(tx)
	if !cut && b.inStep(s, tx) {
		answer, err := s.ask(ctx, b.question(tx.Round()))
		if err != nil || answer.GetOutOfStep() == nil {
			return answer, err
		}
		b.remote.log.Warn("the policy plugin is out of step", "branch", b.id, "why",
			brief(answer.GetOutOfStep().GetText()))
	}
	b.lose()
	b.at, b.known, b.state, b.revision = s, s, tx.State(), tx.State().Revision()
	b.remote.stats.Syncs++
	state, round := tx.State().Snapshot(), tx.Round()
	if b.cut = cut; cut {
		state, round = wire.CutOff(s.knows, state, round)
	}
	if s.knows&wire.Limits != 0 { // the cycle is open and has the round's rows, which the round itself will bring
		state.Rows = tx.FormerRows()
	}
	return s.ask(ctx, b.sync(state, len(round.Bundles)), b.question(round))
}

// inStep reports whether the plugin's copy is at the state on which the round opens, so that the
// state need not be sent.
func (b *Branch) inStep(s *session, tx *backfill.Transaction) bool {
	return b.at == s && b.state == tx.State() && b.revision == tx.State().Revision() && !b.asked
}

// cutsOff reports whether the plugin is told only a part of what the state has, as it does not know all
// of that; see [wire.CutOff]. Then its copy is of use in that round alone: what it is told changes with
// time.
func (s *session) cutsOff(tx *backfill.Transaction) bool {
	state := tx.State()
	if s.knows&wire.Ends == 0 && (state.Profile().Ends().Count() > 0 || wire.HasEnds(tx.Round())) || s.noLimits(state) {
		return true
	}
	return slices.ContainsFunc(state.CandidateSets(), func(set *backfill.Candidates) bool {
		return s.knows&wire.Windows == 0 && set.Windows != nil || s.knows&wire.Least == 0 && set.Least != nil
	})
}

// noLimits reports whether there are limits, and the plugin knows of none.
func (s *session) noLimits(state *backfill.State) bool {
	return s.knows&wire.Limits == 0 && len(state.Rows()) > 0
}

// hasLeast reports whether on some candidates more must be free than a job takes.
func hasLeast(state *backfill.State) bool {
	return slices.ContainsFunc(state.CandidateSets(), func(set *backfill.Candidates) bool { return set.Least != nil })
}

// readable returns an error if the plugin would misread the round, or the state that must be sent
// with it.
func (b *Branch) readable(s *session, tx *backfill.Transaction) error {
	needs := wire.RoundNeeds(tx.Round())
	if s.knows&wire.Everything != wire.Everything && !b.inStep(s, tx) {
		needs |= wire.StateNeeds(tx.State().Snapshot())
	}
	if b.remote.spec.Guarantees && s.noLimits(tx.State()) {
		needs |= wire.Limits
	}
	if b.remote.spec.Guarantees && hasLeast(tx.State()) {
		needs |= wire.Least
	}
	return b.lack(s, needs)
}

// lack returns an error that names the missing features, if any.
func (b *Branch) lack(s *session, needs wire.Features) error {
	if b.remote.spec.Guarantees {
		needs &^= wire.Running // it does not matter to policies with guarantees
	}
	return s.knows.Lack(needs)
}

// sync returns the message with the whole state on which a round opens. The cycle is open and has added
// the round's bundles, as many as given, which the round itself will bring.
func (b *Branch) sync(state backfill.Snapshot, added int) *policyv1.HostMessage {
	state.Bundles = state.Bundles[:len(state.Bundles)-added]
	return &policyv1.HostMessage{Message: &policyv1.HostMessage_Sync{Sync: &policyv1.Sync{
		Branch: b.id, Snapshot: wire.EncodeSnapshot(state),
	}}}
}

// question returns the request for a decision, with the rounds that the plugin has not been sent
// yet.
func (b *Branch) question(round backfill.Round) *policyv1.HostMessage {
	settled := b.pending
	b.pending, b.events = nil, 0
	return &policyv1.HostMessage{Message: &policyv1.HostMessage_Decide{Decide: &policyv1.Decide{
		Branch: b.id, BaseRevision: b.revision, Settled: settled, Round: wire.EncodeRound(round),
	}}}
}

// Decided records how a round ended, so that the plugin's copy can follow; own says whether the
// decision was the plugin's.
func (b *Branch) Decided(round backfill.Round, d backfill.Decision, own bool) {
	b.remote.mu.Lock()
	defer b.remote.mu.Unlock()
	asked := b.asked
	b.asked = false
	switch {
	case b.at == nil: // the whole state will be sent anyway
		return
	case own != asked, b.cut, // the plugin's decision did not count, or its copy is not whole
		d.Revision != b.revision+1: // there were rounds of which it was not told, under another policy
		b.lose()
		return
	case own:
	case b.lack(b.at, wire.RoundNeeds(round)) != nil:
		b.lose()
		return
	case b.events+len(round.Events) >= maxPending: // sending the whole state is shorter
		b.lose()
		return
	default:
		b.pending = append(b.pending, &policyv1.Settled{
			Round:   wire.EncodeRound(round),
			Journal: wire.EncodeJournal(d.Actions),
		})
		b.events += 1 + len(round.Events)
	}
	b.revision = d.Revision
}

// lose invalidates the plugin's copy: the next Decide sends the whole state.
func (b *Branch) lose() {
	b.at, b.state, b.pending, b.events, b.asked, b.cut = nil, nil, nil, 0, false, false
}

// Fork returns a branch that decides on a clone of this branch's state, made after its last round.
// If the plugin's copy is valid, the plugin clones that, so that the whole state need not be sent.
func (b *Branch) Fork(state *backfill.State) *Branch {
	r := b.remote
	r.mu.Lock()
	defer r.mu.Unlock()
	r.branches++
	f := &Branch{remote: r, id: r.branches}
	if b.at == nil || b.at != r.session || b.asked || state.Revision() != b.revision {
		return f
	}
	b.at.queue(&policyv1.HostMessage{Message: &policyv1.HostMessage_Fork{Fork: &policyv1.Fork{From: b.id, To: f.id}}})
	f.at, f.known, f.state, f.revision = b.at, b.at, state, b.revision
	f.pending, f.events = slices.Clone(b.pending), b.events
	return f
}

// Drop tells the plugin to forget the branch, which must not be used again.
func (b *Branch) Drop() {
	b.remote.mu.Lock()
	defer b.remote.mu.Unlock()
	if b.known != nil && b.known == b.remote.session {
		b.known.queue(&policyv1.HostMessage{Message: &policyv1.HostMessage_Drop{Drop: &policyv1.Drop{Branch: b.id}}})
	}
	b.lose()
	b.known = nil
}

// late is the error of a missed deadline.
type late time.Duration

func (l late) Error() string { return "no decision within " + time.Duration(l).String() }
