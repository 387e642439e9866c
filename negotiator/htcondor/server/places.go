package server

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Places is a listener that bounds the number of simultaneous connections, so that no network
// keeps the others out. A new connection always gets in: if there is no place, it takes that of one
// that has not authenticated and has kept us waiting. If there is none such either, it takes that of
// one that has authenticated and has kept us waiting for seconds.
//
// Strangers may use three quarters of the places; the rest is for hosts that have authenticated
// lately. A network (/24 of IPv4, /64 of IPv6) of strangers may hold as many places as are left to
// all strangers, and a known host as many as are left at all: one alone gets half of them, ten get
// a part of eleven each. So the limits follow from how full it is.
type Places struct {
	net.Listener
	most int
	log  hclog.Logger

	left   chan struct{} // signals that a guest has left
	closed chan struct{}
	close  sync.Once

	mu       sync.Mutex // guards what follows, and the guests' standing
	guests   map[*Guest]struct{}
	total    int
	strange  int                  // guests from hosts that are not known
	networks map[netip.Prefix]int // strangers by network
	hosts    map[netip.Prefix]int // the others by host
	known    known
	dropped  int       // connections, since the log told
	told     time.Time // when the log told
}

// ripe is how long a connection must have kept us waiting, all in all, before it may be dropped for
// another. The first bytes of an honest one follow at once.
const ripe = 50 * time.Millisecond

// overripe is the same for those that have authenticated: otherwise nine hosts that say nothing more
// would keep all others out, and a user all others of his host.
const overripe = 5 * time.Second

// NewPlaces limits the connections of a listener. The logger may be nil.
func NewPlaces(l net.Listener, most int, log hclog.Logger) *Places {
	if log == nil {
		log = hclog.NewNullLogger()
	}
	return &Places{
		Listener: l, most: most, log: log, left: make(chan struct{}, 1), closed: make(chan struct{}),
		guests: map[*Guest]struct{}{}, networks: map[netip.Prefix]int{}, hosts: map[netip.Prefix]int{},
	}
}

// Accept returns the next connection, a [*Guest]. If there is neither a free place nor a connection
// that may be dropped, it waits for one.
func (p *Places) Accept() (net.Conn, error) {
	for {
		conn, err := p.Listener.Accept()
		if err != nil {
			return nil, err
		}
		g := p.guest(conn)
		switch err = p.seat(g); {
		case err == nil:
			return g, nil
		case errors.Is(err, net.ErrClosed):
			return nil, errors.Join(err, conn.Close())
		}
		_ = conn.Close() // refused
	}
}

// Close closes the listener. Connections stay open.
func (p *Places) Close() error {
	p.close.Do(func() { close(p.closed) })
	return p.Listener.Close()
}

// errRefused says that a host has its share of the places, and gives none of them up.
var errRefused = errors.New("its host has too many connections")

// seat gives a guest a place. It waits if the only way to one is a connection that may not be
// dropped yet.
func (p *Places) seat(g *Guest) error {
	for {
		wait, err := p.trySeat(g)
		if wait == 0 || err != nil {
			return err
		}
		select {
		case <-p.left:
		case <-p.closed:
			return net.ErrClosed
		case <-time.After(wait):
		}
	}
}

// trySeat gives a guest a place, or returns how long to wait before trying again.
func (p *Places) trySeat(g *Guest) (wait time.Duration, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g.known = p.known.has(g.host)
	if p.hasRoom(g) {
		p.enter(g)
		return 0, nil
	}
	victim, why := p.victim(g), "many connections: those that do not authenticate are dropped for new ones"
	if victim == nil {
		victim, why = p.hog(g), "many connections: those that keep us waiting are dropped for new ones"
	}
	switch {
	case victim == nil && p.total < p.most:
		p.tell("a host has its share of the connections, and is refused more", g)
		return 0, errRefused
	case victim == nil:
		return time.Second, nil
	}
	if waited := victim.waited(); waited < ripe {
		return ripe - waited, nil
	}
	p.tell(why, victim)
	p.leave(victim)
	_ = victim.Conn.Close()
	p.enter(g)
	return 0, nil
}

// hasRoom tells whether there is a free place for a guest.
func (p *Places) hasRoom(g *Guest) bool {
	free := p.most - p.total
	if g.known {
		return p.hosts[g.host] < free
	}
	return p.networks[g.network] < min(free, max(1, p.most*3/4)-p.strange)
}

// victim returns the connection to drop for a new one, or nil. Strangers are dropped first, and no
// stranger drops another guest. Among strangers it is one of the network that has the most, so
// that those who crowd in push out each other; within a network, it is the one that has kept us
// waiting longest.
func (p *Places) victim(g *Guest) (victim *Guest) {
	ownOnly := g.known && p.total < p.most // its host has its share
	for other := range p.guests {
		switch {
		case other.authenticated, !g.known && other.known, ownOnly && (!other.known || other.host != g.host):
		case victim == nil || p.before(other, victim):
			victim = other
		}
	}
	return victim
}

// hog returns the connection of a known host to drop when there is no victim, or nil: one of the
// guest's own host or, if all places are taken, of the host that has the most, and more than the
// guest's. It has kept us waiting longest, and for long.
func (p *Places) hog(g *Guest) (hog *Guest) {
	full := p.total >= p.most
	for other := range p.guests {
		own := g.known && other.host == g.host
		fuller := full && p.crowd(other) > p.crowd(g)
		if !other.known || other.waited() < overripe || !own && !fuller {
			continue
		}
		if hog == nil || p.before(other, hog) {
			hog = other
		}
	}
	return hog
}

// before tells whether a guest is to be dropped before another one.
func (p *Places) before(a, b *Guest) bool {
	if a.known != b.known {
		return b.known
	}
	if na, nb := p.crowd(a), p.crowd(b); na != nb {
		return na > nb
	}
	return a.waited() > b.waited()
}

// crowd is the number of connections among which a guest's own counts.
func (p *Places) crowd(g *Guest) int {
	if g.known {
		return p.hosts[g.host]
	}
	return p.networks[g.network]
}

func (p *Places) enter(g *Guest) {
	p.guests[g] = struct{}{}
	p.count(g, 1)
}

// leave frees a guest's place; it may be called again.
func (p *Places) leave(g *Guest) {
	if _, here := p.guests[g]; !here {
		return
	}
	delete(p.guests, g)
	p.count(g, -1)
	signal(p.left)
}

func (p *Places) count(g *Guest, n int) {
	p.total += n
	crowd, key := p.hosts, g.host
	if !g.known {
		p.strange += n
		crowd, key = p.networks, g.network
	}
	if crowd[key] += n; crowd[key] == 0 {
		delete(crowd, key)
	}
}

// tell logs about dropped and refused connections: at the first one, and then once a minute, so
// that a flood does not fill the log.
func (p *Places) tell(what string, g *Guest) {
	p.dropped++
	if now := time.Now(); now.Sub(p.told) >= time.Minute {
		p.log.Warn(what, "since_last_told", p.dropped, "one_of", g.network)
		p.told, p.dropped = now, 0
	}
}

// signal signals on a channel, unless a signal is already pending.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
