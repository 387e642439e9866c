package security

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// session is a session that was negotiated or handed to us.
type session struct {
	id  string
	key []byte // nil: the stream is not encrypted
	// authenticated says that the other side knows us, by a handshake or by the key.
	authenticated bool
	expires       time.Time
	lease         time.Duration // the session ends after this time without use; 0: it does not
	used          time.Time
}

func (s *session) over(now time.Time) bool {
	return !s.expires.IsZero() && !now.Before(s.expires) || s.lease > 0 && now.Sub(s.used) >= s.lease
}

// features returns what streams of the session have.
func (s *session) features() features { return features{s.authenticated, s.key != nil, s.key != nil} }

// place is the address and command that a session is used for.
type place struct {
	address string
	command int
}

// sessions are the negotiated sessions by address. What one host and port grants costs others no
// session.
type sessions struct {
	mu    sync.Mutex
	all   map[string][]grant  // the last one made comes last
	ports map[string][]string // the addresses in all, by host and port
}

// grant is a session with the commands that it is used for.
type grant struct {
	*session
	commands []int
}

const (
	// maxSessions is the maximum number of addresses whose sessions the client keeps, and of sessions
	// that the server keeps.
	maxSessions = 10_000
	// sessionsOfAddress is how many the client keeps of one address: one for each permission that it
	// needs.
	sessionsOfAddress = 4
	// addressesOfPort is of how many daemons behind one shared port the client keeps sessions.
	addressesOfPort = 64
	// maxSid and maxAddress are up to how many bytes of a session's name and of an address the client
	// keeps a session. HTCondor's have at most about a hundred and three hundred.
	maxSid     = 256
	maxAddress = 1024
	// commandsOfSession is how many commands a session is used for; a schedd grants about 150.
	commandsOfSession = 256
)

// find returns the session for an address and a command and notes its use; nil if there is none or
// it has ended.
func (c *sessions) find(at place, now time.Time) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.all[at.address] {
		if slices.Contains(g.commands, at.command) && !g.over(now) {
			g.used = now
			return g.session
		}
	}
	return nil
}

// keep stores a session for these commands at an address, in place of earlier ones for them.
func (c *sessions) keep(address string, commands []int, s *session, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all, c.ports = map[string][]grant{}, map[string][]string{}
	}
	if c.all[address] == nil {
		c.enter(address, now)
	}
	made := grant{s, slices.Clone(commands[:min(len(commands), commandsOfSession)])}
	var kept []grant
	for _, g := range c.all[address] {
		g.commands = slices.DeleteFunc(g.commands, func(n int) bool { return slices.Contains(made.commands, n) })
		if len(g.commands) > 0 && !g.over(now) {
			kept = append(kept, g)
		}
	}
	kept = append(kept, made)
	c.all[address] = kept[max(0, len(kept)-sessionsOfAddress):]
}

// enter makes room for an address that has no sessions: of too many at one port, the one whose
// sessions were unused for the longest time loses them.
func (c *sessions) enter(address string, now time.Time) {
	if len(c.all) >= maxSessions {
		c.drop(now)
	}
	port := portOf(address)
	if there := c.ports[port]; len(there) >= addressesOfPort {
		used := func(address string) (last time.Time) {
			for _, g := range c.all[address] {
				if g.used.After(last) {
					last = g.used
				}
			}
			return last
		}
		c.remove(slices.MinFunc(there, func(a, b string) int { return used(a).Compare(used(b)) }))
	}
	c.ports[port] = append(c.ports[port], address)
}

// remove drops the sessions of an address.
func (c *sessions) remove(address string) {
	port := portOf(address)
	delete(c.all, address)
	c.ports[port] = slices.DeleteFunc(c.ports[port], func(other string) bool { return other == address })
	if len(c.ports[port]) == 0 {
		delete(c.ports, port)
	}
}

// portOf returns the host and port of an address, without the daemon's name behind a shared port.
func portOf(address string) string {
	port, _, _ := strings.Cut(strings.TrimSuffix(address, ">"), "?")
	return port
}

// drop makes room: it removes addresses whose sessions have ended or, if there are none, the half
// of all that was unused for the longest time.
func (c *sessions) drop(now time.Time) {
	last := map[string]time.Time{}
	for address, grants := range c.all {
		for _, g := range grants {
			if !g.over(now) && !g.used.Before(last[address]) {
				last[address] = g.used
			}
		}
		if _, alive := last[address]; !alive {
			c.remove(address)
		}
	}
	if len(c.all) < maxSessions {
		return
	}
	oldest := slices.SortedFunc(maps.Keys(last), func(a, b string) int {
		return cmp.Or(last[a].Compare(last[b]), cmp.Compare(a, b))
	})
	for _, address := range oldest[:len(oldest)/2] {
		c.remove(address)
	}
}

// count returns the number of sessions.
func (c *sessions) count() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, grants := range c.all {
		n += len(grants)
	}
	return n
}

// forget removes a session that the daemon at an address no longer knows.
func (c *sessions) forget(address string, gone *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := slices.DeleteFunc(c.all[address], func(g grant) bool { return g.id == gone.id })
	if c.all[address] = left; len(left) == 0 {
		c.remove(address)
	}
}

// remember stores a new session for the command and all others that the other side grants. It
// stores none for a side older than 9.9.0, which would not tell that it has forgotten the session,
// and none whose names are too long.
func (c *Client) remember(a cedar.Address, command int, made *session, answer, granted *classad.ClassAd) {
	var given bool
	address := a.String()
	if made.id, given = granted.Literal("Sid").Text(); !given || len(made.id) > maxSid || len(address) > maxAddress {
		return
	}
	lasts := sessionDuration
	if text, given := answer.Literal("SessionDuration").Text(); given {
		if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
			lasts = min(lasts, time.Duration(seconds)*time.Second)
		}
	}
	// The server would refuse a session that is about to expire.
	made.expires = c.now().Add(lasts * 9 / 10)
	if seconds, given := answer.Literal("SessionLease").Int(); given && seconds > 0 {
		made.lease = time.Duration(seconds) * time.Second * 9 / 10
	}
	version, _ := answer.Literal("RemoteVersion").Text()
	if !answersResumption(version) {
		return // such a server hangs up later without telling why
	}
	commands := []int{command}
	list, _ := granted.Literal("ValidCommands").Text()
	for text := range strings.SplitSeq(list, ",") {
		if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && len(commands) < commandsOfSession {
			commands = append(commands, n)
		}
	}
	c.negotiated.keep(address, commands, made, c.now())
}

// answersResumption reports whether a server of this version ("$CondorVersion: 23.9.6 …") answers
// when it does not know a session, as servers since 9.9.0 do; older ones hang up.
func answersResumption(version string) bool {
	var major, minor int
	_, number, _ := strings.Cut(version, ":")
	if _, err := fmt.Sscanf(strings.TrimSpace(number), "%d.%d", &major, &minor); err != nil {
		return true
	}
	return major > 9 || major == 9 && minor >= 9
}
