package security

import (
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// FuzzHandshakes says messages of the handshake in any order, on several connections. A command may
// be carried out only if its level needs nothing, or if the adversary may give it.
func FuzzHandshakes(f *testing.F) {
	for _, program := range programs {
		f.Add([]byte(program.text))
	}
	f.Fuzz(func(t *testing.T, program []byte) { attack(t, program) })
}

// The programs reach what they are made for, so that the fuzzer does not start outside.
func TestAdversary(t *testing.T) {
	for _, program := range programs {
		require.Equal(t, program.acts, attack(t, []byte(program.text)), program.name)
	}
}

// The instructions of a program. Arguments follow in the same text, each a byte.
const (
	opEnd     = "|" // the connection's end; the next one begins with h (home) or e (elsewhere)
	opOffer   = "o" // command, levels, methods, key: begins a handshake
	opAsk     = "q" // the same, only to ask whether the command is allowed
	opResume  = "r" // command, session, answer: resumes a session
	opRaw     = "c" // command: without a handshake
	opBits    = "b" // bits: which methods are offered
	opToken   = "t" // begins the exchange of a token, without having one
	opProof   = "p" // ends it
	opKey     = "k" // key: encrypts from here on
	opPayload = "g" // the payload of a command
	opFlood   = "f" // a frame of 50,000 bytes that does not end its message
	opCut     = "x" // a frame that breaks off
	opBytes   = "w" // count, bytes: as they are
)

// programs are seeds: what they do, and which commands are carried out.
var programs = []struct {
	name, text string
	acts       []int
}{
	{"raw reading", "h" + opRaw + "\x00" + opPayload, []int{reading}},
	{"raw ruling", "h" + opRaw + "\x02", nil},
	{"nobody reads", "h" + opOffer + "\x00\x00\x00\x00" + opPayload, []int{reading}},
	{"nobody rules", "h" + opOffer + "\x02\x00\x00\x00" + opPayload, nil},
	{
		"nobody reads, then rules on that session", "h" + opOffer + "\x00\x00\x00\x00" + opPayload + opEnd +
			"h" + opResume + "\x02\x04\x01" + opEnd + "h" + opResume + "\x00\x04\x01" + opPayload,
		[]int{reading, reading},
	},
	{"the holder rules", "e" + opResume + "\x02\x00\x01" + opKey + "\x00" + opPayload, []int{ruling}},
	{"the holder rules elsewhere", "h" + opResume + "\x02\x00\x01" + opKey + "\x00" + opPayload, nil},
	{"the holder stops", "e" + opResume + "\x03\x00\x01" + opKey + "\x00", nil},
	{"the holder rules without an answer", "e" + opResume + "\x02\x00\x00" + opKey + "\x00" + opPayload, nil},
	{"the reader rules", "h" + opResume + "\x02\x01\x01" + opKey + "\x01" + opPayload, nil},
	{"the reader reads", "h" + opResume + "\x00\x01\x01" + opKey + "\x01" + opPayload, []int{reading}},
	{"a guess rules", "h" + opResume + "\x02\x02\x01" + opKey + "\x02" + opPayload, nil},
	{"a guess stops", "h" + opResume + "\x03\x02\x01", nil},
	{"a guess hints", "h" + opResume + "\x04\x02\x01", []int{hinting}},
	{"a guess hints elsewhere", "e" + opResume + "\x04\x02\x01", nil},
	{"the family's name rules", "h" + opResume + "\x02\x03\x01" + opPayload, nil},
	{"the family's name stops", "h" + opResume + "\x03\x03\x01", nil},
	{"a forged token", "h" + opOffer + "\x02\x00\x01\x01" + opBits + "\x08" + opToken + opProof + opPayload, nil},
	{"no token, and no method left", "h" + opOffer + "\x00\x55\x01\x01" + opBits + "\x00" + opPayload, nil},
	{"only asked", "h" + opAsk + "\x00\x00\x00\x00", nil},
	{"floods", "h" + opFlood + opFlood + opFlood, nil},
	{"floods after a handshake", "h" + opOffer + "\x00\x00\x00\x00" + opFlood + opFlood + opFlood, nil},
	{"breaks off", "h" + opOffer + "\x00\x55\x01\x01" + opCut, nil},
	{"bytes", "h" + opBytes + "\x05\x01\x00\x00\x00\x00", nil},
}

// More commands: stopping and hinting have no payload.
const (
	stopping = 60006
	hinting  = 421
)

var fuzzed = map[int][]Permission{
	reading: {Read}, deciding: {Negotiator}, ruling: {Administrator}, stopping: {Administrator},
	hinting: {Daemon, AdvertiseSchedd, Administrator},
}

func proofOf(command int) Proof {
	return map[int]Proof{stopping: ByHandshake, hinting: Unproven}[command]
}

var (
	atHome      = netip.MustParseAddr("192.0.2.1") // the server's machine
	atElsewhere = netip.MustParseAddr("192.0.2.2")
)

// adversary is the other side of a connection. It says the next message of its program when the
// server waits for one, so all runs in one goroutine.
type adversary struct {
	program []byte
	from    netip.Addr
	// unread is what the server has not read yet, and unheard what the server has said since.
	unread, unheard bytes.Buffer
	heard           int // bytes that the server has read
	over            bool
	*cedar.Stream

	sessions map[byte]string // by number
	keys     map[byte][]byte
	resumed  string
	key      []byte
}

// attack runs a program against a server, and returns the commands that were carried out.
func attack(t *testing.T, program []byte) (acts []int) {
	t.Helper()
	family := Key{ID: "family:x", secret: "not known"}
	s := &Server{
		Name: "TEST", Methods: []Method{Token}, TrustDomain: "test", Family: &family, Timeout: time.Minute,
		Keys:  map[string]SigningKey{"POOL": NewSigningKey("POOL", []byte("k"))},
		Needs: func(command int) []Permission { return fuzzed[command] }, Proof: proofOf,
		Commands: []int{reading, deciding, ruling, stopping, hinting},
		Allow:    everyone, Local: func(a netip.Addr) bool { return a == atHome },
		Random: rand.NewChaCha8([32]byte{}), Clock: func() time.Time { return time.Unix(1000, 0) },
	}
	holder, reader, victim := Key{ID: "holder", secret: "h"}, Key{ID: "reader", secret: "r"}, Key{ID: "victim", secret: "v"}
	s.Admit(holder, Peer{User: "boss@test", Address: atElsewhere.String()})
	s.Admit(reader, Peer{User: "reader@test", Address: atHome.String(), Limits: []Permission{Read}})
	s.Admit(victim, Peer{User: "boss@test", Address: atHome.String()})
	sessions := map[byte]string{0: holder.ID, 1: reader.ID, 2: victim.ID, 3: family.ID}
	keys := map[byte][]byte{0: holder.session(), 1: reader.session(), 2: derive([]byte("a guess"))}
	for part := range bytes.SplitSeq(program, []byte(opEnd)) {
		a := &adversary{program: part, from: atHome, sessions: sessions, keys: keys}
		if a.next() == 'e' {
			a.from = atElsewhere
		}
		a.Stream = cedar.NewStream(ear{a}, 0)
		if command := a.meet(t, s); command != 0 {
			acts = append(acts, command)
			require.True(t, a.may(command), "%d on %q from %v", command, a.resumed, a.from)
		}
	}
	return acts
}

// meet lets the server accept the connection and serve its command, and returns the command if it
// was carried out.
func (a *adversary) meet(t *testing.T, s *Server) int {
	t.Helper()
	call, err := s.Accept(t.Context(), mouth{a})
	// The server's buffer may hold as much again.
	defer func() { require.LessOrEqual(t, a.heard, 2*maxHandshake) }()
	if err != nil || call == nil {
		return 0
	}
	defer call.Close()
	if proofOf(call.Command) == ByPayload {
		if word, err := call.Text(); err != nil || word != "go" {
			return 0
		}
	}
	return call.Command
}

// may reports whether the adversary may give a command on its connection.
func (a *adversary) may(command int) bool {
	holds := a.resumed == "holder" && a.from == atElsewhere
	switch command {
	case reading:
		return true
	case hinting: // a known name is enough for it, at the right address
		return holds || a.from == atHome && (a.resumed == "victim" || a.resumed == "family:x")
	case stopping:
		return false
	default:
		return holds && bytes.Equal(a.key, a.keys[0])
	}
}

// next returns the next byte of the program; at its end 0.
func (a *adversary) next() byte {
	if len(a.program) == 0 {
		return 0
	}
	b := a.program[0]
	a.program = a.program[1:]
	return b
}

func (a *adversary) command() int {
	all := []int{reading, deciding, ruling, stopping, hinting, 9999, secQuery, authenticate}
	return all[int(a.next())%len(all)]
}

// speak says the next message of the program.
func (a *adversary) speak() {
	a.listen()
	switch string(a.next()) {
	case opOffer:
		a.offer(a.command(), 0)
	case opAsk:
		a.offer(secQuery, a.command())
	case opResume:
		a.resume()
	case opRaw:
		a.PutInt(int64(a.command()))
		a.PutString("go")
		_ = a.Send()
	case opBits:
		a.PutInt(int64(a.next()) << 8)
		_ = a.Send()
	case opToken:
		a.token()
	case opProof:
		a.proof()
	case opKey:
		a.encrypt()
	case opPayload:
		a.PutString("go")
		_ = a.Send()
	case opFlood:
		a.unread.Write(append([]byte{0, 0, 0, 50_000 >> 8, 50_000 & 0xff}, make([]byte, 50_000)...))
	case opCut:
		a.unread.Write([]byte{1, 0, 0, 1, 0, 7})
		a.over = true
	case opBytes:
		for range a.next() {
			a.unread.WriteByte(a.next())
		}
	default:
		a.over = true
	}
}

// listen hears what the server has said, and notes the names of sessions.
func (a *adversary) listen() {
	for {
		if _, err := a.More(); err != nil {
			return
		}
		if ad, err := a.Ad(); err == nil {
			if id, given := ad.Text("Sid"); given {
				a.sessions[byte(len(a.sessions))] = id
			}
		}
		if a.End() != nil {
			return
		}
	}
}

func (a *adversary) offer(command, asked int) {
	levels := []Level{Optional, Required, Preferred, Never}
	two := a.next()
	level := func(shift byte) string { return string(levels[two>>shift&3]) }
	ad := classad.New()
	ad.SetInt("Command", int64(command))
	ad.SetInt("AuthCommand", int64(asked))
	ad.SetString("Authentication", level(6))
	ad.SetString("Encryption", level(4))
	ad.SetString("Integrity", level(2))
	ad.SetString("AuthMethods", []string{"", "TOKEN", "FS,TOKEN,CLAIMTOBE"}[a.next()%3])
	ad.SetString("CryptoMethods", "AES")
	if a.next()%2 == 1 {
		ad.SetString("ECDHPublicKey", base64.StdEncoding.EncodeToString(ownPoint))
	}
	a.PutInt(authenticate)
	a.PutAd(ad)
	_ = a.Send()
}

// ownPoint is the adversary's public key.
var ownPoint = func() []byte {
	key, err := newECDH(rand.NewChaCha8([32]byte{1}))
	if err != nil {
		panic(err)
	}
	return key.PublicKey().Bytes()
}()

func (a *adversary) resume() {
	ad := classad.New()
	ad.SetInt("Command", int64(a.command()))
	ad.SetString("UseSession", "YES")
	a.resumed = a.sessions[a.next()]
	ad.SetString("Sid", a.resumed)
	ad.SetBool("ResumeResponse", a.next()%2 == 1)
	a.PutInt(authenticate)
	a.PutAd(ad)
	_ = a.Send()
}

func (a *adversary) token() {
	a.PutInt(0)
	a.PutInt(9)
	a.PutString("boss@test")
	a.PutString("eyJhbGciOiJIUzI1NiIsImtpZCI6IlBPT0wifQ.eyJpYXQiOjEsImlzcyI6InRlc3QiLCJzdWIiOiJib3NzQHRlc3QifQ")
	a.PutInt(nonceSize)
	a.PutBytes(make([]byte, nonceSize))
	_ = a.Send()
}

func (a *adversary) proof() {
	a.PutInt(0)
	a.PutInt(9)
	a.PutString("boss@test")
	a.PutInt(nonceSize)
	a.PutBytes(make([]byte, nonceSize))
	a.PutInt(macSize)
	a.PutBytes(make([]byte, macSize))
	_ = a.Send()
}

func (a *adversary) encrypt() {
	key := a.keys[a.next()%byte(len(a.keys))]
	if a.key == nil && a.Encrypt(key) == nil {
		a.key = key
	}
}

// mouth is the connection as the server has it: what it reads is what the adversary says.
type mouth struct{ *adversary }

func (m mouth) Read(b []byte) (int, error) {
	for m.unread.Len() == 0 && !m.over {
		m.speak()
	}
	n, err := m.unread.Read(b)
	m.heard += n
	return n, err
}

func (m mouth) Write(b []byte) (int, error) { return m.unheard.Write(b) }
func (m mouth) Close() error                { return nil }
func (m mouth) RemoteAddr() net.Addr        { return net.TCPAddrFromAddrPort(netip.AddrPortFrom(m.from, 1)) }

// ear is the connection as the adversary has it.
type ear struct{ *adversary }

func (e ear) Read(b []byte) (int, error)  { return e.unheard.Read(b) }
func (e ear) Write(b []byte) (int, error) { return e.unread.Write(b) }
func (e ear) Close() error                { return nil }
func (e ear) RemoteAddr() net.Addr        { return net.TCPAddrFromAddrPort(netip.AddrPortFrom(atHome, 2)) }

func (a *adversary) LocalAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(atHome, 2))
}
func (a *adversary) SetDeadline(time.Time) error      { return nil }
func (a *adversary) SetReadDeadline(time.Time) error  { return nil }
func (a *adversary) SetWriteDeadline(time.Time) error { return nil }
