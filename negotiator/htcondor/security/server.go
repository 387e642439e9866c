package security

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// Server accepts commands. Set it up before the first one; from then on it may be
// used by many goroutines.
type Server struct {
	// Name begins the names of sessions, such as NEGOTIATOR.
	Name string
	// Timeout bounds each wait for the other side, and all of a handshake; 0: 20 s.
	Timeout time.Duration
	// Wishes are what we want of a stream with a command that needs a permission; nil:
	// nothing for READ, everything for all others.
	Wishes func(Permission) Wishes
	// Methods are how others can show who they are, the best first. Token goes without
	// saying only if there are Keys.
	Methods []Method
	// Domain is appended to the users of this machine, for FS and ClaimToBe
	// (UID_DOMAIN), and TrustDomain is the issuer of tokens.
	Domain, TrustDomain string
	// Keys are the keys that tokens are signed with, by name.
	Keys map[string]SigningKey
	// Directory is where directories are made for FS; "": /tmp.
	Directory string
	// UserOf is the name of a user of this machine; nil: the operating system says it.
	UserOf func(uid int) (string, error)
	// Family is the session of all daemons that were started by our condor_master;
	// nil: there is none.
	Family *Key
	// Needs are the permissions of which one is enough for a command; none: the command
	// is not known.
	Needs func(command int) []Permission
	// Commands are all commands that are known.
	Commands []int
	// Allow tells whether a peer has a permission. What the peer's own limits exclude is
	// not asked. Nil: everyone may read, the family may do anything.
	Allow func(Peer, Permission) bool
	// Clock tells the time; nil: time.Now. Random is for keys and names; nil: the
	// system's.
	Clock  func() time.Time
	Random io.Reader

	predecessor *Server
	successor   atomic.Pointer[Server]

	mu     sync.Mutex
	serial int
	issued map[string]*issued
}

// Call is a command that somebody may give.
type Call struct {
	*cedar.Stream
	Command int
	Peer    Peer
}

// maxHandshake is how many bytes somebody may send before we know who it is. For
// nobody that is all, with the command.
const maxHandshake = 64 << 10

// Format shows which server it is, and none of its keys.
func (s *Server) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "server %s", s.Name) }

func (s *Server) now() time.Time {
	if s.Clock != nil {
		return s.Clock()
	}
	return time.Now()
}

func (s *Server) timeout() time.Duration {
	if s.Timeout == 0 {
		return DefaultTimeout
	}
	return s.Timeout
}

// errDone says that the conversation is over as it should be.
var errDone = errors.New("nothing is left to be done")

// Succeed has another server, that knows the same commands, accept them from now on: by
// its own methods and keys. Nobody's session goes on, so that whoever had shown something
// that does not count any more has to show something else.
func (s *Server) Succeed(by *Server) {
	by.predecessor = s
	s.successor.Store(by)
}

// first is the server that others have succeeded, who knows the commands.
func (s *Server) first() *Server {
	if s.predecessor != nil {
		return s.predecessor
	}
	return s
}

// Accept finds out who is on a connection and which command comes. What follows on
// the stream is the command's payload. The stream ends with the context. A nil Call
// without an error is a conversation that is over: somebody only wanted to know what
// it may do. With an error or without a Call the connection is closed.
func (s *Server) Accept(ctx context.Context, conn net.Conn) (*Call, error) {
	if by := s.successor.Load(); by != nil {
		return by.Accept(ctx, conn)
	}
	stream := cedar.NewStream(conn, s.timeout())
	stream.Random = s.Random
	// Each wait is bounded, but there may be many of them.
	patience, cancel := context.WithTimeout(ctx, s.timeout())
	defer cancel()
	stream.Bind(patience)
	stream.Limit(maxHandshake)
	call, err := s.accept(stream)
	if err == nil {
		if call.Peer.User != Unauthenticated {
			stream.Limit(-1)
		}
		stream.Bind(ctx)
		if patience.Err() == nil { // else it was closed at the last moment
			return call, nil
		}
		err = patience.Err()
	}
	stream.Close()
	if errors.Is(err, errDone) {
		return nil, nil //nolint:nilnil // as the comment says
	}
	return nil, fmt.Errorf("command from %v: %w", conn.RemoteAddr(), errors.Join(err, patience.Err()))
}

