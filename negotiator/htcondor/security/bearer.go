package security

import (
	"crypto/hmac"
	"errors"
	"slices"
	"strings"
)

// longestBearer is how long a token may be that is shown as a whole, in bytes.
const longestBearer = 8 << 10

// errForged says nothing of what is wrong with a token that no key here has signed: who made it up
// learns nothing.
var errForged = errors.New("no key here has signed that token")

// Bearer checks a token that a peer at an address shows as a whole, with its signature, as HTTP has
// it, and returns the user who may give commands that need the permission. What counts is what
// counts in a handshake: issuer, key, times, revocation, scope, methods, and ALLOW and DENY lists. Nothing
// is evaluated before the signature has shown that the pool made the token. Errors do not quote it.
func (s *Server) Bearer(text, address string, need Permission) (user string, err error) {
	if successor := s.successor.Load(); successor != nil {
		return successor.Bearer(text, address, need)
	}
	if text = strings.TrimSpace(text); len(text) > longestBearer {
		return "", errForged
	}
	t, err := parseToken(text)
	if err != nil {
		return "", errForged
	}
	key, ok := s.Keys[t.keyID]
	if !ok || !hmac.Equal(t.secret, key.sign(t.signed)) {
		return "", errForged
	}
	if t, err = s.verify(t.signed); err != nil {
		return "", err
	}
	if user, err = s.account(t.Subject); err != nil {
		return "", err
	}
	peer := Peer{User: user, Address: address, Method: Token, Limits: t.limits()}
	if !peer.within(need) || !s.suffices(need, Token, true) || !s.allows(peer, need) {
		return "", &DeniedError{Code: "DENIED", User: user}
	}
	return user, nil
}

// TakesTokens reports whether tokens can count for commands that need the permission: there are keys
// that sign them, their issuer is known, and the method is configured.
func (s *Server) TakesTokens(need Permission) bool {
	return len(s.Keys) > 0 && s.TrustDomain != "" && slices.Contains(s.methods(need), Token)
}
