package sdk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// mirror is a policy with its copies of the host's state, one for each branch. A copy that may be
// wrong is dropped, and the host sends the state anew.
type mirror struct {
	spec     backfill.PolicySpec
	policy   backfill.Policy
	log      hclog.Logger
	branches map[uint64]*backfill.State
	panicked bool // its stack has been logged
}

// maxStack bounds a stack in the log, in bytes.
const maxStack = 4 << 10

// handle processes one message of the host; it returns nil if the message needs no answer.
func (m *mirror) handle(msg *policyv1.HostMessage) *policyv1.PolicyMessage {
	switch {
	case msg.GetConfigure() != nil:
		return m.configure(msg.GetConfigure())
	case msg.GetSync() != nil:
		m.sync(msg.GetSync())
	case msg.GetDecide() != nil:
		return m.decide(msg.GetDecide())
	case msg.GetFork() != nil:
		m.fork(msg.GetFork())
	case msg.GetDrop() != nil:
		delete(m.branches, msg.GetDrop().GetBranch())
	default:
		m.log.Warn("the host sent a message of an unknown kind")
	}
	return nil
}

func (m *mirror) configure(msg *policyv1.Configure) *policyv1.PolicyMessage {
	err := m.guard(func() (err error) {
		m.policy, err = m.spec.Make(msg.GetOptions())
		return err
	})
	if err != nil {
		return failure(0, err)
	}
	return &policyv1.PolicyMessage{Message: &policyv1.PolicyMessage_Ready{Ready: &policyv1.Ready{}}}
}

func (m *mirror) sync(msg *policyv1.Sync) {
	delete(m.branches, msg.GetBranch())
	err := m.guard(func() error {
		snapshot, err := wire.DecodeSnapshot(msg.GetSnapshot())
		if err != nil {
			return err
		}
		state, err := backfill.Restore(snapshot)
		if err != nil {
			return err
		}
		m.branches[msg.GetBranch()] = state
		return nil
	})
	if err != nil {
		m.log.Error("the host's state does not make sense", "branch", msg.GetBranch(), "error", err)
	}
}

func (m *mirror) fork(msg *policyv1.Fork) {
	delete(m.branches, msg.GetTo())
	if state, ok := m.branches[msg.GetFrom()]; ok {
		m.branches[msg.GetTo()] = state.Clone()
	}
}

func (m *mirror) decide(msg *policyv1.Decide) *policyv1.PolicyMessage {
	branch := msg.GetBranch()
	state, known := m.branches[branch]
	if !known {
		return outOfStep(branch, 0, errors.New("there is no such branch here"))
	}
	if err := m.guard(func() error { return follow(state, msg) }); err != nil {
		delete(m.branches, branch)
		return outOfStep(branch, state.Revision(), err)
	}
	var decision backfill.Decision
	err := m.guard(func() (err error) {
		decision, err = m.act(state, wire.DecodeRound(msg.GetRound()))
		return err
	})
	if err != nil {
		// A panic may have left the copy half changed, and the fallback decides this round
		// differently.
		delete(m.branches, branch)
		return failure(branch, err)
	}
	return &policyv1.PolicyMessage{Message: &policyv1.PolicyMessage_Decision{Decision: &policyv1.Decision{
		Branch: branch, BaseRevision: msg.GetBaseRevision(), Journal: wire.EncodeJournal(decision.Actions),
	}}}
}

// follow applies the settled rounds in a message to a copy of the state. It errs if that is not
// possible or the copy is not at the message's base revision then.
func follow(s *backfill.State, msg *policyv1.Decide) error {
	for _, settled := range msg.GetSettled() {
		tx, err := s.Open(wire.DecodeRound(settled.GetRound()))
		if err != nil {
			return fmt.Errorf("a settled round after revision %d: %w", s.Revision(), err)
		}
		if err = tx.Replay(context.Background(), wire.DecodeJournal(settled.GetJournal())); err == nil {
			_, err = tx.Close()
		}
		if err != nil {
			return fmt.Errorf("a settled decision after revision %d: %w", s.Revision(), err)
		}
	}
	if s.Revision() != msg.GetBaseRevision() {
		return fmt.Errorf("the copy is at revision %d, the round at %d", s.Revision(), msg.GetBaseRevision())
	}
	return nil
}

// act lets the policy decide a round and applies the decision.
func (m *mirror) act(s *backfill.State, r backfill.Round) (backfill.Decision, error) {
	if m.policy == nil {
		return backfill.Decision{}, errors.New("a round came before the options")
	}
	tx, err := s.Open(r)
	if err != nil {
		return backfill.Decision{}, fmt.Errorf("the round cannot be true: %w", err)
	}
	m.policy.Decide(tx.Cycle)
	decision, err := tx.Close()
	if err != nil {
		return backfill.Decision{}, fmt.Errorf("the decision is not possible: %w", err)
	}
	return decision, nil
}

// guard calls the callback and turns its panic into an error. It logs the stack of the first one:
// the host tells of them all.
func (m *mirror) guard(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if stack := debug.Stack(); !m.panicked {
				m.panicked = true
				m.log.Error("policy panicked", "policy", m.spec.Name, "panic", p,
					"stack", string(stack[:min(len(stack), maxStack)]))
			}
			err = fmt.Errorf("policy %s panicked: %v", m.spec.Name, p)
		}
	}()
	return do()
}

func outOfStep(branch, have uint64, err error) *policyv1.PolicyMessage {
	return &policyv1.PolicyMessage{Message: &policyv1.PolicyMessage_OutOfStep{OutOfStep: &policyv1.OutOfStep{
		Branch: branch, HaveRevision: have, Text: wire.Text(err.Error()),
	}}}
}

func failure(branch uint64, err error) *policyv1.PolicyMessage {
	return &policyv1.PolicyMessage{Message: &policyv1.PolicyMessage_Failure{Failure: &policyv1.Failure{
		Branch: branch, Text: wire.Text(err.Error()),
	}}}
}
