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
	spec backfill.Spec
	log  hclog.Logger
}

// NewServer is the gRPC service by itself, for a process that has a server
// already, and for tests. [Serve] is all that a plugin needs.
func NewServer(spec backfill.Spec, log hclog.Logger) policyv1.PolicyServiceServer {
	return &server{spec: spec, log: log}
}

// Describe says what the policy is.
func (s *server) Describe(context.Context, *policyv1.DescribeRequest) (*policyv1.DescribeResponse, error) {
	return wire.EncodeSpec(s.spec), nil
}

// Session answers a host until it has no more to say.
func (s *server) Session(stream policyv1.PolicyService_SessionServer) error {
	m := &mirror{spec: s.spec, log: s.log, branches: make(map[uint64]*backfill.State)}
	for {
		msg, err := stream.Recv()
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
		if err = stream.Send(answer); err != nil {
			return fmt.Errorf("send: %w", err)
		}
	}
}
