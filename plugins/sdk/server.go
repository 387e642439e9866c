package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/internal/wire"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

// server serves one policy; each session makes its own instance of it.
type server struct {
	policyv1.UnimplementedPolicyServiceServer
	spec    backfill.Spec
	log     hclog.Logger
	channel bool // its session is on the channel
}

// NewServer is the gRPC service by itself, for a process that has a server
// already, and for tests. [Serve] is all that a plugin needs.
func NewServer(spec backfill.Spec, log hclog.Logger) policyv1.PolicyServiceServer {
	return &server{spec: spec, log: log}
}

// Describe says what the policy is.
func (s *server) Describe(context.Context, *policyv1.DescribeRequest) (*policyv1.DescribeResponse, error) {
	m := wire.EncodeSpec(s.spec)
	m.Channel = s.channel
	return m, nil
}

// Session answers a host until it has no more to say.
func (s *server) Session(stream policyv1.PolicyService_SessionServer) error {
	return s.hold(stream.Recv, stream.Send)
}

// converse holds a session on a channel.
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

// hold answers what is received until the host has no more to say.
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
