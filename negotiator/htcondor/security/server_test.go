package security

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The commands of a server for tests, and what they need.
const (
	reading  = 5
	deciding = 416
	ruling   = 449
)

func needs(command int) []Permission {
	return map[int][]Permission{reading: {Read}, deciding: {Negotiator}, ruling: {Administrator}}[command]
}

// serving is a running server that answers each command with the name of the peer.
type serving struct {
	*Server
	address cedar.Address
	mu      sync.Mutex
	refused []error
	served  int
}

// calls returns how many commands were accepted.
func (s *serving) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served
}

func serve(t *testing.T, s *Server) *serving {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	out := &serving{Server: s, address: cedar.Address{Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port}}
	s.Needs, s.Commands = needs, []int{reading, deciding, ruling}
	if s.Timeout == 0 {
		s.Timeout = time.Minute
	}
	ctx, cancel := context.WithCancel(context.Background())
	var busy sync.WaitGroup
	busy.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			busy.Go(func() { out.serve(ctx, conn) })
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		busy.Wait()
	})
	return out
}

func (s *serving) serve(ctx context.Context, conn net.Conn) {
	call, err := s.Accept(ctx, conn)
	if err != nil {
		s.mu.Lock()
		s.refused = append(s.refused, err)
		s.mu.Unlock()
	}
	if call == nil {
		return
	}
	defer call.Close()
	s.mu.Lock()
	s.served++
	s.mu.Unlock()
	if word, err := call.Text(); err != nil || word != "who?" {
		return
	}
	call.PutString(fmt.Sprintf("%s by %s, encrypted %v", call.Peer.User, call.Peer.Method, call.Encrypted()))
	_ = call.Send()
}

// who asks a server who it thinks we are.
func who(t *testing.T, c *Client, a cedar.Address, command int, with *Key) (string, error) {
	t.Helper()
	s, err := c.Start(t.Context(), a, command, with)
	if err != nil {
		return "", err
	}
	defer s.Close()
	s.PutString("who?")
	if err = s.Send(); err != nil {
		return "", err
	}
	return s.Text()
}

func all(l Level) Wishes { return Wishes{l, l, l} }

func everyone(Peer, Permission) bool { return true }

// tokenFile writes a token signed by a key.
func tokenFile(t *testing.T, k SigningKey, name, domain, subject string, limits ...Permission) string {
	t.Helper()
	text, err := k.Sign(name, domain, subject, 1000, limits...)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(text+"\n"), 0o600))
	return file
}

