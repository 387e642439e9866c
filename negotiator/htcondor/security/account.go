package security

import (
	"fmt"
	"slices"
	"strings"
)

// account returns the name of a user who authenticated as a name: with our domain, if the name has
// none. It is an error if nobody can authenticate as that name.
func (s *Server) account(name string) (string, error) {
	if !isUser(name) {
		return "", fmt.Errorf("%.80q is no user", name)
	}
	if !strings.Contains(name, "@") {
		name += "@" + s.Domain
	}
	if slices.ContainsFunc(reserved, func(r string) bool { return strings.EqualFold(r, name) }) {
		return "", fmt.Errorf("%.80s is the name of a session, as which nobody can authenticate", name)
	}
	return name, nil
}

// reserved are the names that HTCondor gives to the owners of sessions whose key condor_master or a
// claim hands out, and to peers that did not authenticate. Rights come with the key, not the name.
var reserved = []string{
	family, "condor@parent", "condor@child", Unauthenticated,
	"submit-side@matchsession", "execute-side@matchsession", "negotiator-side@matchsession",
}

// family is the name of the daemons of our own condor_master.
const family = "condor@family"

// isUser reports whether a text is valid as a user's name: it must not contain characters that have
// a meaning in lists of users or break a log line.
func isUser(name string) bool {
	return name != "" && name[0] != '@' && len(name) <= 256 && !strings.ContainsFunc(name,
		func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`,*/"\`, r) })
}
