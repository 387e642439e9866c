package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/internal/wire"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

// maxPending bounds the events of rounds that are kept for a plugin which was
// not asked about them. Beyond it, the whole state is the shorter message.
const maxPending = 10_000

// Branch is a [backfill.Decider] for one line of states that the policy follows
// beside others: the host's own, or a what-if.
type Branch struct {
	remote *Remote
	id     uint64

	// Where the plugin's copy stands. It is good as long as the session lasts
	// and the host goes on with this state and revision.
	at       *session // nil: nowhere
	state    *backfill.State
	revision uint64              // with what is pending
	pending  []*policyv1.Settled // rounds that it has not been told of yet
	events   int                 // in pending
	asked    bool                // it has decided and not heard how that ended

	known *session // the last that may hold a copy, good or not
}

var _ backfill.Decider = (*Branch)(nil)

// Spec is the policy's.
func (b *Branch) Spec() backfill.Spec { return b.remote.spec }

// Decide lets the policy act on the open cycle, of which no event was taken
// yet. An error means that there is no decision, or one that is not possible.
func (b *Branch) Decide(ctx context.Context, c *backfill.Cycle) error {
	b.remote.mu.Lock()
	defer b.remote.mu.Unlock()
	if err := b.decide(ctx, c); err != nil {
		b.lose()
		return fmt.Errorf("policy plugin %s: %w", b.remote.spec.Name, err)
	}
	b.asked = true
	return nil
}

func (b *Branch) decide(ctx context.Context, c *backfill.Cycle) error {
	r := b.remote
	s, err := r.live(ctx)
	if err != nil {
		return err
	}
	if err = b.readable(s, c); err != nil {
		return err
	}
	answer, err := b.ask(ctx, s, c)
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
	if err = bounded(decision.GetJournal(), c); err != nil {
		return err
	}
	return c.Replay(wire.DecodeJournal(decision.GetJournal()))
}

// ask puts the round before the policy, with the whole state if need be.
func (b *Branch) ask(ctx context.Context, s *session, c *backfill.Cycle) (*policyv1.PolicyMessage, error) {
	limit := b.remote.options.Deadline
	ctx, cancel := context.WithTimeoutCause(ctx, limit, late(limit))
	defer cancel()
	if b.inStep(s, c) {
		answer, err := s.ask(ctx, b.question(c))
		if err != nil || answer.GetOutOfStep() == nil {
			return answer, err
		}
		b.remote.log.Warn("the policy plugin is out of step", "branch", b.id, "why", brief(answer.GetOutOfStep().GetText()))
	}
	b.lose()
	b.at, b.known, b.state, b.revision = s, s, c.State(), c.State().Revision()
	b.remote.stats.Syncs++
	return s.ask(ctx, b.sync(c), b.question(c))
}

// inStep reports whether the plugin's copy can follow to the round.
func (b *Branch) inStep(s *session, c *backfill.Cycle) bool {
	return b.at == s && b.state == c.State() && b.revision == c.State().Revision() && !b.asked
}

// readable refuses to put a round before a plugin that would misread it, or the state
// that it needs for it.
func (b *Branch) readable(s *session, c *backfill.Cycle) error {
	needs := wire.RoundNeeds(c.Round())
	if s.knows != wire.Everything && !b.inStep(s, c) {
		needs |= wire.StateNeeds(c.State().Snapshot())
	}
	return b.lack(s, needs)
}

// lack says what the plugin would have to know and does not.
func (b *Branch) lack(s *session, needs wire.Features) error {
	if b.remote.spec.Guarantees {
		needs &^= wire.Running // means nothing under its policy
	}
	return s.knows.Lack(needs)
}

func (b *Branch) sync(c *backfill.Cycle) *policyv1.HostMessage {
	snapshot := c.State().Snapshot()
	// The cycle is open, and the round is to bring its own bundles.
	snapshot.Bundles = snapshot.Bundles[:len(snapshot.Bundles)-len(c.Round().Bundles)]
	return &policyv1.HostMessage{Message: &policyv1.HostMessage_Sync{Sync: &policyv1.Sync{
		Branch: b.id, Snapshot: wire.EncodeSnapshot(snapshot),
	}}}
}

// question asks for a decision and hands over what is pending.
func (b *Branch) question(c *backfill.Cycle) *policyv1.HostMessage {
	settled := b.pending
	b.pending, b.events = nil, 0
	return &policyv1.HostMessage{Message: &policyv1.HostMessage_Decide{Decide: &policyv1.Decide{
		Branch: b.id, BaseRevision: b.revision, Settled: settled, Round: wire.EncodeRound(c.Round()),
	}}}
}

// Decided keeps account of how a round ended, for the plugin's copy to follow.
func (b *Branch) Decided(round backfill.Round, d backfill.Decision, own bool) {
	b.remote.mu.Lock()
	defer b.remote.mu.Unlock()
	asked := b.asked
	b.asked = false
	switch {
	case b.at == nil: // it gets the whole state anyway
		return
	case own != asked: // its own decision did not count
		b.lose()
		return
	case own:
	case b.lack(b.at, wire.RoundNeeds(round)) != nil:
		b.lose()
		return
	case b.events+len(round.Events) >= maxPending: // there is too much to tell
		b.lose()
		return
	default:
		b.pending = append(b.pending, &policyv1.Settled{Round: wire.EncodeRound(round), Journal: wire.EncodeJournal(d.Actions)})
		b.events += 1 + len(round.Events)
	}
	b.revision = d.Revision
}

// lose gives the plugin's copy up: the next Decide begins with the whole state.
func (b *Branch) lose() {
	b.at, b.state, b.pending, b.events, b.asked = nil, nil, nil, 0, false
}

// Fork makes a branch for a copy of this one's state, a clone that was made
// after its last round. The whole state need not be sent for it.
func (b *Branch) Fork(state *backfill.State) *Branch {
	r := b.remote
	r.mu.Lock()
	defer r.mu.Unlock()
	r.branches++
	f := &Branch{remote: r, id: r.branches}
	if b.at == nil || b.at != r.session || b.asked || state.Revision() != b.revision {
		return f
	}
	b.at.tell(&policyv1.HostMessage{Message: &policyv1.HostMessage_Fork{Fork: &policyv1.Fork{From: b.id, To: f.id}}})
	f.at, f.known, f.state, f.revision = b.at, b.at, state, b.revision
	f.pending, f.events = slices.Clone(b.pending), b.events
	return f
}

// Drop lets the plugin forget the branch, which is not used again.
func (b *Branch) Drop() {
	b.remote.mu.Lock()
	defer b.remote.mu.Unlock()
	if b.known != nil && b.known == b.remote.session {
		b.known.tell(&policyv1.HostMessage{Message: &policyv1.HostMessage_Drop{Drop: &policyv1.Drop{Branch: b.id}}})
	}
	b.lose()
	b.known = nil
}

// late is a missed deadline.
type late time.Duration

func (l late) Error() string { return "no decision within " + time.Duration(l).String() }
