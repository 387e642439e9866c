package server_test

import (
	"context"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

// Every command meets every kind of peer, with the outcome in testdata/commands.txt. The lists of
// users make no difference to it: what a peer may do follows from how it comes.
func TestCommandsByPeer(t *testing.T) {
	for name, allow := range map[string]func(security.Peer, security.Permission) bool{
		"open lists": func(security.Peer, security.Permission) bool { return true },
		"strict lists": func(p security.Peer, need security.Permission) bool {
			return need == security.Read || p.Family || p.User == "condor@test"
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, allow)
			for _, r := range table(t) {
				for peer, want := range r.want {
					before := p.acts.Load()
					told := p.peers[peer](r)
					switch acts := p.acts.Load() - before; want {
					case "yes":
						require.EqualValues(t, 1, acts, "%s by %s: %s", r.name, peer, told)
					case "no":
						require.Zero(t, acts, "%s by %s", r.name, peer)
						require.Empty(t, told, "%s by %s", r.name, peer)
					default:
						require.Zero(t, acts, "%s by %s", r.name, peer)
						require.Equal(t, want, told, "%s by %s", r.name, peer)
					}
				}
			}
		})
	}
}

// Every command that is served has a row, with its name and level.
func TestEveryCommandIsInTheTable(t *testing.T) {
	all := table(t)
	h := (&pool{}).negotiator().Handlers()
	for _, r := range all {
		got, known := h[r.number]
		if strings.HasPrefix(r.name, "DC_NOP") {
			require.False(t, known)
			continue
		}
		require.True(t, known, r.name)
		require.Equal(t, r.name, got.Name)
		var levels []string
		for _, need := range got.Needs {
			levels = append(levels, string(need))
		}
		require.Equal(t, r.level, strings.Join(levels, ","), r.name)
		require.Equal(t, r.payload == "none", got.Proof != security.ByPayload, r.name)
		require.EqualValues(t, payloads[r.payload], got.Payload, r.name)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	port := &server.Port{Security: &security.Server{}, Handlers: h}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, port.Serve(over, listener))
	require.Len(t, port.Security.Commands, len(all))
}

// payloads are how many bytes a payload may have, by its kind in the table.
var payloads = map[string]int{
	"none": 1 << 10, "name": 4 << 10, "real": 4 << 10, "integer": 4 << 10, "lease": 4 << 10, "query": 192 << 10,
}

// A peer that has authenticated is not heard out if it says more than its command needs, in bytes or,
// for a query, in names, constants and signs.
func TestPayloadsAreBounded(t *testing.T) {
	p := newPool(t, func(security.Peer, security.Permission) bool { return true })
	long := func(size int) *classad.ClassAd {
		ad := classad.New()
		ad.SetString("Question", strings.Repeat("x", size))
		return ad
	}
	many := classad.New()
	require.NoError(t, many.SetExpr("Requirements", "size({"+strings.Repeat("1,", 20_000)+"1}) > 0"))
	for _, r := range table(t) {
		if r.payload == "none" {
			continue
		}
		for name, payload := range map[string]func(*cedar.Stream){
			"text": func(s *cedar.Stream) { s.PutString(strings.Repeat("x", 2*payloads[r.payload])) },
			"ad":   func(s *cedar.Stream) { s.PutAd(long(2 * payloads[r.payload])) },
			"list": func(s *cedar.Stream) { s.PutAd(many) },
		} {
			before := p.acts.Load()
			r.say = payload
			p.peers["token"](r)
			require.Zero(t, p.acts.Load()-before, "%s with a long %s", r.name, name)
		}
		if r.payload == "query" {
			before := p.acts.Load()
			r.say = func(s *cedar.Stream) { s.PutAd(long(128 << 10)) }
			p.peers["token"](r)
			require.EqualValues(t, 1, p.acts.Load()-before, r.name)
		}
	}
}

// row is one command of the table.
type row struct {
	number               int
	name, level, payload string
	want                 map[string]string   // by who gives the command
	say                  func(*cedar.Stream) // puts another payload than an honest one; may be nil
}

// table reads testdata/commands.txt.
func table(t *testing.T) (all []row) {
	t.Helper()
	const before, peers = 4, 13 // columns
	text, err := os.ReadFile("testdata/commands.txt")
	require.NoError(t, err)
	var cells []string
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		cells = append(cells, strings.Fields(strings.ReplaceAll(line, "|", " "))...)
	}
	const columns = before + peers
	require.Zero(t, len(cells)%columns, "each row has %d cells", columns)
	header := cells[before:columns]
	for cells = cells[columns:]; len(cells) > 0; cells = cells[columns:] {
		r := row{name: cells[1], level: cells[2], payload: cells[3], want: map[string]string{}}
		r.number, err = strconv.Atoi(cells[0])
		require.NoError(t, err, cells[:columns])
		for i, peer := range header {
			r.want[peer] = cells[before+i]
		}
		all = append(all, r)
	}
	return all
}

