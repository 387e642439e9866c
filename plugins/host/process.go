package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// grace is how long a process may take to end when it is asked to.
const grace = 2 * time.Second

// process is a running plugin after the handshake.
type process struct {
	*supervised
	client *plugin.Client
	// channel is what was offered for the session, or nil.
	channel io.ReadWriteCloser
}

// launch starts a plugin's process and completes the handshake. The process outlives ctx, unless
// ctx ends before launch returns.
func launch(ctx context.Context, command Command, options Options,
	log hclog.Logger,
) (*process, policyv1.PolicyServiceClient, error) {
	cmd, release, err := command.prepare()
	if err != nil {
		return nil, nil, err
	}
	defer release()
	cell, err := newCell(command.Path, options)
	if err != nil {
		return nil, nil, hostError{err}
	}
	cmd.Env = Environment(options.Environment)
	if options.Memory > 0 { // makes Go plugins collect garbage before they reach the limit
		cmd.Env = append(cmd.Env, fmt.Sprintf("GOMEMLIMIT=%d", options.Memory/10*9))
	}
	cmd.Env = append(append(cmd.Env, command.Env...), wire.LogLevel+"="+log.GetLevel().String())
	p := &process{supervised: newSupervised(cmd, cell, options, log)}
	inherited := func() {}
	if !options.NoChannel {
		if p.channel, inherited, err = offerChannel(cmd); err != nil {
			cell.remove()
			return nil, nil, err
		}
	}
	p.client = plugin.NewClient(p.config(options, log))
	service, err := p.shakeHands(ctx)
	inherited()
	if p.channel != nil {
		// A process that the plugin started may hold the other ends open, and be out of reach.
		context.AfterFunc(p.life, func() { _ = p.channel.Close() })
	}
	if err != nil {
		p.stop(false)
		return nil, nil, err
	}
	return p, service, nil
}

func (p *process) config(options Options, log hclog.Logger) *plugin.ClientConfig {
	return &plugin.ClientConfig{
		HandshakeConfig:  wire.Handshake(),
		VersionedPlugins: wire.Versions(&dispensed{}),
		RunnerFunc: func(_ hclog.Logger, theirs *exec.Cmd, _ string) (runner.Runner, error) {
			// Later entries override earlier ones.
			p.cmd.Env = append(append(p.cmd.Env, theirs.Env...), plugin.EnvUnixSocketDir+"="+p.cell.dir)
			return p.supervised, nil
		},
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: p.cell.dir},
		SkipHostEnv:      true, // it would be all of it
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         !options.NoMTLS,
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithContextDialer(p.dial),
			grpc.WithStreamInterceptor(noBroker),
			grpc.WithMaxHeaderListSize(maxHeaders),
			grpc.WithDefaultCallOptions(grpc.ForceCodecV2(newCodec()), grpc.MaxCallRecvMsgSize(wire.MaxAnswer),
				grpc.MaxCallSendMsgSize(wire.MaxMessage)),
		},
		StartTimeout: 2 * options.StartTimeout, // our own timeout ends first and has a better message
		Logger:       libraryLog{log},
		SyncStdout:   newPrinter(log),
		SyncStderr:   newPrinter(log),
	}
}

func (p *process) shakeHands(ctx context.Context) (policyv1.PolicyServiceClient, error) {
	// go-plugin waits without a context, so end its wait by ending the process.
	stop := context.AfterFunc(ctx, p.kill)
	service, err := p.dispense()
	if !stop() {
		return nil, context.Cause(ctx)
	}
	return service, err
}

func (p *process) dispense() (policyv1.PolicyServiceClient, error) {
	protocol, err := p.client.Client()
	close(p.settled)
	if err != nil {
		err = cmp.Or(p.refusal(), err)
		_, here := errors.AsType[hostError](err)
		if path, ok := errors.AsType[*fs.PathError](err); ok && !here {
			err = path.Err
		}
		return nil, err
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

// stop ends the process and removes what it leaves behind. Unless graceful, or if the process does
// not end when asked, it is killed. Its end is not waited for long, since a cycle would stand
// still: Linux never ends the first process of a PID namespace that has joined the group of a child
// that is gone.
func (p *process) stop(graceful bool) {
	if graceful {
		timer := time.AfterFunc(grace, p.kill)
		defer timer.Stop()
	} else {
		p.kill()
	}
	if p.isLeft() {
		go p.client.Kill()
	} else if !endsIn(2*grace, p.client.Kill) {
		p.leaveBehind()
	}
	p.kill()
	if p.channel != nil {
		_ = p.channel.Close()
	}
	// A plugin may have filled its folder, which then takes long to remove.
	remove := func() {
		p.remains.folders.RLock()
		defer p.remains.folders.RUnlock()
		p.cell.remove()
	}
	if !endsIn(linger/10, remove) {
		p.log.Warn("the policy plugin left many files; they are being removed", "folder", p.cell.dir)
	}
}

// remains are what a plugin's processes leave for later.
type remains struct {
	processes atomic.Int32 // that were killed and did not end
	folders   sync.RWMutex // held by those that remove one
}

// endsIn reports whether f returns within the limit. If not, f goes on.
func endsIn(limit time.Duration, f func()) bool {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	select {
	case <-ended:
		return true
	case <-time.After(limit):
		return false
	}
}

// dispensed makes the client of the policy's service on go-plugin's connection.
type dispensed struct{ plugin.NetRPCUnsupportedPlugin }

func (*dispensed) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("this side asks the policy")
}

func (*dispensed) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return policyv1.NewPolicyServiceClient(conn), nil
}
