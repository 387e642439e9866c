package security

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// elsewhere is an address of this machine that is not the one from which clients usually come.
const elsewhere = "127.0.0.2"

// resumes asks to go on with a session from an address, and returns the server's return code and
// the stream, which is not encrypted yet.
func resumes(t *testing.T, s *serving, from, id string, command int) (string, *cedar.Stream) {
	t.Helper()
	stream := dialFrom(t, s, from)
	ad := classad.New()
	ad.SetInt("Command", int64(command))
	ad.SetString("UseSession", "YES")
	ad.SetString("Sid", id)
	ad.SetBool("ResumeResponse", true)
	stream.PutInt(authenticate)
	stream.PutAd(ad)
	require.NoError(t, stream.Send())
	answer, err := readAd(stream)
	require.NoError(t, err)
	code, _ := answer.Text("ReturnCode")
	return code, stream
}

func dialFrom(t *testing.T, s *serving, from string) *cedar.Stream {
	t.Helper()
	conn, err := connectFrom(from)(t.Context(), net.JoinHostPort(s.address.Host, strconv.Itoa(s.address.Port)))
	require.NoError(t, err)
	stream := cedar.NewStream(conn, time.Minute)
	t.Cleanup(stream.Close)
	return stream
}

// connectFrom returns a function that connects from an address.
func connectFrom(from string) func(context.Context, string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	return func(ctx context.Context, place string) (net.Conn, error) { return d.DialContext(ctx, "tcp", place) }
}

// made returns the name of the only session that a client has negotiated.
func made(t *testing.T, c *Client) string {
	t.Helper()
	id := ""
	for _, grants := range c.negotiated.all {
		for _, g := range grants {
			require.Contains(t, []string{"", g.id}, id)
			id = g.id
		}
	}
	require.NotEmpty(t, id)
	return id
}

func anyone() *Client { return &Client{Timeout: time.Minute} }

func claiming(user string) *Client {
	return &Client{Methods: []Method{ClaimToBe}, User: user, Timeout: time.Minute}
}

// Names of sessions cannot be guessed: they are random, not counted or timed.
func TestSessionsHaveRandomNames(t *testing.T) {
	s := serve(t, &Server{
		Name: "TEST", Methods: []Method{ClaimToBe}, Domain: "d", Allow: everyone,
		Clock: func() time.Time { return time.Unix(1000, 0) },
	})
	seen := map[string]bool{}
	for range 3 {
		c := claiming("me")
		c.Clock = s.Clock
		_, err := who(t, c, s.address, reading, nil)
		require.NoError(t, err)
		id := made(t, c)
		require.Regexp(t, `^TEST:[0-9a-f]{32}$`, id)
		require.False(t, seen[id])
		seen[id] = true
	}
}

// A session can be resumed only from the address for which it was made.
func TestSessionIsBoundToItsAddress(t *testing.T) {
	s := serve(t, &Server{Methods: []Method{ClaimToBe}, Domain: "d", Allow: everyone})
	c := claiming("me")
	_, err := who(t, c, s.address, reading, nil)
	require.NoError(t, err)
	code, _ := resumes(t, s, elsewhere, made(t, c), reading)
	require.Equal(t, "SID_NOT_FOUND", code)
	code, _ = resumes(t, s, "127.0.0.1", made(t, c), reading)
	require.Equal(t, "AUTHORIZED", code)
	// An honest peer whose address has changed negotiates anew.
	c.Connect = connectFrom(elsewhere)
	got, err := who(t, c, s.address, reading, nil)
	require.NoError(t, err)
	require.Equal(t, "me@d by CLAIMTOBE, encrypted true", got)
}

// An admitted session is bound to its peer's address if that is known.
func TestAdmittedSessionIsBoundToItsAddress(t *testing.T) {
	guard := &Server{Allow: everyone}
	s := serve(t, guard)
	guard.Admit(Key{ID: "bound", secret: "x"}, Peer{User: "a@d", Address: elsewhere})
	guard.Admit(Key{ID: "free", secret: "x"}, Peer{User: "a@d"})
	for _, c := range []struct{ from, id, want string }{
		{"127.0.0.1", "bound", "SID_NOT_FOUND"},
		{elsewhere, "bound", "AUTHORIZED"},
		{"127.0.0.1", "free", "AUTHORIZED"},
		{elsewhere, "free", "AUTHORIZED"},
	} {
		code, _ := resumes(t, s, c.from, c.id, reading)
		require.Equal(t, c.want, code, c)
	}
}

