package server

import (
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Guest is a connection that has a place.
type Guest struct {
	net.Conn
	at            *Places
	network, host netip.Prefix
	known         bool // counts among the connections of known hosts
	authenticated bool // is dropped last
	told          atomic.Bool

	reads, writes, turn stopwatch
}

// guest makes a guest of a connection. All connections without an IP address are of one host.
func (p *Places) guest(conn net.Conn) *Guest {
	g := &Guest{Conn: conn, at: p}
	if at, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
		g.network, g.host = Network(at.Addr()), Host(at.Addr())
	}
	return g
}

// Network returns the network of an address that limits count by: /24 of IPv4, /64 of IPv6.
func Network(a netip.Addr) netip.Prefix { return prefix(a, 24) }

// Host returns whom an address belongs to: it alone, or its /64 of IPv6, within which a host may
// choose addresses freely.
func Host(a netip.Addr) netip.Prefix { return prefix(a, 32) }

func prefix(a netip.Addr, bits4 int) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := bits4
	if a.Is6() {
		bits = 64
	}
	network, _ := a.Prefix(bits) // it is valid for a valid address
	return network
}

// Vouch tells that the other side has authenticated: the connection is not dropped for others while
// there is another way, and its host is known from now on.
func (g *Guest) Vouch() {
	p := g.at
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known.add(g.host)
	g.authenticated = true
	if _, here := p.guests[g]; here && !g.known {
		p.count(g, -1)
		g.known = true
		p.count(g, 1)
	}
}

// waited returns how long the other side has kept us waiting in all. That it waits for its host's
// turn counts as well: only what we do for it ourselves does not. After the last word it is at
// least long enough to be dropped.
func (g *Guest) waited() time.Duration {
	waited := g.reads.total() + g.writes.total() + g.turn.total()
	if g.told.Load() {
		waited = max(waited, ripe)
	}
	return waited
}

// Read reads from the connection.
func (g *Guest) Read(b []byte) (int, error) {
	defer g.reads.start()()
	return g.Conn.Read(b)
}

// Write writes to the connection.
func (g *Guest) Write(b []byte) (int, error) {
	defer g.writes.start()()
	return g.Conn.Write(b)
}

// Close closes the connection and frees its place.
func (g *Guest) Close() error {
	g.at.mu.Lock()
	g.at.leave(g)
	g.at.mu.Unlock()
	return g.Conn.Close()
}

// Leave gives the place up, and returns the connection, which is not limited from now on.
func (g *Guest) Leave() net.Conn {
	g.at.mu.Lock()
	defer g.at.mu.Unlock()
	g.at.leave(g)
	return g.Conn
}

// CloseWrite tells the other side that nothing more comes, as a server of HTTP does before it waits
// for half a second. Nothing is done for the other side any more, so it may be dropped at once.
func (g *Guest) CloseWrite() error {
	g.told.Store(true)
	if c, ok := g.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}

// SyscallConn returns the connection's socket; an error if it has none.
func (g *Guest) SyscallConn() (syscall.RawConn, error) {
	if c, ok := g.Conn.(syscall.Conn); ok {
		return c.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

type guestKey struct{}

// WithGuest returns a context for what is done for a connection, which may be one of TLS. While that
// waits for its turn, the connection keeps us waiting.
func WithGuest(ctx context.Context, conn net.Conn) context.Context {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	if g, ok := conn.(*Guest); ok {
		return context.WithValue(ctx, guestKey{}, g)
	}
	return ctx
}

// Vouch tells that whoever the context's guest is has authenticated, as [Guest.Vouch] does.
func Vouch(ctx context.Context) {
	if g, ok := ctx.Value(guestKey{}).(*Guest); ok {
		g.Vouch()
	}
}

// Leave has the context's guest give its place up: from now on somebody else bounds its connection.
func Leave(ctx context.Context) {
	if g, ok := ctx.Value(guestKey{}).(*Guest); ok {
		g.Leave()
	}
}

// waits notes that the context's guest waits for its turn, until done is called.
func waits(ctx context.Context) (done func()) {
	if g, ok := ctx.Value(guestKey{}).(*Guest); ok {
		return g.turn.start()
	}
	return func() {}
}

// stopwatch sums the time of calls that do not overlap.
type stopwatch struct {
	mu    sync.Mutex
	began time.Time // zero: no call is under way
	sum   time.Duration
}

// start begins a call; the returned function ends it.
func (w *stopwatch) start() (stop func()) {
	w.mu.Lock()
	w.began = time.Now()
	w.mu.Unlock()
	return func() {
		w.mu.Lock()
		w.sum += time.Since(w.began)
		w.began = time.Time{}
		w.mu.Unlock()
	}
}

func (w *stopwatch) total() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began.IsZero() {
		return w.sum
	}
	return w.sum + time.Since(w.began)
}

// mostKnown is the maximum number of known hosts.
const mostKnown = 4096

// known is the set of hosts that authenticated last.
type known struct {
	when map[netip.Prefix]int
	now  int // counts additions
}

func (k *known) has(host netip.Prefix) bool {
	_, found := k.when[host]
	return found
}

// add adds a host, or makes it the latest again. If there are too many, the older half is
// forgotten.
func (k *known) add(host netip.Prefix) {
	if k.when == nil {
		k.when = map[netip.Prefix]int{}
	}
	k.now++
	k.when[host] = k.now
	if len(k.when) <= mostKnown {
		return
	}
	times := make([]int, 0, len(k.when))
	for _, at := range k.when {
		times = append(times, at)
	}
	slices.Sort(times)
	median := times[len(times)/2]
	maps.DeleteFunc(k.when, func(_ netip.Prefix, at int) bool { return at < median })
}
