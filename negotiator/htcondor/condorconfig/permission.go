package condorconfig

import (
	"net/netip"
	"path"
	"slices"
	"strings"
)

// Permissions are who may do what, as the ALLOW_ and DENY_ lists say it.
//
// An entry is USER@DOMAIN/HOST, USER@DOMAIN, or HOST, each with * for anything; HOST
// is an address, such as 10.0.*, or a network, such as 10.0.0.0/16. Names of hosts are
// not looked up: an entry with one allows and denies nobody. Netgroups are not known.
type Permissions struct {
	allow, deny map[string][]entry
}

type entry struct{ user, host string }

// implies says which levels a level's holders have as well.
var implies = map[string][]string{
	"READ":             {"WRITE", "ADVERTISE_SCHEDD", "DAEMON", "NEGOTIATOR", "ADMINISTRATOR"},
	"ADVERTISE_SCHEDD": {"DAEMON"},
	"WRITE":            {"DAEMON", "ADMINISTRATOR"},
	"DAEMON":           {},
	"NEGOTIATOR":       {},
	"ADMINISTRATOR":    {},
}

// Permissions reads the lists. One for the negotiator alone, ALLOW_READ_NEGOTIATOR,
// counts in place of the general one.
func (c *Config) Permissions() *Permissions {
	p := &Permissions{allow: map[string][]entry{}, deny: map[string][]entry{}}
	for level := range implies {
		p.allow[level], p.deny[level] = c.entries("ALLOW_"+level), c.entries("DENY_"+level)
	}
	return p
}

func (c *Config) entries(name string) (all []entry) {
	list := c.List(name)
	if own, ok := c.Lookup(name + "_" + subsystem); ok {
		list = split(own)
	}
	for _, text := range list {
		e := entry{user: "*", host: text}
		if _, err := netip.ParsePrefix(text); err != nil {
			if user, host, both := strings.Cut(text, "/"); both {
				e = entry{user, host}
			} else if strings.Contains(text, "@") {
				e = entry{text, "*"}
			}
		}
		all = append(all, e)
	}
	return all
}

// family are users of sessions that condor_master handed to the daemons that it
// started: they may do everything that daemons may.
var family = []string{"condor@family", "condor@parent", "condor@child"}

// Allows tells whether a user who calls from an address may do what needs a level:
// READ, WRITE, DAEMON, NEGOTIATOR or ADMINISTRATOR. A user whose name was not shown
// is unauthenticated@unmapped.
func (p *Permissions) Allows(level, user string, from netip.Addr) bool {
	from = from.Unmap()
	if listed(p.deny[level], user, from) {
		return false
	}
	if slices.Contains(family, user) || listed(p.allow[level], user, from) {
		return true
	}
	return slices.ContainsFunc(implies[level], func(higher string) bool {
		return listed(p.allow[higher], user, from) && !listed(p.deny[higher], user, from)
	})
}

func listed(entries []entry, user string, from netip.Addr) bool {
	return slices.ContainsFunc(entries, func(e entry) bool {
		return globs(e.user, user) && e.covers(from)
	})
}

func (e entry) covers(from netip.Addr) bool {
	if network, err := netip.ParsePrefix(e.host); err == nil {
		return network.Contains(from)
	}
	return globs(e.host, from.String())
}

// globs tells whether a pattern, in which * is anything, is a text's.
func globs(pattern, text string) bool {
	ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(text))
	return err == nil && ok
}