// The family's session is known only to this machine, on which all its daemons run.
func TestFamilyIsOfThisMachine(t *testing.T) {
	family := Key{ID: "family:x", secret: "x"}
	guard := &Server{Family: &family, Allow: everyone}
	s := serve(t, guard)
	code, _ := resumes(t, s, elsewhere, family.ID, deciding)
	require.Equal(t, "AUTHORIZED", code)
	guard.Local = func(a netip.Addr) bool { return a == netip.MustParseAddr("127.0.0.1") }
	code, _ = resumes(t, s, "127.0.0.1", family.ID, deciding)
	require.Equal(t, "AUTHORIZED", code)
	code, _ = resumes(t, s, elsewhere, family.ID, deciding)
	require.Equal(t, "SID_NOT_FOUND", code)
	require.False(t, local(netip.MustParseAddr("192.0.2.1")), "an address for documentation")
	require.False(t, local(netip.Addr{}))
}

// A session that was made without authentication is not good for a command that requires it, even
// if everybody may give that command; the peer is told to negotiate a better one.
func TestSessionIsGoodEnoughForTheCommand(t *testing.T) {
	s := serve(t, &Server{Methods: []Method{ClaimToBe}, Domain: "d", Allow: everyone})
	nobody := anyone()
	_, err := who(t, nobody, s.address, reading, nil)
	require.NoError(t, err)
	for _, command := range []int{ruling, deciding} {
		code, _ := resumes(t, s, "127.0.0.1", made(t, nobody), command)
		require.Equal(t, "SID_NOT_FOUND", code)
	}
	require.Len(t, nobody.negotiated.all, 1, "the server lists only what the session is good for")
	// Our client then negotiates a better one.
	nobody.Methods, nobody.User = []Method{ClaimToBe}, "me"
	nobody.negotiated.keep(s.address.String(), []int{ruling},
		nobody.negotiated.find(place{s.address.String(), reading}, time.Now()), time.Now())
	got, err := who(t, nobody, s.address, ruling, nil)
	require.NoError(t, err)
	require.Equal(t, "me@d by CLAIMTOBE, encrypted true", got)
}

// Each of a command's permissions is judged by what we want of streams for that permission: who
// has one of them because of a weak stream does not get past.
func TestEachPermissionAsksForItsOwnStream(t *testing.T) {
	guard := &Server{
		Methods: []Method{ClaimToBe}, Domain: "d",
		Wishes: func(p Permission) Wishes {
			if p == Administrator {
				return all(Required)
			}
			return all(Optional)
		},
		Allow: func(_ Peer, need Permission) bool { return need == Administrator },
	}
	s := serve(t, guard)
	guard.Needs = func(int) []Permission { return []Permission{Daemon, Administrator} }
	_, err := who(t, anyone(), s.address, ruling, nil)
	var denied *DeniedError
	require.ErrorAs(t, err, &denied)
	stream := dialFrom(t, s, "127.0.0.1")
	stream.PutInt(ruling)
	stream.PutString("who?")
	require.NoError(t, stream.Send())
	_, err = stream.Text()
	require.Error(t, err)
	c := claiming("me")
	c.Wishes = all(Required)
	_, err = who(t, c, s.address, ruling, nil)
	require.NoError(t, err)
}

