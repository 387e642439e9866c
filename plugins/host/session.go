package host

import (
	"context"
	"fmt"

	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// session is the conversation with a plugin. Every question has one answer, and nothing is received
// without a question.
type session struct {
	transport
	end  func(graceful bool)   // ends the process behind the session, if there is one
	fate func(err error) error // adds to an error how the process ended; nil: there is no process
	pid  int                   // of the process, if there is one
	// boundary is what keeps the process from the rest of the machine.
	boundary Boundary
	inflow   *inflow // of the process' connections, if there is one
	// knows lists the features that the plugin says it understands; it is sent no others.
	knows wire.Features
	// outbox holds messages for the next question, whose deadline then limits their sending.
	outbox         []*policyv1.HostMessage
	sent, received int64 // bytes
}

// ask sends messages, the last of which is a question, and waits for its answer. If the context
// ends first, the session ends, too.
func (s *session) ask(ctx context.Context, messages ...*policyv1.HostMessage) (*policyv1.PolicyMessage, error) {
	if s.inflow != nil {
		defer s.inflow.question()()
	}
	stop := context.AfterFunc(ctx, s.cut)
	answer, err := s.exchange(append(s.outbox, messages...))
	s.outbox = nil
	switch {
	case !stop():
		return nil, context.Cause(ctx)
	case err == nil:
		return answer, nil
	case s.fate != nil:
		err = s.fate(err)
	}
	return nil, fmt.Errorf("the session broke: %w", err)
}

func (s *session) exchange(messages []*policyv1.HostMessage) (*policyv1.PolicyMessage, error) {
	for _, m := range messages {
		n, err := s.send(m)
		if s.sent += int64(n); err != nil {
			return nil, fmt.Errorf("send: %w", err)
		}
	}
	answer, n, err := s.receive()
	s.received += int64(n)
	return answer, err
}

// queue queues a message without an answer until the next question.
func (s *session) queue(m *policyv1.HostMessage) { s.outbox = append(s.outbox, m) }

// close ends the session and the process behind it.
func (s *session) close(graceful bool) {
	s.end(graceful)
	s.cut()
}
