package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Handler serves a command.
type Handler struct {
	// Name is for the log.
	Name string
	// Needs are the permissions for the command, of which one suffices.
	Needs []security.Permission
	// Proof is what proves the key of a resumed session.
	Proof security.Proof
	// Payload is how many bytes a peer that has authenticated may say with the command; 0 means 64
	// KiB, a negative number no limit.
	Payload int64
	// Serve serves the command.
	Serve Serve
}

// Serve reads a command's payload and answers. The stream is closed when it returns and when the
// context ends.
type Serve func(context.Context, *security.Call) error

// Port is a command port.
type Port struct {
	// Security performs the handshakes. Serve sets its Needs, Proof and Commands.
	Security *security.Server
	// Handlers are the known commands by number. DC_NOP and similar commands, with which
	// condor_ping asks for permissions, are always known.
	Handlers map[int]Handler
	// Logger logs who did what; nil means no log.
	Logger hclog.Logger
	// MaxConnections limits simultaneous connections, as [Places] does; 0 means 500.
	MaxConnections int
	// Sending bounds how fast answers are sent; nil means that nothing does.
	Sending *Sending
	// MaxTime limits the duration of a command, so that slow clients do not hold connections; 0
	// means 5 minutes.
	MaxTime time.Duration
}

// nops are the commands that do nothing, with the permission that each needs.
var nops = map[int]security.Permission{
	60011: security.Read, 60020: security.Read, 60021: security.Write, 60022: security.Negotiator,
	60023: security.Administrator, 60026: security.Daemon, 60027: security.AdvertiseStartd,
	60028: security.AdvertiseSchedd,
}

// usualPayload is how many bytes may be said with a command that sets no bound.
const usualPayload = 64 << 10

// AddressOf returns a listener's address for ads. Its host is the one that was listened on, so
// listen on an address that other machines can reach.
func AddressOf(l net.Listener) (cedar.Address, error) {
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return cedar.Address{}, err
	}
	number, err := strconv.Atoi(port)
	return cedar.Address{Host: host, Port: number, NoUDP: true}, err
}

// Serve accepts commands until the context ends, which is not an error, or the listener fails. It
// closes the listener and returns after all handlers have returned.
func (p *Port) Serve(ctx context.Context, listener net.Listener) error {
	p.prepare()
	listener = NewPlaces(listener, cmp.Or(p.MaxConnections, 500), p.Logger)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	var busy sync.WaitGroup
	defer busy.Wait()
	defer func() { // runs first and separately, because stop does not wait
		cancel()
		_ = listener.Close()
	}()
	for {
		conn, err := listener.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("listen at %v: %w", listener.Addr(), err)
		case err != nil: // a temporary failure, such as too many open files
			p.Logger.Warn("cannot accept a connection", "error", err)
			pause(ctx, acceptPause)
			continue
		}
		busy.Go(func() { p.serve(ctx, conn) })
	}
}

const acceptPause = 100 * time.Millisecond

// pause waits for d or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	waited, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-waited.Done()
}

func (p *Port) prepare() {
	if p.Logger == nil {
		p.Logger = hclog.NewNullLogger()
	}
	if p.Security.Needs != nil {
		return
	}
	p.Security.Needs = func(command int) []security.Permission {
		if need, ok := nops[command]; ok {
			return []security.Permission{need}
		}
		return p.Handlers[command].Needs
	}
	p.Security.Payload = func(command int) int64 {
		if _, ok := nops[command]; ok {
			return noPayload
		}
		return cmp.Or(p.Handlers[command].Payload, usualPayload)
	}
	p.Security.Proof = func(command int) security.Proof {
		if _, ok := nops[command]; ok {
			return security.Unproven
		}
		return p.Handlers[command].Proof
	}
	for command := range p.Handlers {
		p.Security.Commands = append(p.Security.Commands, command)
	}
	for command := range nops {
		p.Security.Commands = append(p.Security.Commands, command)
	}
	slices.Sort(p.Security.Commands)
}

// serve handles one connection.
func (p *Port) serve(ctx context.Context, conn net.Conn) {
	call, err := p.Security.Accept(ctx, conn)
	if err != nil {
		if !errors.Is(err, net.ErrClosed) { // Places has told of those that it dropped
			p.Logger.Info("refused", "error", err)
		}
		return
	}
	if call == nil {
		return
	}
	defer call.Close()
	ctx = WithGuest(ctx, conn)
	if guest, ok := conn.(*Guest); ok && call.Peer.User != security.Unauthenticated {
		guest.Vouch()
	}
	h, known := p.Handlers[call.Command]
	if !known { // one of nops
		return
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(p.MaxTime, 5*time.Minute))
	defer cancel()
	call.Bind(ctx)
	call.Price(freeBytes, func(bytes int) error { return p.Sending.Pay(ctx, call.Peer, bytes) })
	log := p.Logger.With("command", h.Name, "user", call.Peer.User, "address", call.Peer.Address)
	if err = h.Serve(ctx, call); err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		log.Warn("a command failed", "error", err)
		return
	}
	log.Debug("served")
}
