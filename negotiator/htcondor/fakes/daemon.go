package fakes

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

// Daemon is the common part of all fakes. A fake stops at the end of its test.
type Daemon struct {
	t       testing.TB
	guard   *security.Server
	address cedar.Address
	serve   map[int]server.Handler
	denies  atomic.Bool

	mu     sync.Mutex
	before func(ctx context.Context, command int) error
	parser classad.Parser
	stop   func()
}

func (d *Daemon) start(tb testing.TB, name string, serve map[int]server.Handler) {
	tb.Helper()
	d.t, d.serve = tb, map[int]server.Handler{}
	for command, h := range serve {
		d.serve[command] = server.Handler{
			Name: h.Name, Needs: []security.Permission{security.Read},
			Proof: h.Proof, Serve: d.first(command, h),
		}
	}
	d.guard = &security.Server{
		Name: name, Timeout: time.Minute,
		Methods: []security.Method{security.ClaimToBe}, Domain: "test", TrustDomain: "test",
		Wishes: func(security.Permission) security.Wishes {
			return security.Wishes{
				Authentication: security.Optional, Encryption: security.Optional,
				Integrity: security.Optional,
			}
		},
		Allow: func(security.Peer, security.Permission) bool { return !d.denies.Load() },
	}
	d.address = cedar.Address{Host: "127.0.0.1"}
	d.Start()
	tb.Cleanup(d.Stop)
}

// first wraps a handler so that the function set by Before runs first.
func (d *Daemon) first(command int, h server.Handler) func(context.Context, *security.Call) error {
	return func(ctx context.Context, call *security.Call) error {
		d.mu.Lock()
		before := d.before
		d.mu.Unlock()
		if before != nil {
			if err := before(ctx, command); err != nil {
				return err
			}
		}
		return h.Serve(ctx, call)
	}
}

// Before sets a function that is called ahead of each command; if it returns an error, the daemon
// hangs up. It may wait until the context ends.
func (d *Daemon) Before(before func(ctx context.Context, command int) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before = before
}

// Deny makes the daemon refuse every command.
func (d *Daemon) Deny() { d.denies.Store(true) }

// maxPayload is how many bytes may be said with a command: any number.
const maxPayload = -1

// Start restarts a stopped daemon at the same address, without its earlier sessions.
func (d *Daemon) Start() {
	d.t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(d.address.Host, port(d.address.Port)))
	require.NoError(d.t, err)
	d.address, err = server.AddressOf(listener)
	require.NoError(d.t, err)
	d.stop = d.serveAt(listener)
}

// serveAt serves what comes from a listener; the returned function ends that.
func (d *Daemon) serveAt(listener net.Listener) (stop func()) {
	guard := &security.Server{
		Name: d.guard.Name, Timeout: d.guard.Timeout, Methods: d.guard.Methods, Domain: d.guard.Domain,
		TrustDomain: d.guard.TrustDomain, Wishes: d.guard.Wishes, Allow: d.guard.Allow,
	}
	for command, h := range d.serve {
		h.Payload = maxPayload
		d.serve[command] = h
	}
	d.guard = guard
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- (&server.Port{Security: guard, Handlers: d.serve}).Serve(ctx, listener) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			d.t.Errorf("a fake daemon: %v", err)
		}
	})
}

// Stop stops the daemon: nobody listens at its address.
func (d *Daemon) Stop() { d.stop() }

// Address returns the daemon's address.
func (d *Daemon) Address() cedar.Address { return d.address }

// Client returns a client that the daemon accepts.
func Client() *security.Client {
	return &security.Client{
		Name: "TEST", Timeout: time.Minute, Methods: []security.Method{security.ClaimToBe}, User: "condor@test",
		Wishes: security.Wishes{
			Authentication: security.Required, Encryption: security.Required,
			Integrity: security.Required,
		},
	}
}

// parse parses ads. The daemon's parser remembers what they have in common with those before, as worlds
// publish nearly the same ads again and again.
func (d *Daemon) parse(texts []string) []*classad.ClassAd {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	ads := make([]*classad.ClassAd, len(texts))
	for i, text := range texts {
		ad, err := d.parser.ParseOld(text)
		require.NoError(d.t, err, text)
		ads[i] = ad
	}
	return ads
}

// hungUp reports whether the error means that the other side closed the connection regularly.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed)
}