func TestHandshakes(t *testing.T) {
	key := NewSigningKey("POOL", []byte("a pool's key"))
	other := NewSigningKey("other", []byte("another one"))
	keys := map[string]SigningKey{"POOL": key}
	good := tokenFile(t, key, "POOL", "pool.test", "condor@pool.test")
	reader := tokenFile(t, key, "POOL", "pool.test", "condor@pool.test", Read)
	forged := tokenFile(t, other, "POOL", "pool.test", "condor@pool.test")
	foreign := tokenFile(t, key, "POOL", "elsewhere", "condor@pool.test")
	me := func(int) (string, error) { return "me", nil }

	for name, c := range map[string]struct {
		client  *Client
		methods []Method
		wishes  Level
		command int
		want    string // or a part of the error
		fails   bool
	}{
		"nobody reads": {client: &Client{}, want: "unauthenticated@unmapped by , encrypted false"},
		"nobody, but somebody must be": {
			client: &Client{}, command: deciding, wishes: Required,
			want: "hung up", fails: true,
		},
		"never, but somebody must be": {
			client: &Client{Wishes: all(Never)}, methods: []Method{FS}, wishes: Required,
			want: "hung up", fails: true,
		},
		"never against preferred": {
			client:  &Client{Wishes: all(Never), Methods: []Method{FS}},
			methods: []Method{FS}, wishes: Preferred, want: "unauthenticated@unmapped by , encrypted false",
		},
		"both optional": {
			client:  &Client{Wishes: all(Optional), Methods: []Method{FS}},
			methods: []Method{FS}, wishes: Optional, want: "unauthenticated@unmapped by , encrypted false",
		},
		"claim": {
			client:  &Client{Methods: []Method{ClaimToBe}, User: "condor"},
			methods: []Method{ClaimToBe}, want: "condor@pool.test by CLAIMTOBE, encrypted true",
		},
		"claim of a whole name": {
			client:  &Client{Methods: []Method{ClaimToBe}, User: "condor@x"},
			methods: []Method{ClaimToBe}, want: "condor@x by CLAIMTOBE, encrypted true",
		},
		"claim of no name": {
			client:  &Client{Methods: []Method{ClaimToBe}, User: "a,b"},
			methods: []Method{ClaimToBe}, want: "does not believe", fails: true,
		},
		"directory": {
			client: &Client{Methods: []Method{FS}}, methods: []Method{FS, ClaimToBe},
			want: "me@pool.test by FS, encrypted true",
		},
		"token": {
			client:  &Client{Methods: []Method{Token}, Tokens: []string{good}},
			methods: []Method{Token}, command: deciding, want: "condor@pool.test by TOKEN, encrypted true",
		},
		"second token": {
			client:  &Client{Methods: []Method{Token}, Tokens: []string{foreign, good}},
			methods: []Method{Token}, want: "condor@pool.test by TOKEN, encrypted true",
		},
		"token for reading": {
			client:  &Client{Methods: []Method{Token}, Tokens: []string{reader}},
			methods: []Method{Token}, want: "condor@pool.test by TOKEN, encrypted true",
		},
		"token for reading only": {
			client:  &Client{Methods: []Method{Token}, Tokens: []string{reader}},
			methods: []Method{Token}, command: deciding, want: "denied: condor@pool.test", fails: true,
		},
		"forged token": {
			client:  &Client{Methods: []Method{Token}, Tokens: []string{forged}},
			methods: []Method{Token}, want: "does not know the key", fails: true,
		},
		"forged token, then directory": {
			client:  &Client{Methods: []Method{Token, FS}, Tokens: []string{forged}},
			methods: []Method{Token, FS}, want: "me@pool.test by FS, encrypted true",
		},
		"no token, then directory": {
			client:  &Client{Methods: []Method{Token, FS}, Tokens: []string{foreign}},
			methods: []Method{Token, FS}, want: "me@pool.test by FS, encrypted true",
		},
		"no token": {
			client:  &Client{Methods: []Method{Token}, Tokens: []string{foreign}},
			methods: []Method{Token}, want: "no token for", fails: true,
		},
		"no common method": {
			client:  &Client{Methods: []Method{ClaimToBe}, User: "x"},
			methods: []Method{FS}, wishes: Required, want: "hung up", fails: true,
		},
		"unknown command": {client: &Client{}, command: 9999, want: "hung up", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Server{
				Name: "TEST", Methods: c.methods, Domain: "pool.test", TrustDomain: "pool.test", Keys: keys,
				Directory: t.TempDir(), UserOf: me, Allow: everyone,
			}
			if c.wishes == "" {
				c.wishes = Preferred
			}
			s.Wishes = func(Permission) Wishes { return all(c.wishes) }
			running := serve(t, s)
			if c.command == 0 {
				c.command = reading
			}
			c.client.Name, c.client.Timeout = "CLIENT", time.Minute
			for range 2 { // the second one resumes the session
				got, err := who(t, c.client, running.address, c.command, nil)
				if c.fails {
					require.ErrorContains(t, err, c.want)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, c.want, got)
			}
			left, err := os.ReadDir(s.Directory)
			require.NoError(t, err)
			require.Empty(t, left, "directories")
		})
	}
}

// The directory of another user does not authenticate.
func TestDirectoryOfSomebodyElse(t *testing.T) {
	s := serve(t, &Server{
		Methods: []Method{FS}, Domain: "d", Directory: t.TempDir(),
		UserOf: func(int) (string, error) { return "", errors.New("no such user") }, Allow: everyone,
		Wishes: func(Permission) Wishes { return all(Required) },
	})
	_, err := who(t, &Client{Methods: []Method{FS}, Timeout: time.Minute}, s.address, reading, nil)
	require.ErrorContains(t, err, "same machine")
	for _, name := range []string{"relative/FS_x", "/tmp/../etc/FS_x", "/tmp/other", ""} {
		require.Error(t, makeDirectory(name, nil), name)
	}
}

