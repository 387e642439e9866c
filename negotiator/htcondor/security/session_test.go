package security

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
