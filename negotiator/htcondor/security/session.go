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

// session is one that was negotiated, or given to us.
type session struct {
	id      string
	key     []byte // nil: it is not encrypted
	expires time.Time
	lease   time.Duration // it ends when it was not used for so long; 0: it does not
	used    time.Time
}

func (s *session) over(now time.Time) bool {
	return !s.expires.IsZero() && !now.Before(s.expires) || s.lease > 0 && now.Sub(s.used) >= s.lease
}

// place is what a session was made for.
type place struct {
	address string
	command int
}

// sessions are those that were negotiated, by what they are good for.
type sessions struct {
	mu  sync.Mutex
	all map[place]*session
}

// maxSessions bounds what is remembered.
const maxSessions = 10_000

// find returns a session that is good for the command; nil if there is none.
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

// keep remembers a session for all commands that it is good for.
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

// forget drops a session that the other side does not know any more.
func (c *sessions) forget(gone *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at, s := range c.all {
		if s.id == gone.id {
			delete(c.all, at)
		}
	}
}

// remember keeps a session for what it is good for.
func (c *Client) remember(a cedar.Address, command int, made *session, answer, granted *classad.ClassAd) {
	var given bool
	if made.id, given = granted.Text("Sid"); !given {
		return
	}
	lasts := sessionDuration
	if text, given := answer.Text("SessionDuration"); given {
		if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
			lasts = min(lasts, time.Duration(seconds)*time.Second)
		}
	}
	// What is about to end there would be refused.
	made.expires = c.now().Add(lasts * 9 / 10)
	if seconds, given := answer.Int("SessionLease"); given && seconds > 0 {
		made.lease = time.Duration(seconds) * time.Second * 9 / 10
	}
	version, _ := answer.Text("RemoteVersion")
	if !answersResumption(version) {
		return // it would hang up later, and nobody would know why
	}
	commands := []int{command}
	list, _ := granted.Text("ValidCommands")
	for text := range strings.SplitSeq(list, ",") {
		if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
			commands = append(commands, n)
		}
	}
	c.negotiated.keep(a.String(), commands, made)
}

// answersResumption tells whether a version ("$CondorVersion: 23.9.6 …") says so
// when it does not know a session: from 9.9.0 on.
func answersResumption(version string) bool {
	var major, minor int
	_, number, _ := strings.Cut(version, ":")
	if _, err := fmt.Sscanf(strings.TrimSpace(number), "%d.%d", &major, &minor); err != nil {
		return true
	}
	return major > 9 || major == 9 && minor >= 9
}