func TestPermissions(t *testing.T) {
	s := serve(t, &Server{Methods: []Method{ClaimToBe}, Domain: "d", Allow: func(p Peer, need Permission) bool {
		return need == Read || p.User == "boss@d"
	}})
	boss := &Client{Methods: []Method{ClaimToBe}, User: "boss", Timeout: time.Minute}
	worker := &Client{Methods: []Method{ClaimToBe}, User: "worker", Timeout: time.Minute}
	_, err := who(t, boss, s.address, ruling, nil)
	require.NoError(t, err)
	_, err = who(t, worker, s.address, ruling, nil)
	var denied *DeniedError
	require.ErrorAs(t, err, &denied)
	require.Equal(t, "worker@d", denied.User)
	_, err = who(t, worker, s.address, reading, nil)
	require.NoError(t, err)
	// The session lists the commands that it is good for, and the server refuses others.
	require.Len(t, worker.negotiated.all, 1)
	known := worker.negotiated.find(place{s.address.String(), reading}, time.Now())
	require.NotNil(t, known)
	worker.negotiated.keep(s.address.String(), []int{ruling}, known, time.Now())
	_, err = who(t, worker, s.address, ruling, nil)
	require.ErrorAs(t, err, &denied)
}

func TestSessions(t *testing.T) {
	now := time.Unix(1000, 0)
	var mu sync.Mutex
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	later := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}
	family, err := ParseKey(`family:x#[Encryption="YES";]c0ffee`)
	require.NoError(t, err)
	guard := &Server{Methods: []Method{ClaimToBe}, Domain: "d", Allow: everyone, Family: &family, Clock: clock}
	s := serve(t, guard)
	capability, err := ParseKey(`<1>#2#[SessionExpires=5000;]feed`)
	require.NoError(t, err)
	guard.Admit(capability, Peer{User: "negotiator-side@matchsession"})

	c := &Client{Methods: []Method{ClaimToBe}, User: "me", Clock: clock, Timeout: time.Minute}
	got, err := who(t, c, s.address, deciding, &family)
	require.NoError(t, err)
	require.Equal(t, "condor@family by , encrypted true", got)
	got, err = who(t, c, s.address, deciding, &capability)
	require.NoError(t, err)
	require.Equal(t, "negotiator-side@matchsession by , encrypted true", got)
	require.Empty(t, c.negotiated.all)

	// An expired capability is not used, and an unknown one is replaced.
	later(5000 * time.Second)
	for _, key := range []Key{capability, {ID: "unknown", secret: "x"}} {
		got, err = who(t, c, s.address, deciding, &key)
		require.NoError(t, err)
		require.Equal(t, "me@d by CLAIMTOBE, encrypted true", got)
	}
	require.Equal(t, 1, c.Sessions())
	before := guard.Sessions()
	_, err = who(t, c, s.address, reading, nil)
	require.NoError(t, err)
	require.Equal(t, before, guard.Sessions(), "the session is good for reading as well")
	later(2 * time.Hour)
	_, err = who(t, c, s.address, reading, nil)
	require.NoError(t, err)
	require.Equal(t, before+1, guard.Sessions())

	// The family's session is used for the family's daemons.
	c.Family, c.InFamily = &family, func(cedar.Address) bool { return true }
	got, err = who(t, c, s.address, deciding, nil)
	require.NoError(t, err)
	require.Contains(t, got, "condor@family")

	// With another key nothing can be decrypted.
	wrong := Key{ID: family.ID, secret: "wrong"}
	_, err = who(t, c, s.address, deciding, &wrong)
	require.Error(t, err)
}

