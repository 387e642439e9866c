// Package sdk is the author's side of the plugin boundary: it makes a program from a scheduling
// policy.
//
//	func main() { sdk.Serve(mypolicy.Spec()) }
//
// The policy is the same Go value that could be linked into a host. The package keeps a copy of the
// host's state, so that a policy cannot tell where it runs, and turns its panics into failures that
// the host reports.
package sdk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/version"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// Serve serves the policy to the host that started this process, and returns when the host is done
// with it. Started by hand, the program prints that it is a plugin and exits with status 1, or
// answers --help and --version. It also exits with status 1 if the spec is invalid.
//
// What the policy prints, or logs with [Logger], appears in the host's log. The process ignores
// SIGHUP, which is for the host: a plugin that is a part of the host has its name, and a signal by
// name reaches both.
func Serve(spec backfill.PolicySpec) {
	signal.Ignore(syscall.SIGHUP)
	if err := servable(spec); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "%s%v\n", wire.Unservable, err)
		os.Exit(1)
	}
	if key := wire.Handshake().MagicCookieKey; os.Getenv(key) == "" {
		if len(os.Args) == 2 {
			answer(spec, os.Args[1])
		}
		_, _ = fmt.Fprintf(os.Stderr, "This is the scheduling policy %s. To try it: negotiator plugin check %s\n",
			spec.Name, os.Args[0])
	}
	log := Logger()
	life := newEndWithHost(patience, os.Exit)
	server := &server{spec: spec, log: log}
	if channel := takeChannel(); channel != nil {
		server.channel = true
		go func() {
			if err := server.converse(wire.NewChannel(channel, wire.MaxMessage)); err != nil {
				log.Error("the session broke", "error", err)
				life.exit(1)
			}
			life.exit(0) // the host is gone
		}()
	}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  wire.Handshake(),
		VersionedPlugins: wire.Versions(&served{server: server}),
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options, grpc.StatsHandler(life),
				grpc.MaxRecvMsgSize(wire.MaxMessage), grpc.MaxSendMsgSize(wire.MaxMessage))...)
		},
		Logger: log,
	})
}

// servable returns an error if the description of a policy is wrong or has no New, before a host
// finds that.
func servable(spec backfill.PolicySpec) error {
	if err := spec.Validate(); err != nil {
		return err
	}
	if spec.New == nil {
		return fmt.Errorf("policy %s: it has no New, which makes one", spec.Name)
	}
	return nil
}

// served registers a server with go-plugin.
type served struct {
	plugin.NetRPCUnsupportedPlugin
	server policyv1.PolicyServiceServer
}

func (p *served) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	policyv1.RegisterPolicyServiceServer(s, p.server)
	return nil
}

func (p *served) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("this side serves the policy")
}

// patience is how long a plugin waits for a host to connect; a host that was killed after starting
// the plugin never will.
const patience = time.Minute

// endWithHost ends the process when the host's connection ends, so that it does not outlive a
// killed host.
type endWithHost struct {
	alone *time.Timer
	exit  func(code int)
}

func newEndWithHost(patience time.Duration, exit func(int)) *endWithHost {
	return &endWithHost{alone: time.AfterFunc(patience, func() { exit(1) }), exit: exit}
}

func (e *endWithHost) HandleConn(_ context.Context, s stats.ConnStats) {
	switch s.(type) {
	case *stats.ConnBegin:
		e.alone.Stop()
	case *stats.ConnEnd:
		e.exit(0)
	}
}

func (*endWithHost) HandleRPC(context.Context, stats.RPCStats)                         {}
func (*endWithHost) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (*endWithHost) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// answer prints what a flag of a program that was started by hand asks for, and exits. Other flags
// have no answer.
func answer(spec backfill.PolicySpec, flag string) {
	path := os.Args[0]
	var text strings.Builder
	switch flag {
	case "--version":
		text.WriteString(version.Text(filepath.Base(path), policyv1.Name()))
	case "--help", "-h":
		_, _ = fmt.Fprintf(&text, "%s is the scheduling policy %s: %s\n\nIt is a plugin, for negotiator and condorsim:\n"+
			"  negotiator plugin check %[4]s\n  negotiator --policy %[4]s\n  condorsim run lublin-128 --policy %[4]s\n",
			filepath.Base(path), spec.Name, spec.Doc, path)
		for i, o := range spec.Options {
			if i == 0 {
				text.WriteString("\nOptions, for --policy-opt:\n")
			}
			_, _ = fmt.Fprintf(&text, "  %s  %s; %s by default\n", o.Name, o.Doc, o.Default)
		}
	default:
		return
	}
	_, _ = os.Stdout.WriteString(text.String())
	os.Exit(0)
}