func (s *Server) accept(stream *cedar.Stream) (*Call, error) {
	command, err := stream.IntIn("a command's number", 0, 1<<31-1)
	if err != nil {
		return nil, err
	}
	call := &Call{Stream: stream, Command: command, Peer: Peer{User: Unauthenticated, Address: hostOf(stream.Remote())}}
	if command != authenticate {
		return call, s.raw(call)
	}
	asked, err := readAd(stream)
	if err != nil {
		return nil, err
	}
	number, ok := asked.Int("Command")
	if !ok || number < 0 || number > 1<<31-1 {
		return nil, errors.New("the handshake names no command")
	}
	call.Command = int(number)
	call.Peer.Version, _ = asked.Text("RemoteVersion")
	if use, _ := asked.Text("UseSession"); use == "YES" {
		return call, s.resume(call, asked)
	}
	return call, s.negotiate(call, asked)
}

// raw is a command without any handshake. Its payload is in the same message.
func (s *Server) raw(call *Call) error {
	needs := s.needs(call.Command)
	if len(needs) == 0 {
		return fmt.Errorf("command %d is not known here", call.Command)
	}
	w := s.wishes(needs[0])
	if w.Authentication == Required || w.Encryption == Required || w.Integrity == Required {
		return fmt.Errorf("command %d came without a handshake, which is not allowed", call.Command)
	}
	return s.authorize(call.Peer, call.Command)
}

func (s *Server) needs(command int) []Permission {
	if s.first().Needs == nil {
		return nil
	}
	return s.first().Needs(command)
}

func (s *Server) wishes(p Permission) Wishes {
	w := Wishes{Authentication: Required, Encryption: Required, Integrity: Required}
	switch {
	case s.Wishes != nil:
		w = s.Wishes(p)
	case p == Read:
		w = Wishes{Authentication: Optional, Encryption: Optional, Integrity: Optional}
	}
	for _, l := range []*Level{&w.Authentication, &w.Encryption, &w.Integrity} {
		if *l == "" {
			*l = Preferred
		}
	}
	return w
}

// authorize tells why a peer may not give a command; nil: it may.
func (s *Server) authorize(p Peer, command int) error {
	for _, need := range s.needs(command) {
		if p.within(need) && s.allows(p, need) {
			return nil
		}
	}
	return &DeniedError{Code: "DENIED", User: p.User}
}

func (s *Server) allows(p Peer, need Permission) bool {
	if s.Allow != nil {
		return s.Allow(p, need)
	}
	return p.Family || need == Read
}

// resume goes on with a session. The peer is who it was when the session was made.
func (s *Server) resume(call *Call, asked *classad.ClassAd) error {
	id, _ := asked.Text("Sid")
	known, ok := s.session(id)
	code := "AUTHORIZED"
	var denied error
	if !ok {
		code = "SID_NOT_FOUND"
		denied = errors.New("it wants to go on with a session that is not known here")
	} else {
		address, version := call.Peer.Address, call.Peer.Version
		call.Peer = known.peer
		call.Peer.Address, call.Peer.Version = address, version
		if denied = s.authorize(call.Peer, call.Command); denied != nil {
			code = "DENIED"
		}
	}
	if wanted, _ := asked.Bool("ResumeResponse"); wanted {
		nonce, err := newNonce(s.Random)
		if err != nil {
			return err
		}
		answer := classad.New()
		answer.SetString("Nonce", nonce)
		answer.SetString("ReturnCode", code)
		answer.SetString("RemoteVersion", Version)
		call.PutAd(answer)
		if err = call.Send(); err != nil {
			return err
		}
	}
	if denied != nil {
		return denied
	}
	if known.key == nil {
		return nil
	}
	return call.Encrypt(known.key)
}

func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}
