package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// NoDeadline is the deadline of decisions that may take as long as they like, such as under a debugger.
const NoDeadline time.Duration = 1<<63 - 1

// Options say how a plugin runs. The zero value is valid.
type Options struct {
	// Policy holds the policy's own options.
	Policy map[string]string
	// Deadline limits one decision; 0 means 10 s, and [NoDeadline] no limit.
	Deadline time.Duration
	// StartTimeout limits the time until the plugin is ready; 0 means 10 s.
	StartTimeout time.Duration
	// Restarts is how often a repeatedly failing plugin is restarted before it is given up; 0 means
	// 5, negative means never.
	Restarts int
	// Memory limits the bytes that the plugin, and each process that it starts, may use; 0 means no
	// limit. A Go plugin needs at least 128 MiB. Only Linux supports the limit; elsewhere the log
	// says that there is none.
	Memory int64
	// Processes limits the number of processes and threads of the plugin and of what it starts; 0
	// means 512, negative means no limit. Only Linux supports the limit.
	Processes int
	// Environment names variables of this process' environment that the plugin gets besides those
	// that [Environment] lists.
	Environment []string
	// User is as whom the plugin runs, by name or number, if this process may choose, as root may; empty
	// means as whom this process runs.
	User string
	// Reads are files and folders that the plugin may read and execute besides what every program needs,
	// its executable, and, if that is a script, the folder around it and its interpreter's.
	Reads []string
	// Network lets the plugin reach the network, which no policy needs.
	Network bool
	writes  []string // folders in which tests look for what the plugin did
	remains *remains // of the plugin's processes; nil: nobody asks
	// NoMTLS turns off encryption of the connection, a Unix socket that only this user can reach.
	NoMTLS bool
	// NoChannel uses gRPC for the session even if the plugin supports inherited pipes.
	NoChannel bool
	// Logger receives the plugin's log and that of its supervision; nil means hclog's default.
	Logger hclog.Logger
	// Linked makes the same policy as a linked-in one, for [Remote.Again]; nil: Again starts another
	// process.
	Linked func() (backfill.Decider, error)
}

// Stats counts what happened to a plugin.
type Stats struct {
	Starts   int // starts of its process
	Syncs    int // transfers of the whole state
	Failures int // crashes, missed deadlines, breaches of the protocol
	PID      int // the current process; 0: none
	// Sent and Received are the bytes of all messages of sessions.
	Sent, Received int64
}

// Remote is a policy in a process of its own, as a [backfill.Decider]. The process is restarted
// when it fails; until it is back, Decide returns errors, so that the fallback decides.
//
// Several goroutines may use a Remote, each with its own branch and state; their rounds are decided
// one after the other.
type Remote struct {
	trunk   *Branch
	options Options
	log     hclog.Logger
	connect func(context.Context) (*session, backfill.PolicySpec, error)
	spec    backfill.PolicySpec

	mu       sync.Mutex
	session  *session // nil if the next Decide must start one
	closed   bool
	backOff  backOff
	branches uint64 // the number of branches so far
	stats    Stats
	boundary Boundary
}

var _ backfill.Repeatable = (*Remote)(nil)

// Start starts a plugin and passes the options to its policy. It fails if the command is not a
// policy plugin, is not ready in time, or refuses the options.
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
	go sweep(os.TempDir(), time.Now())
	return newRemote(ctx, options, log, func(ctx context.Context) (*session, backfill.PolicySpec, error) {
		p, service, err := launch(ctx, command, options, log)
		if err != nil {
			return nil, backfill.PolicySpec{}, startError(ctx, command.Path, err)
		}
		defer p.inflow.question()()
		s, spec, err := greet(ctx, service, p.channel, options.Policy, p.stop)
		if err != nil {
			if !options.NoMTLS && strings.Contains(err.Error(), "authentication handshake failed") {
				err = fmt.Errorf("%w; a plugin that does not do mutual TLS needs mtls: off in the configuration", err)
			}
			return nil, backfill.PolicySpec{}, fmt.Errorf("start %s: %w", command.Path, err)
		}
		s.pid, s.fate, s.boundary, s.inflow = p.pid(), p.fate, p.cell.holds, p.inflow
		return s, spec, nil
	})
}

// startError returns the error of a failed start. It says that the executable is not a plugin,
// unless the cause is the host, a lack of resources, a wrong checksum or version, or the end of
// ctx.
func startError(ctx context.Context, path string, err error) error {
	if _, here := errors.AsType[hostError](err); here || scarce(err) || errors.Is(err, plugin.ErrChecksumsDoNotMatch) ||
		errors.Is(err, wire.ErrMismatch) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("start %s: %w", path, err)
	}
	return notPlugin(path, err)
}

// hostError is an error of the host itself, before the plugin could be at fault.
type hostError struct{ error }

func (e hostError) Unwrap() error { return e.error }

// scarce reports whether the error means that the machine lacks resources that every program needs.
func scarce(err error) bool {
	return slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ENOSPC},
		func(lack error) bool { return errors.Is(err, lack) })
}

func (o Options) complete() Options {
	o.Deadline = cmp.Or(o.Deadline, 10*time.Second)
	o.StartTimeout = cmp.Or(o.StartTimeout, 10*time.Second)
	o.Restarts = cmp.Or(o.Restarts, 5)
	o.Processes = cmp.Or(o.Processes, 512)
	o.remains = cmp.Or(o.remains, new(remains))
	return o
}

func newRemote(ctx context.Context, options Options, log hclog.Logger,
	connect func(context.Context) (*session, backfill.PolicySpec, error),
) (*Remote, error) {
	r := &Remote{options: options, log: log, connect: connect, backOff: backOff{limit: options.Restarts}}
	r.trunk = &Branch{remote: r}
	s, spec, err := r.start(ctx)
	if err != nil {
		return nil, err
	}
	r.session, r.spec, r.boundary = s, spec, s.boundary
	return r, nil
}

