package security

import (
	"errors"
	"slices"
)

// errWeak says that a stream is not good enough for a command, whoever the peer is.
var errWeak = errors.New("the command requires authentication, encryption or integrity that are missing here")

func (s *Server) needs(command int) []Permission {
	if s.first().Needs == nil {
		return nil
	}
	return s.first().Needs(command)
}

func (s *Server) wishes(p Permission) Wishes {
	w := Wishes{Authentication: Required, Encryption: Required, Integrity: Required}
	switch {
	case s.Wishes != nil:
		w = s.Wishes(p)
	case p == Read:
		w = Wishes{Authentication: Optional, Encryption: Optional, Integrity: Optional}
	}
	for _, l := range []*Level{&w.Authentication, &w.Encryption, &w.Integrity} {
		if *l == "" {
			*l = Preferred
		}
	}
	return w
}

// authorize returns an error if the peer may not give the command on a stream with a key, or
// without one. All ways to give a command end here: raw, by a handshake, on a resumed session. Each
// permission is judged by itself, so a stream that is good enough for one does not open another.
// The error is errWeak if the stream is not good enough: on a better one the peer may be somebody
// who is allowed.
func (s *Server) authorize(p Peer, keyed bool, command int) error {
	var wrong error = &DeniedError{Code: "DENIED", User: p.User}
	for _, need := range s.needs(command) {
		switch {
		case need == Anybody:
			return nil
		case !p.within(need):
		case !s.suffices(need, p.Method, keyed):
			wrong = errWeak
		case s.allows(p, need):
			return nil
		}
	}
	return wrong
}

// isRaw tells whether a command is given without a handshake alone.
func (s *Server) isRaw(command int) bool { return slices.Contains(s.needs(command), Anybody) }

func (s *Server) allows(p Peer, need Permission) bool {
	if s.Allow != nil {
		return s.Allow(p, need)
	}
	return p.Family || need == Read
}

// suffices reports whether a stream is good enough for a permission: it has what is required, and
// the peer authenticated by a method that is configured for it. Only authentication gives a stream
// its key, which in turn gives encryption and integrity: it has all of them or none.
func (s *Server) suffices(need Permission, method Method, keyed bool) bool {
	if method != "" && !slices.Contains(s.methods(need), method) {
		return false
	}
	w := s.wishes(need)
	return keyed || w.Authentication != Required && w.Encryption != Required && w.Integrity != Required
}

// Proof is what proves that a peer holds the key of the session that it resumes. The session's name
// proves nothing: it is sent in plain.
type Proof int

// The proofs.
const (
	// ByPayload is for commands with a payload, which is awaited: only who holds the key can encrypt
	// it.
	ByPayload Proof = iota
	// ByHandshake is for commands without a payload: each takes a handshake of its own.
	ByHandshake
	// Unproven is for commands without a payload that do no harm, whoever gives them.
	Unproven
)

func (s *Server) proof(command int) Proof {
	if s.first().Proof == nil {
		return ByPayload
	}
	return s.first().Proof(command)
}
