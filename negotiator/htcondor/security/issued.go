package security

import (
	"cmp"
	"encoding/hex"
	"net"
	"net/netip"
	"slices"
	"time"
)

// issued is a session that this server created or admitted.
type issued struct {
	session
	peer Peer
	// from is the only address from which the session can be resumed, unless it is free.
	from netip.Addr
	free bool
}

// session returns the session of that name and notes its use; false if there is none, it has ended,
// or it belongs to another address.
func (s *Server) session(id string, from netip.Addr) (*issued, bool) {
	if s.Family != nil && id == s.Family.ID {
		return &issued{
			session: session{id: id, key: s.Family.session()},
			peer:    Peer{User: family, Family: true},
		}, s.local(from)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.issued[id]
	if found == nil || !found.free && found.from != from {
		return nil, false
	}
	now := s.now()
	if found.over(now) {
		delete(s.issued, id)
		return nil, false
	}
	found.used = now
	return found, true
}

func (s *Server) local(a netip.Addr) bool {
	if s.Local != nil {
		return s.Local(a)
	}
	return local(a)
}

// local reports whether an address is of this machine.
func local(a netip.Addr) bool {
	if a.IsLoopback() {
		return true
	}
	own, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(own, func(one net.Addr) bool {
		network, ok := one.(*net.IPNet)
		if !ok {
			return false
		}
		at, ok := netip.AddrFromSlice(network.IP)
		return ok && at.Unmap() == a.WithZone("")
	})
}

// addressOf returns a peer's IP address, the same for all its spellings; an invalid one if there is
// none.
func addressOf(p Peer) netip.Addr {
	a, err := netip.ParseAddr(p.Address)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap()
}

// Admit makes the server accept a session whose key was handed out by other means; whoever uses it
// counts as peer p, whose Address it must come from unless that is empty.
func (s *Server) Admit(k Key, p Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(&issued{
		session: session{id: k.ID, key: k.session(), expires: k.Expires()}, peer: p,
		from: addressOf(p), free: p.Address == "",
	})
}

// issue gives a new session a name that cannot be guessed, and stores it.
func (s *Server) issue(made *issued) error {
	var random [16]byte
	if err := draw(s.Random, random[:]); err != nil {
		return err
	}
	made.id = s.Name + ":" + hex.EncodeToString(random[:])
	made.from = addressOf(made.peer)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(made)
	return nil
}

func (s *Server) keep(made *issued) {
	now := s.now()
	made.used = now
	if len(s.issued) >= maxSessions {
		s.drop(now)
	}
	if s.issued == nil {
		s.issued = map[string]*issued{}
	}
	s.issued[made.id] = made
}

// drop makes room for sessions: it removes expired ones or, if there are none, half of all. Those
// without a key go first, so that peers that do not authenticate cannot crowd out the others, and
// then those that were unused for the longest time.
func (s *Server) drop(now time.Time) {
	var kept []*issued
	for id, one := range s.issued {
		if one.over(now) {
			delete(s.issued, id)
		} else {
			kept = append(kept, one)
		}
	}
	if len(kept) < maxSessions {
		return
	}
	slices.SortFunc(kept, func(a, b *issued) int {
		return cmp.Or(cmp.Compare(min(len(a.key), 1), min(len(b.key), 1)), a.used.Compare(b.used), cmp.Compare(a.id, b.id))
	})
	for _, one := range kept[:len(kept)/2] {
		delete(s.issued, one.id)
	}
}
