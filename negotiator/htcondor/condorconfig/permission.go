package condorconfig

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Permissions say who may do what, according to the ALLOW_ and DENY_ lists.
//
// An entry is USER@DOMAIN/HOST, USER@DOMAIN, or HOST, each with * for anything. HOST is an address
// such as 10.0.*, a network such as 10.0.0.0/16 or 10.0.0.0/255.255.0.0, or a host's name, which is
// looked up when the lists are read. An entry whose host cannot be resolved (an unknown name, or a
// pattern of names such as *.pool.test) allows nobody in an ALLOW_ list, and denies its user at all
// hosts in a DENY_ list.
type Permissions struct {
	allow, deny map[string][]entry
	// Warnings name the entries whose hosts cannot be resolved.
	Warnings []string
}

type entry struct {
	user, host string
	network    netip.Prefix // if the host is a network
	addresses  []netip.Addr // of the host, if it is a name
}

// LookUp returns the addresses of a host.
type LookUp func(host string) ([]netip.Addr, error)

// implies lists, for each level, the other levels that include it.
var implies = map[string][]string{
	"READ":             {"WRITE", "ADVERTISE_SCHEDD", "DAEMON", "NEGOTIATOR", "ADMINISTRATOR"},
	"ADVERTISE_SCHEDD": {"DAEMON"},
	"WRITE":            {"DAEMON", "ADMINISTRATOR"},
	"DAEMON":           {},
	"NEGOTIATOR":       {},
	"ADMINISTRATOR":    {},
}

// Permissions reads the ALLOW_ and DENY_ lists of all levels. A list for the negotiator alone, such
// as ALLOW_READ_NEGOTIATOR, replaces the general one.
func (c *Config) Permissions(lookUp LookUp) *Permissions {
	p := &Permissions{allow: map[string][]entry{}, deny: map[string][]entry{}}
	known := map[string][]netip.Addr{}
	read := func(knob string, unknown func(*entry) string) []entry {
		entries := c.entries(knob)
		for i := range entries {
			e := &entries[i]
			name := e.user + "/" + e.host
			if why := e.resolve(known, lookUp); why != "" {
				p.Warnings = append(p.Warnings, fmt.Sprintf("%s: %s %s: %s", knob, name, unknown(e), why))
			}
		}
		return entries
	}
	for _, level := range slices.Sorted(maps.Keys(implies)) {
		p.allow[level] = read("ALLOW_"+level, func(*entry) string { return "allows nobody" })
		p.deny[level] = read("DENY_"+level, func(e *entry) string {
			e.host = "*" // where the host is unknown, the safe choice is to deny everywhere
			return "denies it everywhere"
		})
	}
	slices.Sort(p.Warnings)
	return p
}

// resolve looks up the addresses of an entry's host, if that is a name; known holds the hosts that
// were looked up before. why says why it cannot be resolved, or is "".
func (e *entry) resolve(known map[string][]netip.Addr, lookUp LookUp) (why string) {
	e.host = strings.Trim(e.host, "[]") // around an IPv6 address
	_, noAddress := netip.ParseAddr(e.host)
	switch {
	case noAddress == nil || network(e.host, &e.network):
		return ""
	case strings.Contains(e.host, "*"):
		if strings.Trim(e.host, "0123456789.*") == "" || strings.Contains(e.host, ":") {
			return ""
		}
		return "patterns of hosts' names are not known here, name the hosts or their network"
	}
	addresses, found := known[e.host]
	if !found {
		var err error
		if addresses, err = lookUp(e.host); err != nil {
			return err.Error()
		}
		known[e.host] = addresses
	}
	e.addresses = addresses
	return ""
}

// network parses a network such as 10.0.0.0/16 or 10.0.0.0/255.255.0.0, and reports whether the
// text is one.
func network(text string, into *netip.Prefix) bool {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		at, mask, _ := strings.Cut(text, "/")
		from, errFrom := netip.ParseAddr(at)
		by, errBy := netip.ParseAddr(mask)
		if errFrom != nil || errBy != nil || from.BitLen() != by.BitLen() {
			return false
		}
		ones, bits := net.IPMask(by.AsSlice()).Size()
		if bits == 0 {
			return false
		}
		prefix = netip.PrefixFrom(from, ones)
	}
	*into = prefix
	return true
}

func (c *Config) entries(name string) (all []entry) {
	list := c.List(name)
	if own, ok := c.Lookup(name + "_" + subsystem); ok {
		list = split(own)
	}
	for _, text := range list {
		e := entry{user: "*", host: text}
		if !network(text, &e.network) {
			if user, host, both := strings.Cut(text, "/"); both {
				e = entry{user: user, host: host}
			} else if strings.Contains(text, "@") {
				e = entry{user: text, host: "*"}
			}
		}
		all = append(all, e)
	}
	return all
}

// family are the users of sessions that condor_master hands to the daemons that it starts: they may
// do everything that daemons may.
var family = []string{"condor@family", "condor@parent", "condor@child"}

// Allows reports whether a user at an address has a level: READ, WRITE, DAEMON, NEGOTIATOR or
// ADMINISTRATOR. A user who did not authenticate is unauthenticated@unmapped.
func (p *Permissions) Allows(level, user string, from netip.Addr) bool {
	from = from.Unmap().WithZone("")
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
	return e.network.Contains(from) || slices.Contains(e.addresses, from) || globs(e.host, from.String())
}

// globs reports whether a text matches a pattern, ignoring case; * stands for any characters and
// nothing else is special.
func globs(pattern, text string) bool {
	first, rest, more := strings.Cut(strings.ToLower(pattern), "*")
	text, begins := strings.CutPrefix(strings.ToLower(text), first)
	for begins && more {
		var next string
		next, rest, more = strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, next)
		}
		_, text, begins = strings.Cut(text, next)
	}
	return begins && text == ""
}