func TestSessionsAreBounded(t *testing.T) {
	s := &Server{Name: "x", Clock: func() time.Time { return time.Unix(1, 0) }}
	for i := range maxSessions + 10 {
		require.NoError(t, s.issue(&issued{session: session{expires: time.Unix(int64(2+i%2), 0)}}))
	}
	require.LessOrEqual(t, len(s.issued), maxSessions)
}

// If the server hangs up on a session that it does not know, the client negotiates a new one.
func TestHangUpOnSession(t *testing.T) {
	s := serve(t, &Server{Methods: []Method{ClaimToBe}, Domain: "d", Allow: everyone})
	rude, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = rude.Close() }()
	go func() {
		if conn, wrong := rude.Accept(); wrong == nil {
			_, _ = conn.Read(make([]byte, 4096))
			_ = conn.Close()
		}
	}()
	first := true
	c := &Client{Methods: []Method{ClaimToBe}, User: "me", Timeout: time.Minute}
	c.Connect = func(ctx context.Context, place string) (net.Conn, error) {
		if !first {
			return new(net.Dialer).DialContext(ctx, "tcp", place)
		}
		first = false
		return new(net.Dialer).DialContext(ctx, "tcp", rude.Addr().String())
	}
	got, err := who(t, c, s.address, reading, &Key{ID: "gone", secret: "x"})
	require.NoError(t, err)
	require.Equal(t, "me@d by CLAIMTOBE, encrypted true", got)
}

func TestManyAtOnce(t *testing.T) {
	s := serve(t, &Server{Methods: []Method{ClaimToBe}, Domain: "d", Allow: everyone})
	c := &Client{Methods: []Method{ClaimToBe}, User: "me", Timeout: time.Minute}
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			if _, err := who(t, c, s.address, []int{reading, deciding, ruling}[i%3], nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestContextEnds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		conn, wrong := listener.Accept()
		if wrong != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = conn.Read(make([]byte, 1))
		cancel() // in the middle
		_, _ = io.Copy(io.Discard, conn)
	}()
	c := &Client{}
	_, err = c.Start(ctx, cedar.Address{Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port}, reading, nil)
	require.ErrorIs(t, err, context.Canceled)
}

// condor_ping asks what it may do without doing it.
func TestOnlyAsked(t *testing.T) {
	s := serve(t, &Server{Methods: []Method{ClaimToBe}, Domain: "d", Wishes: func(Permission) Wishes {
		return all(Optional)
	}})
	for command, want := range map[int]string{reading: "AUTHORIZED", ruling: "DENIED"} {
		conn, err := net.Dial("tcp", net.JoinHostPort(s.address.Host, strconv.Itoa(s.address.Port)))
		require.NoError(t, err)
		stream := cedar.NewStream(conn, 10*time.Second)
		defer stream.Close()
		ad := (&Client{}).offer(s.address, secQuery, all(Never), mustECDH(t).PublicKey())
		ad.SetInt("AuthCommand", int64(command))
		stream.PutInt(authenticate)
		stream.PutAd(ad)
		require.NoError(t, stream.Send())
		_, err = readAd(stream)
		require.NoError(t, err)
		verdict, err := readAd(stream)
		require.NoError(t, err)
		code, _ := verdict.Text("ReturnCode")
		require.Equal(t, want, code)
		if want == "AUTHORIZED" {
			answer, wrong := readAd(stream)
			require.NoError(t, wrong)
			yes, _ := answer.Bool("AuthorizationSucceeded")
			require.True(t, yes)
		}
		_, err = stream.Int()
		require.ErrorIs(t, err, io.EOF)
	}
}

// Raw commands are accepted where no security is required.
func TestRaw(t *testing.T) {
	s := serve(t, &Server{})
	conn, err := net.Dial("tcp", net.JoinHostPort(s.address.Host, strconv.Itoa(s.address.Port)))
	require.NoError(t, err)
	stream := cedar.NewStream(conn, 10*time.Second)
	defer stream.Close()
	stream.PutInt(reading)
	stream.PutString("who?")
	require.NoError(t, stream.Send())
	got, err := stream.Text()
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(got, Unauthenticated), got)
}
