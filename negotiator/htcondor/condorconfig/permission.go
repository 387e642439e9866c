package condorconfig

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Permissions say who may do what, according to the ALLOW_ and DENY_ lists.
//
// An entry is USER@DOMAIN/HOST, USER@DOMAIN, or HOST, with * in the user for anything. HOST is *, an
// address such as 10.0.0.1, a network such as 10.0.0.0/16, 10.0.0.0/255.255.0.0 or 10.0.*, or a
// host's name, which is looked up when the lists are read. All spellings of an address mean the
// same. An entry that cannot be read, or whose host cannot be resolved (an unknown name, or a
// pattern of names such as *.pool.test), allows nobody in an ALLOW_ list, and denies its user at all
// hosts in a DENY_ list; everybody, if its user cannot be read.
//
// The lists say nothing of the daemons of our own condor_master, which prove it by their key. A
// user of such a name (condor@family) has no rights by the name.
type Permissions struct {
	allow, deny map[string][]entry
	// Warnings name the entries that cannot be read or resolved.
	Warnings []string
}

type entry struct {
	user  string
	hosts hosts
}

// LookUp returns the addresses of a host.
type LookUp func(host string) ([]netip.Addr, error)

// levels are the authorization levels that commands need here.
var levels = []string{"READ", "WRITE", "DAEMON", "NEGOTIATOR", "ADMINISTRATOR", "ADVERTISE_SCHEDD"}

// implies lists, for each level, the other levels that include it directly (HTCondor's
// DCpermissionHierarchy).
var implies = map[string][]string{
	"READ":  {"WRITE", "NEGOTIATOR", "ADVERTISE_SCHEDD"},
	"WRITE": {"DAEMON", "ADMINISTRATOR"},
}

// Permissions reads the ALLOW_ and DENY_ lists of all levels. A list for the negotiator alone, such
// as ALLOW_READ_NEGOTIATOR, replaces the general one, and that of a level replaces ALLOW_DEFAULT.
func (c *Config) Permissions(lookUp LookUp) *Permissions {
	p := &Permissions{allow: map[string][]entry{}, deny: map[string][]entry{}}
	lookUp = once(lookUp)
	for _, level := range levels {
		p.allow[level] = p.read(c, "ALLOW_%s", level, lookUp, func(*entry) string { return "allows nobody" })
		p.deny[level] = p.read(c, "DENY_%s", level, lookUp, func(e *entry) string {
			e.hosts = everywhere
			if e.user == "" {
				e.user = "*"
				return "denies everybody"
			}
			return "denies it everywhere"
		})
	}
	slices.Sort(p.Warnings)
	p.Warnings = slices.Compact(p.Warnings)
	return p
}

// read reads one list. The callback unread changes an entry that cannot be read to what is safe,
// and says what that is.
func (p *Permissions) read(c *Config, knob, level string, lookUp LookUp, unread func(*entry) string) (all []entry) {
	list, name, _ := c.ByLevel(knob, level)
	for _, text := range split(list) {
		one, err := readEntry(text, lookUp)
		if err != nil {
			p.Warnings = append(p.Warnings, fmt.Sprintf("%s: %s %s: %s", name, text, unread(&one), err))
		}
		all = append(all, one)
	}
	return all
}

// readEntry reads an entry: USER/HOST, USER or HOST. On an error its hosts are empty, and so is its
// user if that cannot be read either.
func readEntry(text string, lookUp LookUp) (one entry, err error) {
	user, host := "*", text
	if _, isNetwork := readNetwork(text); !isNetwork {
		if before, after, both := strings.Cut(text, "/"); both {
			user, host = before, after
		} else if strings.Contains(text, "@") {
			user, host = text, "*"
		}
	}
	if !strings.ContainsAny(user, "@*") {
		return entry{}, fmt.Errorf("%q is no user: USER@DOMAIN, or *", user)
	}
	one.user = user
	one.hosts, err = readHost(host, lookUp)
	return one, err
}

// nextLevel is the level whose settings count where those of another are not set (HTCondor's
// DCpermissionHierarchy); DEFAULT for all others.
var nextLevel = map[string]string{
	"ADVERTISE_STARTD": "DAEMON", "ADVERTISE_SCHEDD": "DAEMON", "ADVERTISE_MASTER": "DAEMON", "DEFAULT": "",
}

// ByLevel returns the value of a setting for an authorization level, and the name of the knob that
// has it, such as SEC_DEFAULT_ENCRYPTION for SEC_%s_ENCRYPTION. It looks for the level's own, and
// then those of the levels whose settings it inherits; in each, first for the negotiator's
// (…_NEGOTIATOR). It returns false if none is set.
func (c *Config) ByLevel(format, level string) (value, name string, set bool) {
	for level != "" {
		for _, own := range []string{"_" + subsystem, ""} {
			name = strings.Replace(format, "%s", level, 1) + own
			if value, set = c.Lookup(name); set {
				return value, name, true
			}
		}
		next, known := nextLevel[level]
		if !known {
			next = "DEFAULT"
		}
		if legacy, err := c.Bool("LEGACY_ALLOW_SEMANTICS"); level == "DAEMON" && err == nil && legacy {
			next = "WRITE"
		}
		level = next
	}
	return "", "", false
}

// Allows reports whether a user at an address has a level: READ, WRITE, DAEMON, NEGOTIATOR,
// ADMINISTRATOR or ADVERTISE_SCHEDD. A user who did not authenticate is unauthenticated@unmapped.
func (p *Permissions) Allows(level, user string, from netip.Addr) bool {
	if listed(p.deny[level], user, from) {
		return false
	}
	return listed(p.allow[level], user, from) ||
		slices.ContainsFunc(implies[level], func(higher string) bool { return p.Allows(higher, user, from) })
}

func listed(entries []entry, user string, from netip.Addr) bool {
	return slices.ContainsFunc(entries, func(e entry) bool {
		return globs(e.user, user) && e.hosts.covers(from)
	})
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