// start starts the plugin within the start timeout.
func (r *Remote) start(ctx context.Context) (*session, backfill.PolicySpec, error) {
	limit := r.options.StartTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not ready within %v", limit))
	defer cancel()
	r.stats.Starts++
	return r.connect(ctx)
}

// greet asks the plugin for its description, opens a session and passes the policy its options. The
// channel is nil if none was offered. On an error greet ends the process.
func greet(ctx context.Context, service policyv1.PolicyServiceClient, channel io.ReadWriteCloser, options map[string]string,
	end func(graceful bool),
) (*session, backfill.PolicySpec, error) {
	carrier, description, err := meet(ctx, service, channel)
	if err != nil {
		end(false)
		return nil, backfill.PolicySpec{}, err
	}
	s := &session{transport: carrier, end: end, knows: wire.FeaturesOf(description)}
	spec, err := described(description, options)
	if err != nil {
		s.close(false)
		return nil, backfill.PolicySpec{}, err
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
		return nil, backfill.PolicySpec{}, err
	}
	return s, spec, nil
}

// meet asks the plugin to describe itself and opens a session: over the channel if it was offered
// and accepted, else over gRPC.
func meet(ctx context.Context, service policyv1.PolicyServiceClient,
	channel io.ReadWriteCloser,
) (transport, *policyv1.DescribeResponse, error) {
	description, err := service.Describe(ctx, &policyv1.DescribeRequest{}, grpc.MaxCallRecvMsgSize(wire.MaxDescription))
	if err == nil && description.GetChannel() && channel != nil {
		return newPiped(channel), description, nil
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

// Again starts the same plugin in another process, unless the policy can be linked in.
func (r *Remote) Again(ctx context.Context) (backfill.Decider, error) {
	if r.options.Linked != nil {
		return r.options.Linked()
	}
	return newRemote(ctx, r.options, r.log, r.connect)
}

// Options are the options that were given to the policy.
func (r *Remote) Options() map[string]string { return r.options.Policy }

// Spec returns the policy's description of itself; it has no New.
func (r *Remote) Spec() backfill.PolicySpec { return r.spec }

// Decide lets the policy act on the open cycle of the trunk.
func (r *Remote) Decide(ctx context.Context, tx *backfill.Transaction) error {
	return r.trunk.Decide(ctx, tx)
}

// Decided records how a round of the trunk ended; see [Branch.Decided].
func (r *Remote) Decided(round backfill.Round, d backfill.Decision, own bool) {
	r.trunk.Decided(round, d, own)
}

// Fork returns a branch on which the policy decides on a copy of the trunk's state. The copy is a
// clone of that state, made after its last round.
func (r *Remote) Fork(state *backfill.State) *Branch { return r.trunk.Fork(state) }

// Stats returns the counts so far.
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

// Boundary says what keeps the plugin's current process, or the last one, from the rest of the
// machine.
func (r *Remote) Boundary() Boundary {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.boundary
}

// Close ends the plugin's process, by force if it does not end within two seconds. It waits for a
// decision in progress.
func (r *Remote) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.leave(true)
	removed := func() {
		r.options.remains.folders.Lock()
		defer r.options.remains.folders.Unlock()
	}
	if !endsIn(2*grace, removed) {
		r.log.Warn("files of the policy plugin are left; the next start of a plugin removes them")
	}
}

// live returns the session with a running plugin. If there is none, it starts one, unless the
// plugin failed so often that it must wait or is given up.
func (r *Remote) live(ctx context.Context) (*session, error) {
	if r.session != nil {
		return r.session, nil
	}
	if r.closed {
		return nil, fmt.Errorf("%w: it was closed", backfill.ErrGivenUp)
	}
	if err := r.backOff.ready(); err != nil {
		return nil, err
	}
	r.log.Info("restarting the policy plugin", "failures", r.backOff.failures)
	s, spec, err := r.start(ctx)
	if err == nil && !same(spec, r.spec) {
		s.close(false)
		err = fmt.Errorf("it is another policy now: %s; guarantees: %t, ignores the order: %t, plan depth: %t, order: %s, "+
			"estimates: %s", spec.Name, spec.Guarantees, spec.IgnoresOrder, spec.PlanDepth, spec.OrderUnless(""),
			cmp.Or(spec.Estimates, "requested"))
	}
	if err != nil {
		return nil, r.failed(ctx, fmt.Errorf("restart: %w", err))
	}
	r.session, r.boundary = s, s.boundary
	return s, nil
}

// same reports whether a host may substitute one policy for the other.
func same(a, b backfill.PolicySpec) bool {
	return a.Name == b.Name && a.Guarantees == b.Guarantees && a.IgnoresOrder == b.IgnoresOrder &&
		a.PlanDepth == b.PlanDepth && a.OrderUnless("") == b.OrderUnless("") && a.Estimates == b.Estimates
}

// failed ends the process after a failure of the plugin, counts and logs the failure, and returns
// the error. It does not count if ctx has ended, since the host no longer wants an answer then.
func (r *Remote) failed(ctx context.Context, err error) error {
	r.leave(false)
	if ctx.Err() != nil { // the host no longer wants the answer
		return err
	}
	r.stats.Failures++
	r.backOff.failed()
	r.backOff.left = int(r.options.remains.processes.Load())
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

// unexpected returns the error for an answer that does not belong to the question.
func unexpected(m *policyv1.PolicyMessage) error {
	return fmt.Errorf("the plugin broke the protocol: unexpected %T", m.GetMessage())
}

// brief limits the length of a plugin's text in an error and makes it printable.
func brief(text string) string { return backfill.Printable(text, 1000) }
