package security

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// Server accepts commands. After its fields are set it is safe for concurrent use.
type Server struct {
	// Name is the start of the names of sessions, for example NEGOTIATOR.
	Name string
	// Timeout limits each wait for the other side, and the whole handshake; 0 means 20 s.
	Timeout time.Duration
	// Wishes returns what we want of a stream for a command that needs the permission; nil means
	// OPTIONAL features for READ and REQUIRED ones for all others.
	Wishes func(Permission) Wishes
	// Methods are the accepted ways to authenticate, the best first. Token also needs Keys.
	Methods []Method
	// MethodsFor returns those for a command that needs the permission; nil means Methods for all.
	MethodsFor func(Permission) []Method
	// Domain (UID_DOMAIN) is appended to the names of this machine's users, for FS and ClaimToBe.
	// TrustDomain is the issuer of tokens; if it is empty, no token is accepted.
	Domain, TrustDomain string
	// Revoked is true of the claims of tokens that are no longer accepted
	// (SEC_TOKEN_REVOCATION_EXPR); nil means that none is. MaxAge is how old tokens may be
	// (SEC_TOKEN_MAX_AGE); 0 means any age.
	Revoked *classad.Expr
	MaxAge  time.Duration
	// Keys are the keys that sign tokens, by name.
	Keys map[string]SigningKey
	// Directory is the folder in which clients create directories for FS; empty means /tmp.
	Directory string
	// UserOf returns the name of a user of this machine; nil means to ask the operating system.
	UserOf func(uid int) (string, error)
	// Family is the session shared by all daemons that our condor_master started; nil means none.
	Family *Key
	// Needs returns the permissions for a command, of which one suffices; empty means that the
	// command is unknown. The first one is the command's own level, by which a handshake is agreed.
	Needs func(command int) []Permission
	// Payload returns how many bytes a peer that has authenticated may say with a command; nil means
	// 64 KiB for all. Beyond the first 16 KiB, all peers together may say SharedPayload.
	Payload func(command int) int64
	// Proof returns what proves for a command that a peer holds the key of the session that it
	// resumes; nil means ByPayload for all.
	Proof func(command int) Proof
	// Commands are all known commands.
	Commands []int
	// Local reports whether an address is of this machine, where the family is; nil means to ask the
	// operating system.
	Local func(netip.Addr) bool
	// Allow reports whether a peer has a permission. It is not called for permissions that the
	// peer's token excludes. If nil, everyone may read and the family may do anything.
	Allow func(Peer, Permission) bool
	// Clock returns the time; nil means time.Now. Random is the source of keys and names; nil means
	// the system's.
	Clock  func() time.Time
	Random io.Reader

	predecessor *Server
	successor   atomic.Pointer[Server]

	begun  sync.Once
	shared *cedar.Allowance

	mu     sync.Mutex
	issued map[string]*issued
}

// Call is a command that has been authorized, with the stream on which it arrived.
type Call struct {
	*cedar.Stream
	Command int
	Peer    Peer
}

// maxHandshake is the maximum number of bytes that an unauthenticated peer may send. For a peer
// that remains unauthenticated it includes the command's payload.
const maxHandshake = 64 << 10

// What a peer says after it has authenticated: the first ownPayload bytes are its own affair,
// beyond them all peers share an allowance, so that many at once do not fill the memory.
const (
	ownPayload = 16 << 10
	// SharedPayload is the allowance in bytes.
	SharedPayload = 16 << 20
)

// admit sets how much a peer that has authenticated may say with its command.
func (s *Server) admit(stream *cedar.Stream, command int) {
	first := s.first()
	first.begun.Do(func() { first.shared = cedar.NewAllowance(SharedPayload) })
	most := int64(maxHandshake)
	if first.Payload != nil {
		most = first.Payload(command)
	}
	own := min(most, ownPayload)
	stream.Limit(own)
	stream.Share(most-own, first.shared)
}

// Format prints the server's name and none of its keys.
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

// longestVersion is how many bytes are kept of the version that a peer announces.
const longestVersion = 128

// errDone says that the conversation has ended regularly.
var errDone = errors.New("nothing is left to be done")

// Succeed passes all further connections of this server on to another one, which accepts commands
// with its own methods and keys. The commands themselves stay this server's. Existing sessions end,
// so peers must authenticate again by the new rules.
func (s *Server) Succeed(successor *Server) {
	successor.predecessor = s
	s.successor.Store(successor)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.issued = nil
}

// Sessions returns how many sessions the server keeps.
func (s *Server) Sessions() int {
	if successor := s.successor.Load(); successor != nil {
		return successor.Sessions()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.issued)
}

// first returns the server that this one succeeds, or itself: its Commands and Needs count.
func (s *Server) first() *Server {
	if s.predecessor != nil {
		return s.predecessor
	}
	return s
}

// Accept performs the handshake on a connection and returns the command, whose payload follows on
// the stream. When ctx ends, the stream is closed. Accept returns nil without an error if the
// conversation is complete: the peer only asked what it may do. The connection is closed on an
// error and if there is no Call.
func (s *Server) Accept(ctx context.Context, conn net.Conn) (*Call, error) {
	if successor := s.successor.Load(); successor != nil {
		return successor.Accept(ctx, conn)
	}
	stream := cedar.NewStream(conn, s.timeout())
	stream.Random = s.Random
	// Each wait is limited, but there may be many of them.
	patience, cancel := context.WithTimeout(ctx, s.timeout())
	defer cancel()
	stream.Bind(patience)
	stream.Limit(maxHandshake)
	call, err := s.accept(stream)
	if err == nil {
		stream.StayPlain() // unless it is encrypted
		if call.Peer.User != Unauthenticated {
			s.admit(stream, call.Command)
		}
		stream.Bind(ctx)
		if patience.Err() == nil { // otherwise it was closed at the last moment
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
	_, remote := stream.Addresses()
	call := &Call{Stream: stream, Command: command, Peer: Peer{User: Unauthenticated, Address: hostOf(remote)}}
	if command != authenticate {
		return call, s.raw(call)
	}
	asked, err := readAd(stream)
	if err != nil {
		return nil, err
	}
	number, ok := asked.Literal("Command").Int()
	if !ok || number < 0 || number > 1<<31-1 {
		return nil, errors.New("the handshake names no command")
	}
	call.Command = int(number)
	version, _ := asked.Literal("RemoteVersion").Text()
	call.Peer.Version = strings.Clone(version[:min(len(version), longestVersion)]) // sessions keep it
	if use, _ := asked.Literal("UseSession").Text(); use == "YES" {
		return call, s.resume(call, asked)
	}
	return call, s.negotiate(call, asked)
}

// raw accepts a command without a handshake, unless the command requires one. The payload follows
// in the same message.
func (s *Server) raw(call *Call) error {
	if len(s.needs(call.Command)) == 0 {
		return fmt.Errorf("command %d is not known here", call.Command)
	}
	if err := s.authorize(call.Peer, false, call.Command); errors.Is(err, errWeak) {
		return fmt.Errorf("command %d came without a handshake, which is not allowed", call.Command)
	} else if err != nil {
		return err
	}
	return nil
}

func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}