// pool is a server with everything that its peers use.
type pool struct {
	t       *testing.T
	address cedar.Address
	acts    atomic.Int64 // how many commands were carried out
	// peers give a command, wait until the server hangs up, and return what they were told: denied,
	// unknown, or nothing.
	peers map[string]func(row) string
}

// home is where peers come from, and the only address of the server's machine.
const home, elsewhere = "127.0.0.1", "127.0.0.2"

func newPool(t *testing.T, allow func(security.Peer, security.Permission) bool) *pool {
	t.Helper()
	p := &pool{t: t}
	signing := security.NewSigningKey("POOL", []byte("a pool's key"))
	family, err := security.ParseKey("family:x#5ec4e7")
	require.NoError(t, err)
	ours := &drawn{}
	p.address = listen(t, &server.Port{Handlers: p.handlers(), Security: &security.Server{
		Name: "TEST", Timeout: time.Minute, Methods: []security.Method{security.Token}, TrustDomain: "test",
		Keys: map[string]security.SigningKey{"POOL": signing}, Family: &family, Allow: allow, Random: ours,
		Local: func(a netip.Addr) bool { return a == netip.MustParseAddr(home) },
	}})
	with := func(limits ...security.Permission) *security.Client {
		text, err := signing.Sign("POOL", "test", "condor@test", 1000, limits...)
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), "token")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return &security.Client{Methods: []security.Method{security.Token}, Tokens: []string{file}}
	}
	nobody, token, reader := &security.Client{}, with(), with(security.Read)
	nobodys, tokens, readers := p.negotiates(nobody, ours), p.negotiates(token, ours), p.negotiates(reader, ours)
	nobodys.key = nil
	poll.Until(t, "the end of the three commands", func() (int64, bool) { n := p.acts.Load(); return n, n == 3 })
	familys := session{id: family.ID, key: derived([]byte("5ec4e7"))}
	p.peers = map[string]func(row) string{
		"raw":     p.raw,
		"nobody":  p.fresh(nobody),
		"token":   p.fresh(token),
		"reader":  p.fresh(reader),
		"schedd":  p.fresh(with(security.AdvertiseSchedd)),
		"nobody+": p.resumes(nobodys, home),
		"token+":  p.resumes(tokens, home),
		"reader+": p.resumes(readers, home),
		"guess":   p.resumes(tokens.withoutKey(), home),
		"moved":   p.resumes(tokens, elsewhere),
		"family":  p.resumes(familys, home),
		"fguess":  p.resumes(familys.withoutKey(), home),
		"fmoved":  p.resumes(familys, elsewhere),
	}
	return p
}

// handlers returns the handlers of all commands. Those of DC_NOP and the like count as well.
func (p *pool) handlers() map[int]server.Handler {
	all := p.negotiator().Handlers()
	for _, r := range table(p.t) {
		if _, known := all[r.number]; !known {
			all[r.number] = server.Handler{Serve: func(context.Context, *security.Call) error {
				p.acts.Add(1)
				return nil
			}}
		}
	}
	return all
}

func (p *pool) negotiator() *server.Negotiator {
	act := func() { p.acts.Add(1) }
	empty := func() *classad.ClassAd { act(); return classad.New() }
	return &server.Negotiator{
		Reschedule: act, Reconfig: act, Off: func(server.Stop) { act() }, Accountant: counting{act},
		Ad: empty, Drain: func(context.Context, string, string) *classad.ClassAd { return empty() }, Resources: func(string) []byte { act(); return nil },
		Configuration: settings{act},
	}
}

// counting is an accountant that only counts.
type counting struct{ act func() }

func (c counting) did() error { c.act(); return nil }

func (c counting) Report(bool) []byte                { c.act(); return nil }
func (c counting) Accounts() server.List             { c.act(); return &list{} }
func (c counting) SetFactor(string, float64) error   { return c.did() }
func (c counting) SetPriority(string, float64) error { return c.did() }
func (c counting) SetUsage(string, float64) error    { return c.did() }
func (c counting) SetBegin(string, int64) error      { return c.did() }
func (c counting) SetLast(string, int64) error       { return c.did() }
func (c counting) SetCeiling(string, int64) error    { return c.did() }
func (c counting) SetFloor(string, int64) error      { return c.did() }
func (c counting) Lease(time.Time, string, string, float64, int64) error {
	return c.did()
}

func (c counting) CancelLease(time.Time, string, string) error { return c.did() }

func (c counting) ResetUsage(time.Time, string) error { return c.did() }
func (c counting) ResetAll(time.Time) error           { return c.did() }
func (c counting) Delete(string) error                { return c.did() }

// settings is a configuration that only counts.
type settings struct{ act func() }

