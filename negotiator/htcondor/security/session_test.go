package security

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// grants has the client remember a session of the daemon at a host, which lists commands.
func grants(t *testing.T, c *Client, host string, command int, list string) {
	t.Helper()
	a, err := cedar.ParseAddress("<" + host + ":9618>")
	require.NoError(t, err)
	granted, answer := classad.New(), classad.New()
	granted.SetString("Sid", host+strconv.Itoa(command))
	granted.SetString("ValidCommands", list)
	c.remember(a, command, &session{key: make([]byte, 32), used: c.now()}, answer, granted)
}

// A daemon that grants very many commands, or sessions for one command each, costs no other daemon
// its session, and little memory.
func TestOneDaemonCannotCrowdOutSessions(t *testing.T) {
	c := &Client{Clock: func() time.Time { return time.Unix(1000, 0) }}
	for i := range 100 {
		grants(t, c, "10.0.0."+strconv.Itoa(i+1), 416, "416,417,418")
	}
	var many strings.Builder
	for i := range maxSessions + 1 {
		many.WriteString(strconv.Itoa(i+1000) + ",")
	}
	grants(t, c, "10.9.9.9", 416, many.String())
	for i := range 100 {
		grants(t, c, "10.9.9.9", 20_000+i, "")
	}
	grants(t, c, "10.9.9.8", 416, "416")
	require.Equal(t, 100+sessionsOfAddress+1, c.Sessions())
	for _, sessions := range c.negotiated.all {
		for _, g := range sessions {
			require.LessOrEqual(t, len(g.commands), commandsOfSession)
		}
	}
}

// Of too many daemons, those whose sessions were unused for the longest time lose theirs.
func TestUnusedSessionsGoFirst(t *testing.T) {
	now := time.Unix(1000, 0)
	c := &Client{Clock: func() time.Time { return now }}
	host := func(i int) string { return "10.1." + strconv.Itoa(i/250) + "." + strconv.Itoa(i%250) }
	for i := range maxSessions {
		grants(t, c, host(i), 416, "")
	}
	now = now.Add(time.Minute)
	require.NotNil(t, c.negotiated.find(place{"<" + host(0) + ":9618>", 416}, now))
	grants(t, c, "10.2.0.1", 416, "")
	require.Equal(t, maxSessions/2+1, c.Sessions())
	require.NotNil(t, c.negotiated.find(place{"<" + host(0) + ":9618>", 416}, now))
	require.NotNil(t, c.negotiated.find(place{"<10.2.0.1:9618>", 416}, now))
}

// A daemon may grant commands by sessions of their own; a later session replaces an earlier one for
// the commands of both.
func TestSessionsOfOneAddress(t *testing.T) {
	c := &Client{Clock: func() time.Time { return time.Unix(1000, 0) }}
	find := func(command int) string {
		s := c.negotiated.find(place{"<10.0.0.1:9618>", command}, c.now())
		require.NotNil(t, s)
		return s.id
	}
	grants(t, c, "10.0.0.1", 1, "1,2")
	grants(t, c, "10.0.0.1", 3, "2,3")
	require.Equal(t, []string{"10.0.0.11", "10.0.0.13", "10.0.0.13"}, []string{find(1), find(2), find(3)})
	grants(t, c, "10.0.0.1", 4, "1,2,3")
	require.Equal(t, 1, c.Sessions())
}

// TestLongSessionsAreNotKept says that a daemon whose sessions or addresses have very long names
// costs no memory: it negotiates each time.
func TestLongSessionsAreNotKept(t *testing.T) {
	c := &Client{Clock: func() time.Time { return time.Unix(1000, 0) }}
	for _, long := range []struct {
		sid, sock int
		kept      bool
	}{{maxSid, 500, true}, {maxSid + 1, 1, false}, {60_000, 1, false}, {1, maxAddress, false}} {
		before := c.Sessions()
		a := cedar.Address{Host: "10.0.0.1", Port: 9618, Sock: strings.Repeat("s", long.sock)}
		granted := classad.New()
		granted.SetString("Sid", strings.Repeat("s", long.sid))
		c.remember(a, 416, &session{used: c.now()}, classad.New(), granted)
		require.Equal(t, long.kept, c.Sessions() > before, "%+v", long)
	}
}

// TestSessionsOfOnePort says that of the daemons behind one shared port few have sessions, those
// that were used last, and that this costs others none.
func TestSessionsOfOnePort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1000, 0)
		c := &Client{Clock: func() time.Time { return now }}
		granted := classad.New()
		granted.SetString("Sid", "a")
		at := func(host, sock int) cedar.Address {
			return cedar.Address{Host: "10.0.0." + strconv.Itoa(host), Port: 9618, Sock: strconv.Itoa(sock)}
		}
		grant := func(a cedar.Address) { c.remember(a, 416, &session{used: now}, classad.New(), granted) }
		find := func(a cedar.Address) *session { return c.negotiated.find(place{a.String(), 416}, now) }
		grant(at(2, 0))
		for range rapid.IntRange(0, 3*addressesOfPort).Draw(t, "steps") {
			now = now.Add(time.Second)
			a := at(1, rapid.IntRange(0, 2*addressesOfPort).Draw(t, "sock"))
			if known := find(a); known != nil && rapid.Bool().Draw(t, "forget") {
				c.negotiated.forget(a.String(), known)
				require.Nil(t, find(a))
				continue
			}
			grant(a)
			require.NotNil(t, find(a))
		}
		require.LessOrEqual(t, c.Sessions(), addressesOfPort+1)
		require.NotNil(t, find(at(2, 0)))
		listed := 0
		for _, there := range c.negotiated.ports {
			require.NotEmpty(t, there)
			listed += len(there)
		}
		require.Len(t, c.negotiated.all, listed)
	})
}
