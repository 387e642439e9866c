package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/condor-backfill/condor-backfill/plugins/internal/wire"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

// grace is how long a process may take to end when it is asked to.
const grace = 2 * time.Second

// process is a running plugin.
type process struct {
	client *plugin.Client
	end    context.CancelFunc // kills it and all that it started
	dir    string             // of its socket
	// channel was offered for the session; nil: none.
	channel net.Conn
	// What it prints over the connection, and what it prints past that.
	stdout, stderr, said *printer
}

// launch starts a plugin's process and shakes hands with it. The process
// outlives ctx, unless that ends before launch returns.
func launch(ctx context.Context, command Command, options Options, log hclog.Logger) (*process, policyv1.PolicyServiceClient, error) {
	// A directory of its own keeps the socket from other users, and a killed
	// plugin's socket from lying about.
	dir, err := os.MkdirTemp("", Prefix)
	if err != nil {
		return nil, nil, fmt.Errorf("make a directory for the plugin's socket: %w", err)
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	cmd := exec.CommandContext(life, command.Path, command.Args...)
	cmd.Env = append(append(os.Environ(), command.Env...), plugin.EnvUnixSocketDir+"="+dir, wire.LogLevel+"="+log.GetLevel().String())
	ownGroup(cmd)
	p := &process{end: end, dir: dir, stdout: newPrinter(log), stderr: newPrinter(log), said: newPrinter(log)}
	inherited := func() {}
	if !options.NoChannel {
		if p.channel, inherited, err = offerChannel(cmd); err != nil {
			end()
			return nil, nil, errors.Join(err, os.Remove(dir))
		}
	}
	p.client = plugin.NewClient(p.config(cmd, command, options, log))
	service, err := p.shakeHands(ctx)
	inherited()
	if err != nil {
		p.stop(false)
		if p.channel != nil {
			_ = p.channel.Close()
		}
		if words := p.said.words(); words != "" {
			err = fmt.Errorf("%w; it said: %s", err, words)
		}
		return nil, nil, err
	}
	return p, service, nil
}

func (p *process) config(cmd *exec.Cmd, command Command, options Options, log hclog.Logger) *plugin.ClientConfig {
	config := &plugin.ClientConfig{
		HandshakeConfig:  wire.Handshake(),
		Plugins:          plugin.PluginSet{wire.PluginName: &dispensed{}},
		Cmd:              cmd,
		SkipHostEnv:      true, // it is in cmd.Env already, where ours has the last word
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         !options.NoMTLS,
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage), grpc.MaxCallSendMsgSize(wire.MaxMessage)),
		},
		StartTimeout: 2 * options.StartTimeout, // ours comes first and says more
		Logger:       libraryLog{log},
		Stderr:       p.said,
		SyncStdout:   p.stdout,
		SyncStderr:   p.stderr,
	}
	if command.SHA256 != nil {
		config.SecureConfig = &plugin.SecureConfig{Checksum: command.SHA256, Hash: sha256.New()}
	}
	return config
}

func (p *process) shakeHands(ctx context.Context) (policyv1.PolicyServiceClient, error) {
	// go-plugin waits without a context: ending the process ends the wait.
	stop := context.AfterFunc(ctx, p.end)
	service, err := p.dispense()
	if !stop() {
		return nil, context.Cause(ctx)
	}
	return service, err
}

func (p *process) dispense() (policyv1.PolicyServiceClient, error) {
	protocol, err := p.client.Client()
	if err != nil {
		return nil, handshakeError(err)
	}
	raw, err := protocol.Dispense(wire.PluginName)
	if err != nil {
		return nil, fmt.Errorf("dispense: %w", err)
	}
	service, ok := raw.(policyv1.PolicyServiceClient)
	if !ok {
		return nil, fmt.Errorf("it serves a %T", raw)
	}
	return service, nil
}

// handshakeError brings go-plugin's pages down to one line.
func handshakeError(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	first, _, more := strings.Cut(err.Error(), "\n")
	said, unrecognized := strings.CutPrefix(first, "Unrecognized remote plugin message:")
	said = strings.TrimSpace(said)
	switch {
	case unrecognized && said == "":
		return errors.New("it ended without a word on its standard output")
	case unrecognized:
		return fmt.Errorf("it printed %.80q instead of a handshake", said)
	case more:
		return errors.New(first)
	}
	return err
}

// stop ends the process, by force if it does not go when asked or is not to be
// asked, and puts away what it leaves behind.
func (p *process) stop(graceful bool) {
	if graceful {
		timer := time.AfterFunc(grace, p.end)
		defer timer.Stop()
	} else {
		p.end()
	}
	p.client.Kill()
	p.end()
	for _, printed := range []*printer{p.stdout, p.stderr, p.said} {
		printed.end()
	}
	// What cannot be removed here is left to those who tidy temporary files.
	_ = os.RemoveAll(p.dir)
}

// dispensed makes a client of go-plugin's connection.
type dispensed struct{ plugin.NetRPCUnsupportedPlugin }

func (*dispensed) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("this side asks the policy")
}

func (*dispensed) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return policyv1.NewPolicyServiceClient(conn), nil
}