func (s settings) Setting(string) (server.Setting, bool) { s.act(); return server.Setting{}, true }
func (s settings) Names() []string                       { return nil }

// session is a session as those know it who were there; without the key it is only a name.
type session struct {
	id  string
	key []byte
}

func (s session) withoutKey() session { return session{id: s.id, key: derived([]byte("a guess"))} }

// drawn are the system's random numbers, and remembers them.
type drawn struct {
	mu   sync.Mutex
	seen [][]byte
}

func (d *drawn) Read(b []byte) (int, error) {
	n, err := rand.Read(b)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = append(d.seen, append([]byte{}, b...))
	return n, err
}

// negotiates lets a client give a READ command, and returns the new session. Its key and its name
// follow from the random numbers of both sides.
func (p *pool) negotiates(c *security.Client, ours *drawn) session {
	p.t.Helper()
	ours.mu.Lock()
	ours.seen = nil
	ours.mu.Unlock()
	theirs := &drawn{}
	with := &security.Client{Methods: c.Methods, Tokens: c.Tokens, Random: theirs, Timeout: time.Minute}
	s, err := with.Start(p.t.Context(), p.address, 60020, nil)
	require.NoError(p.t, err)
	defer s.Close()
	ours.mu.Lock()
	defer ours.mu.Unlock()
	one, err := ecdh.P256().NewPrivateKey(ours.seen[0])
	require.NoError(p.t, err)
	other, err := ecdh.P256().NewPrivateKey(theirs.seen[0])
	require.NoError(p.t, err)
	shared, err := one.ECDH(other.PublicKey())
	require.NoError(p.t, err)
	name := ours.seen[len(ours.seen)-1]
	require.Len(p.t, name, 16)
	return session{id: "TEST:" + hex.EncodeToString(name), key: derived(shared)}
}

// derived returns the key of a session with a shared secret.
func derived(secret []byte) []byte {
	key, err := hkdf.Key(sha256.New, secret, []byte("htcondor"), "keygen", cedar.KeySize)
	if err != nil {
		panic(err)
	}
	return key
}

// raw gives a command without a handshake.
func (p *pool) raw(r row) string {
	s := p.dial(home)
	s.PutInt(int64(r.number))
	say(s, r)
	return ""
}

// fresh returns a function that gives a command by a handshake.
func (p *pool) fresh(like *security.Client) func(row) string {
	return func(r row) string {
		c := &security.Client{Methods: like.Methods, Tokens: like.Tokens, Timeout: time.Minute}
		s, err := c.Start(p.t.Context(), p.address, r.number, nil)
		if _, denied := errors.AsType[*security.DeniedError](err); denied {
			return "denied"
		}
		if err != nil {
			return ""
		}
		p.t.Cleanup(s.Close)
		say(s, r)
		return ""
	}
}

// resumes returns a function that gives a command on a session, from an address.
func (p *pool) resumes(on session, from string) func(row) string {
	return func(r row) string {
		s := p.dial(from)
		ad := classad.New()
		ad.SetInt("Command", int64(r.number))
		ad.SetString("UseSession", "YES")
		ad.SetString("Sid", on.id)
		ad.SetBool("ResumeResponse", true)
		s.PutInt(60010)
		s.PutAd(ad)
		require.NoError(p.t, s.Send())
		answer, err := s.Ad()
		require.NoError(p.t, err)
		require.NoError(p.t, s.End())
		switch code, _ := answer.Text("ReturnCode"); code {
		case "DENIED":
			return "denied"
		case "SID_NOT_FOUND":
			return "unknown"
		default:
			require.Equal(p.t, "AUTHORIZED", code)
		}
		if on.key != nil {
			require.NoError(p.t, s.Encrypt(on.key))
		}
		say(s, r)
		return ""
	}
}

func (p *pool) dial(from string) *cedar.Stream {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := d.DialContext(p.t.Context(), "tcp", net.JoinHostPort(p.address.Host, strconv.Itoa(p.address.Port)))
	require.NoError(p.t, err)
	s := cedar.NewStream(conn, time.Minute)
	p.t.Cleanup(s.Close)
	return s
}

// say sends a command's payload, and waits until the server hangs up.
func say(s *cedar.Stream, r row) {
	payload := r.payload
	if r.say != nil {
		r.say(s)
		payload = ""
	}
	switch payload {
	case "name":
		s.PutString("bob@test")
	case "real":
		s.PutString("bob@test")
		s.PutReal(2)
	case "integer":
		s.PutString("bob@test")
		s.PutInt(2)
	case "query":
		s.PutAd(classad.New())
	case "lease":
		ad := classad.New()
		ad.SetString("Submitter", "bob@test")
		ad.SetString("Action", "cancel")
		s.PutAd(ad)
	}
	_ = s.Send() // fails if there is no payload, and if the server has hung up
	for {
		if _, err := s.More(); err != nil || s.End() != nil {
			return
		}
	}
}
