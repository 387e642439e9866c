package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// server serves one policy; each session creates its own instance of it.
type server struct {
	policyv1.UnimplementedPolicyServiceServer
	spec    backfill.PolicySpec
	log     hclog.Logger
	channel bool // its session uses the channel
}

// NewServer returns only the gRPC service, for a process that already has a server, and for tests.
// [Serve] is all that a plugin needs.
func NewServer(spec backfill.PolicySpec, log hclog.Logger) policyv1.PolicyServiceServer {
	return &server{spec: spec, log: log}
}

// Describe returns the policy's description.
func (s *server) Describe(context.Context, *policyv1.DescribeRequest) (*policyv1.DescribeResponse, error) {
	m := wire.EncodeSpec(s.spec)
	m.Channel = s.channel
	return m, nil
}

// Session answers a host until the host closes the session.
func (s *server) Session(stream policyv1.PolicyService_SessionServer) error {
	return s.hold(stream.Recv, stream.Send)
}

// converse serves a session over a channel, on the pipes that the process inherited.
func (s *server) converse(c *wire.Channel) error {
	return s.hold(
		func() (*policyv1.HostMessage, error) {
			m := &policyv1.HostMessage{}
			_, err := c.Receive(m)
			return m, err
		},
		func(m *policyv1.PolicyMessage) error {
			_, err := c.Send(m)
			return err
		})
}

// hold answers messages until the host closes the session.
func (s *server) hold(receive func() (*policyv1.HostMessage, error), send func(*policyv1.PolicyMessage) error) error {
	m := &mirror{spec: s.spec, log: s.log, branches: make(map[uint64]*backfill.State)}
	for {
		msg, err := receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		answer := m.handle(msg)
		if answer == nil {
			continue
		}
		if err = send(answer); err != nil {
			return fmt.Errorf("send: %w", err)
		}
	}
}
