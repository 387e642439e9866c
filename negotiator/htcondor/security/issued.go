package security

import (
	"fmt"
	"slices"
	"time"
)

// issued is a session that this server created or admitted.
type issued struct {
	session
	peer Peer
}

// session returns the session of that name and notes its use; false if there is none or it has
// ended.
func (s *Server) session(id string) (*issued, bool) {
	if s.Family != nil && id == s.Family.ID {
		return &issued{
			session: session{id: id, key: s.Family.session()},
			peer:    Peer{User: "condor@family", Family: true},
		}, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.issued[id]
	if found == nil {
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

// Admit makes the server accept a session whose key was handed out by other means; whoever uses it
// counts as peer p.
func (s *Server) Admit(k Key, p Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(&issued{session: session{id: k.ID, key: k.session(), expires: k.Expires()}, peer: p})
}

// issue gives a new session a unique name and stores it.
func (s *Server) issue(made *issued) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	made.id = fmt.Sprintf("%s:%d:%d", s.Name, s.now().UnixNano(), s.serial)
	s.keep(made)
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

// drop makes room for sessions: it removes expired ones or, if there are none, the half that was
// unused for the longest time.
func (s *Server) drop(now time.Time) {
	var used []int64
	for id, one := range s.issued {
		if one.over(now) {
			delete(s.issued, id)
		} else {
			used = append(used, one.used.UnixNano())
		}
	}
	if len(used) < maxSessions {
		return
	}
	slices.Sort(used)
	for id, one := range s.issued {
		if one.used.UnixNano() <= used[len(used)/2] {
			delete(s.issued, id)
		}
	}
}
