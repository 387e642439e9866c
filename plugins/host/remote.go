package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/internal/wire"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

// Options say how a plugin is run. The zero value is good.
type Options struct {
	// Policy are the policy's own options.
	Policy map[string]string
	// Deadline is how long one decision may take; 0: 10 s.
	Deadline time.Duration
	// StartTimeout is how long the plugin may take until it is ready; 0: 10 s.
	StartTimeout time.Duration
	// Restarts is how often a plugin that fails again and again is restarted
	// before it is given up; 0: 5, negative: never.
	Restarts int
	// Memory is how many bytes the plugin may use, and each process that it
	// starts; 0: no limit. A Go plugin needs 128 MiB at least. Only Linux has such
	// a limit; elsewhere the log says that there is none.
	Memory int64
	// NoMTLS leaves the connection unencrypted. It is a Unix socket that only
	// this user can reach.
	NoMTLS bool
	// NoChannel holds the session over gRPC, even if the plugin could hold it on
	// a socket of its own.
	NoChannel bool
	// Logger gets the plugin's log and that of its supervision; nil: hclog's
	// default.
	Logger hclog.Logger
}

// Stats count what happened to a plugin.
type Stats struct {
	Starts   int // of its process
	Syncs    int // transfers of the whole state
	Failures int // crashes, missed deadlines, breaches of the protocol
	PID      int // of the process as it runs now; 0: none
	// Sent and Received are the bytes of all messages of sessions.
	Sent, Received int64
}

// Remote is a policy in a process of its own, as a [backfill.Decider]. The
// process is restarted when it fails; until it is back, Decide returns errors,
// so that the fallback decides.
//
// A Remote may be used by several goroutines, each with a branch and a state of
// its own; their rounds are decided one after the other.
type Remote struct {
	trunk   *Branch
	options Options
	log     hclog.Logger
	connect func(context.Context) (*session, backfill.Spec, error)
	spec    backfill.Spec

	mu       sync.Mutex
	session  *session // nil: none, to be started by the next Decide
	closed   bool
	backOff  backOff
	branches uint64 // how many there were beside the trunk
	stats    Stats
}

var _ backfill.Repeatable = (*Remote)(nil)

// Start starts a plugin and gives its policy its options. It fails if the
// command is no policy plugin, is not ready in time, or refuses the options.
func Start(ctx context.Context, command Command, options Options) (*Remote, error) {
	log := options.Logger
	if log == nil {
		log = hclog.Default()
	}
	log = log.Named(command.name())
	options = options.complete()
	if options.Memory > 0 && !canLimit {
		log.Warn("this system cannot limit the memory of a policy plugin", "limit", options.Memory)
	}
	return newRemote(ctx, options, log, func(ctx context.Context) (*session, backfill.Spec, error) {
		p, service, err := launch(ctx, command, options, log)
		if err != nil {
			return nil, backfill.Spec{}, startError(ctx, command.Path, err)
		}
		s, spec, err := greet(ctx, service, p.channel, options.Policy, p.stop)
		if err != nil {
			if !options.NoMTLS && strings.Contains(err.Error(), "authentication handshake failed") {
				err = fmt.Errorf("%w; a plugin that does not do mutual TLS needs mtls: off in the configuration", err)
			}
			return nil, backfill.Spec{}, fmt.Errorf("start %s: %w", command.Path, err)
		}
		s.pid, s.fate = p.pid(), p.fate
		return s, spec, nil
	})
}

// startError says why there is no plugin: it is none, unless the reason lies
// elsewhere.
func startError(ctx context.Context, path string, err error) error {
	if _, here := errors.AsType[hostError](err); here || scarce(err) || errors.Is(err, plugin.ErrChecksumsDoNotMatch) || errors.Is(err, wire.ErrMismatch) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("start %s: %w", path, err)
	}
	return notPlugin(path, err)
}

// hostError is the host's own, before there is a plugin to blame.
type hostError struct{ error }

func (e hostError) Unwrap() error { return e.error }

// scarce says that the machine has no more of what every program needs.
func scarce(err error) bool {
	return slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ENOSPC},
		func(lack error) bool { return errors.Is(err, lack) })
}

func (o Options) complete() Options {
	o.Deadline = cmp.Or(o.Deadline, 10*time.Second)
	o.StartTimeout = cmp.Or(o.StartTimeout, 10*time.Second)
	o.Restarts = cmp.Or(o.Restarts, 5)
	return o
}

func newRemote(ctx context.Context, options Options, log hclog.Logger, connect func(context.Context) (*session, backfill.Spec, error)) (*Remote, error) {
	r := &Remote{options: options, log: log, connect: connect, backOff: backOff{limit: options.Restarts}}
	r.trunk = &Branch{remote: r}
	s, spec, err := r.start(ctx)
	if err != nil {
		return nil, err
	}
	r.session, r.spec = s, spec
	return r, nil
}

// start starts the plugin within the start timeout.
func (r *Remote) start(ctx context.Context) (*session, backfill.Spec, error) {
	limit := r.options.StartTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not ready within %v", limit))
	defer cancel()
	r.stats.Starts++
	return r.connect(ctx)
}