// On a resumed session nothing is done before the peer has shown that it holds the key: its payload
// shows that, and where there is none, the session counts as unknown.
func TestResumedSessionProvesItsKey(t *testing.T) {
	var proof proofs
	s := serve(t, &Server{Methods: []Method{ClaimToBe}, Domain: "d", Allow: everyone, Proof: proof.of})
	c := claiming("me")
	_, err := who(t, c, s.address, reading, nil)
	require.NoError(t, err)
	id := made(t, c)

	code, stream := resumes(t, s, "127.0.0.1", id, ruling)
	require.Equal(t, "AUTHORIZED", code)
	require.NoError(t, stream.Encrypt(derive([]byte("another key"))))
	stream.PutString("who?")
	require.NoError(t, stream.Send())
	_, err = stream.Text()
	require.Error(t, err)

	code, stream = resumes(t, s, "127.0.0.1", id, ruling)
	require.Equal(t, "AUTHORIZED", code)
	stream.Close() // without a payload
	require.Equal(t, 1, s.calls(), "only the first one")

	for now, want := range map[Proof]string{Unproven: "AUTHORIZED", ByHandshake: "SID_NOT_FOUND"} {
		proof.now.Store(int64(now))
		code, _ = resumes(t, s, "127.0.0.1", id, ruling)
		require.Equal(t, want, code)
	}
}

// proofs asks the same proof for all commands, and another one later.
type proofs struct{ now atomic.Int64 }

func (p *proofs) of(int) Proof { return Proof(p.now.Load()) }

// Without our nonce in the answer, a recorded conversation could be sent again.
func TestResumptionWithoutAnAnswerIsNoProof(t *testing.T) {
	var proof proofs
	s := serve(t, &Server{Methods: []Method{ClaimToBe}, Domain: "d", Allow: everyone, Proof: proof.of})
	c := claiming("me")
	_, err := who(t, c, s.address, reading, nil)
	require.NoError(t, err)
	known := c.negotiated.find(place{s.address.String(), reading}, time.Now())
	for now, want := range map[Proof]bool{Unproven: true, ByPayload: false, ByHandshake: false} {
		proof.now.Store(int64(now))
		stream := dialFrom(t, s, "127.0.0.1")
		ad := classad.New()
		ad.SetInt("Command", ruling)
		ad.SetString("UseSession", "YES")
		ad.SetString("Sid", known.id)
		stream.PutInt(authenticate)
		stream.PutAd(ad)
		require.NoError(t, stream.Send())
		require.NoError(t, stream.Encrypt(known.key))
		stream.PutString("who?")
		require.NoError(t, stream.Send())
		_, err = stream.Text()
		require.Equal(t, want, err == nil, "%d: %v", now, err)
	}
}

// Peers that do not authenticate cannot crowd out the sessions of those that do.
func TestSessionsWithoutKeyGoFirst(t *testing.T) {
	s := &Server{Name: "x", Clock: func() time.Time { return time.Unix(1, 0) }}
	keyed := &issued{session: session{key: []byte("k")}}
	require.NoError(t, s.issue(keyed))
	for range maxSessions + 10 {
		require.NoError(t, s.issue(&issued{}))
	}
	_, ok := s.session(keyed.id, netip.Addr{})
	require.True(t, ok)
	require.LessOrEqual(t, len(s.issued), maxSessions)
}

// TestSessionsKeepLittle: what a peer says of itself in a handshake is kept only in part, however
// long it is, and not at all once another server has succeeded.
func TestSessionsKeepLittle(t *testing.T) {
	guard := &Server{Methods: []Method{ClaimToBe}, Domain: "d", Allow: everyone}
	s := serve(t, guard)
	conn, err := net.Dial("tcp", net.JoinHostPort(s.address.Host, strconv.Itoa(s.address.Port)))
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // a test's
	stream := cedar.NewStream(conn, time.Minute)
	stream.PutInt(authenticate)
	stream.PutLines(cedar.Lines(fmt.Sprintf("Command = %d\nAuthentication = \"NEVER\"\nEncryption = \"NEVER\"\n"+
		"Integrity = \"NEVER\"\nRemoteVersion = %q", reading, Version+strings.Repeat("v", 60_000))))
	require.NoError(t, stream.Send())
	_, err = stream.Ad()
	require.NoError(t, err)
	require.NoError(t, stream.End())
	_, err = stream.Ad()
	require.NoError(t, err)
	require.Equal(t, 1, guard.Sessions())
	for _, one := range guard.issued {
		require.Len(t, one.peer.Version, longestVersion)
		require.True(t, strings.HasPrefix(one.peer.Version, Version))
	}
	guard.Succeed(&Server{Methods: []Method{ClaimToBe}, Domain: "d", Allow: everyone})
	require.Empty(t, guard.issued)
}
