package security

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// rule is an entry of an ALLOW_ or DENY_ list.
type rule struct {
	user, host string
	network    netip.Prefix
}

// ParseRules turns lists like HTCondor's ALLOW_ and DENY_ settings into a function for
// [Server.Allow]. In "condor@pool.test/10.0.0.*, *@cs/*, 10.1.0.0/16", an entry is a user, an IP
// address or network, or a user and an address separated by a slash; * stands for any characters.
// DENY_ takes precedence. The family, daemons started by the same condor_master, may do anything
// that is not denied. Host names are not looked up; they and malformed entries are skipped and
// named in the error, and the function is valid nevertheless.
func ParseRules(allows, denies map[Permission]string) (allow func(Peer, Permission) bool, err error) {
	allowed, wrong := parseLists(allows)
	denied, wrongToo := parseLists(denies)
	if wrong = append(wrong, wrongToo...); len(wrong) > 0 {
		slices.Sort(wrong)
		err = fmt.Errorf("neither a user (a@b), nor an IP address or network: %s", strings.Join(wrong, ", "))
	}
	return func(p Peer, need Permission) bool {
		if anyOf(denied[need], p) {
			return false
		}
		for level, rules := range allowed {
			if level.Implies(need) && anyOf(rules, p) {
				return true
			}
		}
		return p.Family
	}, err
}

// parseLists reads the lists of all permissions, and returns the malformed entries as texts.
func parseLists(lists map[Permission]string) (parsed map[Permission][]rule, wrong []string) {
	parsed = map[Permission][]rule{}
	for p, list := range lists {
		for text := range strings.FieldsFuncSeq(list, func(c rune) bool { return strings.ContainsRune(", \t\n", c) }) {
			if one, ok := parseRule(text); ok {
				parsed[p] = append(parsed[p], one)
			} else {
				wrong = append(wrong, fmt.Sprintf("%s: %q", p, text))
			}
		}
	}
	return parsed, wrong
}

func anyOf(rules []rule, p Peer) bool {
	return slices.ContainsFunc(rules, func(r rule) bool { return r.of(p) })
}

func parseRule(text string) (one rule, ok bool) {
	one = rule{user: "*", host: "*"}
	host := text
	if user, rest, both := strings.Cut(text, "/"); strings.Contains(user, "@") || user == "*" && both {
		one.user = user
		if !both {
			return one, true
		}
		host = rest
	}
	if network, err := netip.ParsePrefix(host); err == nil {
		one.network = network
		return one, true
	}
	one.host = host
	return one, host != "" && strings.Trim(host, "0123456789abcdefABCDEF.:*") == ""
}

func (r rule) of(p Peer) bool {
	if !like(r.user, p.User) {
		return false
	}
	if r.network.IsValid() {
		at, err := netip.ParseAddr(p.Address)
		return err == nil && r.network.Contains(at.Unmap())
	}
	return like(r.host, p.Address)
}

// like reports whether a text matches a pattern in which * stands for any characters.
func like(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}
