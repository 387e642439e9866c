package security

import (
	"fmt"
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

// sessions are the negotiated sessions by address and command.
type sessions struct {
	mu  sync.Mutex
	all map[place]*session
}

// maxSessions is the maximum number of sessions that are kept.
const maxSessions = 10_000

// find returns the session for an address and a command and notes its use; nil if there is none or
// it has ended.
func (c *sessions) find(at place, now time.Time) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.all[at]
	if s != nil && s.over(now) {
		delete(c.all, at)
		return nil
	}
	if s != nil {
		s.used = now
	}
	return s
}

// keep stores a session for these commands at an address. If too many are stored, it first drops
// all of them.
func (c *sessions) keep(address string, commands []int, s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil || len(c.all) > maxSessions {
		c.all = map[place]*session{}
	}
	for _, command := range commands {
		c.all[place{address, command}] = s
	}
}

// count returns the number of sessions.
func (c *sessions) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := map[string]bool{}
	for _, s := range c.all {
		ids[s.id] = true
	}
	return len(ids)
}

// forget removes a session that the other side no longer knows.
func (c *sessions) forget(gone *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at, s := range c.all {
		if s.id == gone.id {
			delete(c.all, at)
		}
	}
}

// remember stores a new session for the command and all others that the other side grants. It
// stores none for a side older than 9.9.0, which would not tell that it has forgotten the session.
func (c *Client) remember(a cedar.Address, command int, made *session, answer, granted *classad.ClassAd) {
	var given bool
	if made.id, given = granted.Literal("Sid").Text(); !given {
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
		if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
			commands = append(commands, n)
		}
	}
	c.negotiated.keep(a.String(), commands, made)
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
