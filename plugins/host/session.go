package host

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/status"

	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

// session is the conversation with a plugin. Every question has one answer, so
// that nobody has to listen in between.
type session struct {
	stream policyv1.PolicyService_SessionClient
	cancel context.CancelFunc  // of the stream
	end    func(graceful bool) // of what is behind it
	pid    int                 // of the process behind it, if there is one
	// outbox waits for the next question, whose deadline then bounds its sending.
	outbox []*policyv1.HostMessage
}

// open begins a session. It outlives ctx.
func open(ctx context.Context, service policyv1.PolicyServiceClient, end func(graceful bool)) (*session, error) {
	streaming, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stream, err := service.Session(streaming)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("open a session: %w", plain(err))
	}
	return &session{stream: stream, cancel: cancel, end: end}, nil
}

// ask sends messages, of which the last is a question, and waits for its
// answer. A context that ends before that ends the session.
func (s *session) ask(ctx context.Context, messages ...*policyv1.HostMessage) (*policyv1.PolicyMessage, error) {
	stop := context.AfterFunc(ctx, s.cancel)
	answer, err := s.exchange(append(s.outbox, messages...))
	s.outbox = nil
	if !stop() {
		return nil, context.Cause(ctx)
	}
	return answer, err
}

func (s *session) exchange(messages []*policyv1.HostMessage) (*policyv1.PolicyMessage, error) {
	for _, m := range messages {
		// An error of Send is io.EOF; what happened is for Recv to say.
		if err := s.stream.Send(m); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("send: %w", plain(err))
		}
	}
	answer, err := s.stream.Recv()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the plugin ended the session")
	}
	if err != nil {
		return nil, fmt.Errorf("the session broke: %w", plain(err))
	}
	return answer, nil
}

// tell sends a message that has no answer, before the next question.
func (s *session) tell(m *policyv1.HostMessage) { s.outbox = append(s.outbox, m) }

// close ends the session and the process behind it.
func (s *session) close(graceful bool) {
	s.end(graceful)
	s.cancel()
}

// plain is a gRPC error without its code.
func plain(err error) error {
	return errors.New(status.Convert(err).Message())
}