// greet asks who the policy is and gives it its options. The channel is nil if
// none was offered. On an error the process is ended.
func greet(ctx context.Context, service policyv1.PolicyServiceClient, channel net.Conn, options map[string]string, end func(graceful bool)) (*session, backfill.Spec, error) {
	carrier, description, err := meet(ctx, service, channel)
	if err != nil {
		end(false)
		return nil, backfill.Spec{}, err
	}
	s := &session{transport: carrier, end: end, knows: wire.FeaturesOf(description)}
	spec, err := described(description, options)
	if err != nil {
		s.close(false)
		return nil, backfill.Spec{}, err
	}
	answer, err := s.ask(ctx, &policyv1.HostMessage{Message: &policyv1.HostMessage_Configure{
		Configure: &policyv1.Configure{Options: options},
	}})
	switch {
	case err != nil:
	case answer.GetFailure() != nil:
		err = &backfill.OptionsError{Err: errors.New(brief(answer.GetFailure().GetText()))}
	case answer.GetReady() == nil:
		err = unexpected(answer)
	}
	if err != nil {
		s.close(false)
		return nil, backfill.Spec{}, err
	}
	return s, spec, nil
}

// meet asks the plugin to describe itself and opens a session: over the channel
// if one was offered and taken.
func meet(ctx context.Context, service policyv1.PolicyServiceClient, channel net.Conn) (transport, *policyv1.DescribeResponse, error) {
	description, err := service.Describe(ctx, &policyv1.DescribeRequest{}, grpc.MaxCallRecvMsgSize(wire.MaxDescription))
	if err == nil && description.GetChannel() && channel != nil {
		return newSocket(channel), description, nil
	}
	if channel != nil {
		_ = channel.Close()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("describe: %w", plain(err))
	}
	carrier, err := openRPC(ctx, service)
	return carrier, description, err
}

// Again starts the same plugin in a process of its own.
func (r *Remote) Again(ctx context.Context) (backfill.Decider, error) {
	return newRemote(ctx, r.options, r.log, r.connect)
}

// Spec is the policy's, as it described itself: it has no New.
func (r *Remote) Spec() backfill.Spec { return r.spec }

// Decide lets the policy act on the open cycle of the trunk.
func (r *Remote) Decide(ctx context.Context, c *backfill.Cycle) error { return r.trunk.Decide(ctx, c) }

// Decided tells how a round of the trunk ended.
func (r *Remote) Decided(round backfill.Round, d backfill.Decision, own bool) {
	r.trunk.Decided(round, d, own)
}

// Fork lets the policy decide on a copy of the trunk's state as well, beginning
// as it is now. The copy is a clone of that state, made after its last round.
func (r *Remote) Fork(state *backfill.State) *Branch { return r.trunk.Fork(state) }

// Stats says what happened to the plugin so far.
func (r *Remote) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	stats := r.stats
	if r.session != nil {
		stats.PID = r.session.pid
		stats.Sent += r.session.sent
		stats.Received += r.session.received
	}
	return stats
}

// Close ends the plugin's process, by force if it does not go in two seconds.
// A decision that is under way is waited for.
func (r *Remote) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.leave(true)
}

// live is the session with a running plugin; where there is none it is time,
// perhaps, to start one.
func (r *Remote) live(ctx context.Context) (*session, error) {
	if r.session != nil {
		return r.session, nil
	}
	if r.closed {
		return nil, errors.New("it was closed")
	}
	if err := r.backOff.ready(); err != nil {
		return nil, err
	}
	r.log.Info("restarting the policy plugin", "failures", r.backOff.failures)
	s, spec, err := r.start(ctx)
	if err == nil && !same(spec, r.spec) {
		s.close(false)
		err = fmt.Errorf("it is another policy now: %s; guarantees: %t, ignores the order: %t", spec.Name, spec.Guarantees, spec.IgnoresOrder)
	}
	if err != nil {
		return nil, r.failed(ctx, fmt.Errorf("restart: %w", err))
	}
	r.session = s
	return s, nil
}

// same reports whether a host may take one policy for the other.
func same(a, b backfill.Spec) bool {
	return a.Name == b.Name && a.Guarantees == b.Guarantees && a.IgnoresOrder == b.IgnoresOrder
}

// failed ends the process after a failure that was its own, and returns the
// error.
func (r *Remote) failed(ctx context.Context, err error) error {
	r.leave(false)
	if ctx.Err() != nil { // the host does not want to know any more
		return err
	}
	r.stats.Failures++
	r.backOff.failed()
	r.log.Error("the policy plugin failed", "error", err, "next", r.backOff.String())
	return err
}

// leave ends the session, if there is one.
func (r *Remote) leave(graceful bool) {
	if s := r.session; s != nil {
		s.close(graceful)
		r.stats.Sent += s.sent
		r.stats.Received += s.received
		r.session = nil
	}
}

// unexpected is an answer to another question.
func unexpected(m *policyv1.PolicyMessage) error {
	return fmt.Errorf("the plugin broke the protocol: unexpected %T", m.GetMessage())
}

// brief bounds what a plugin can write into an error, and how that looks.
func brief(text string) string { return backfill.Printable(text, 1000) }
