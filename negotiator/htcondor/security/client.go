package security

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// Client starts commands at daemons. After its fields are set it is safe for concurrent use.
type Client struct {
	// Name identifies us in the daemons' logs, for example NEGOTIATOR.
	Name string
	// Timeout limits each wait for the other side; 0 means 20 s.
	Timeout time.Duration
	// Wishes are what we want of streams; an empty Level means PREFERRED.
	Wishes Wishes
	// Methods are the ways in which we can authenticate, the best first.
	Methods []Method
	// Tokens are files and folders with tokens, for Token.
	Tokens []string
	// Owner is the user whose directories identify us, for FS, if this process runs as root; nil
	// means root.
	Owner *Owner
	// User is the name that we claim, for ClaimToBe.
	User string
	// Family is the session shared by all daemons that our condor_master started; nil means none.
	// It is used for the addresses for which InFamily returns true.
	Family   *Key
	InFamily func(cedar.Address) bool
	// Clock returns the time; nil means time.Now.
	Clock func() time.Time
	// Random is the source of keys and nonces; nil means the system's.
	Random io.Reader
	// Connect opens a TCP connection to "host:port"; nil means package net.
	Connect func(ctx context.Context, place string) (net.Conn, error)
	// Network is the name of the private network that we are in; "": of none.
	Network string
	// Reverse has a daemon that is behind brokers connect to us, and returns the connection; it asks
	// them through this client. nil means that nobody can connect to us.
	Reverse Reverse

	negotiated sessions
	successor  atomic.Pointer[Client]
	// For replays of recorded conversations.
	pid           int
	makeDirectory func(name string, owner *Owner) error
}

// Reverse returns a connection to us from a daemon that is behind brokers.
type Reverse func(ctx context.Context, through *Client, a cedar.Address) (net.Conn, error)

// DefaultTimeout limits each wait for the other side if no other timeout is set.
const DefaultTimeout = 20 * time.Second

// Format prints the client's name and none of its keys.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "client %s", c.Name) }

func (c *Client) now() time.Time {
	if c.Clock != nil {
		return c.Clock()
	}
	return time.Now()
}

// Silence is how long the client waits for the other side each time, before it hangs up.
func (c *Client) Silence() time.Duration {
	if c.Timeout == 0 {
		return DefaultTimeout
	}
	return c.Timeout
}

// errForgotten says that the other side no longer knows the session.
var errForgotten = errors.New("the session is not known there any more")

// DeniedError says that the other side does not let us give a command.
type DeniedError struct {
	Code string // DENIED, CMD_NOT_FOUND
	User string // whom the other side takes us for
}

func (e *DeniedError) Error() string {
	if e.Code == "DENIED" {
		return fmt.Sprintf("denied: %.80s may not give this command there; see the ALLOW_ settings of that daemon", e.User)
	}
	return fmt.Sprintf("refused with %.80s, as %.80s", e.Code, e.User)
}

// maxAnswer is how many bytes of an answer are read unless the caller sets another limit.
const maxAnswer = 64 << 10

// Start opens a stream for a command; the caller sends the command's payload next. When ctx ends,
// the stream is closed. The key is that of a session to use, such as a capability; if nil, Start
// uses the family's session, one that was negotiated before, or a new one. If the other side does
// not know the session, or hangs up on it, or if the session lacks what Wishes require, Start
// negotiates a new one. If the other side goes without what Wishes require, Start returns an error.
func (c *Client) Start(ctx context.Context, a cedar.Address, command int, with *Key) (*cedar.Stream, error) {
	stream, err := c.start(ctx, a, command, with)
	if err == nil && ctx.Err() == nil {
		stream.Limit(maxAnswer)
		stream.StayPlain() // unless it is encrypted
		return stream, nil
	}
	if err == nil {
		stream.Close()
	}
	return nil, fmt.Errorf("command %d to %v: %w", command, a, errors.Join(err, ctx.Err()))
}

// Succeed passes all further commands of this client on to another client, which starts them with
// its own wishes, methods and tokens and negotiates sessions anew. Whoever holds this client can
// keep using it.
func (c *Client) Succeed(successor *Client) { c.successor.Store(successor) }

// Sessions returns how many negotiated sessions the client keeps.
func (c *Client) Sessions() int {
	if successor := c.successor.Load(); successor != nil {
		return successor.Sessions()
	}
	return c.negotiated.count()
}

// AsksBroker reports whether a daemon is called by way of a broker.
func (c *Client) AsksBroker(a cedar.Address) bool {
	if successor := c.successor.Load(); successor != nil {
		return successor.AsksBroker(a)
	}
	return len(a.From(c.Network).Brokers) > 0
}

func (c *Client) start(ctx context.Context, a cedar.Address, command int, with *Key) (*cedar.Stream, error) {
	if successor := c.successor.Load(); successor != nil {
		return successor.start(ctx, a, command, with)
	}
	now := c.now()
	if with == nil && c.Family != nil && c.InFamily != nil && c.InFamily(a) {
		with = c.Family
	}
	if with != nil && (with.Expires().IsZero() || now.Before(with.Expires())) &&
		c.Wishes.lacking(with.features()) == nil {
		stream, err := c.resume(ctx, a, command, &session{id: with.ID, key: with.session(), authenticated: true})
		if !sessionLost(err) {
			return stream, err
		}
	}
	if known := c.negotiated.find(place{a.String(), command}, now); known != nil &&
		c.Wishes.lacking(known.features()) == nil {
		stream, err := c.resume(ctx, a, command, known)
		if !sessionLost(err) {
			return stream, err
		}
		c.negotiated.forget(a.String(), known)
	}
	return c.negotiate(ctx, a, command)
}

// sessionLost reports whether an error means that a session has become useless: the other side says
// that it does not know the session, or hangs up, as a restarted daemon may.
func sessionLost(err error) bool {
	return errors.Is(err, errForgotten) || errors.Is(err, errAnswer) &&
		(errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
			errors.Is(err, syscall.EPIPE))
}

// errAnswer says that the connection was made but no answer came.
var errAnswer = errors.New("no answer to the wish to go on with a session")

// dial connects; when the context ends, the connection is closed.
func (c *Client) dial(ctx context.Context, a cedar.Address) (*cedar.Stream, error) {
	d := cedar.Dialer{
		Name: c.Name, Timeout: c.Silence(), Random: c.Random, Connect: c.Connect, Network: c.Network,
	}
	if c.Reverse != nil {
		d.Reverse = func(ctx context.Context, a cedar.Address) (net.Conn, error) { return c.Reverse(ctx, c, a) }
	}
	s, err := d.Dial(ctx, a)
	if err == nil {
		s.Limit(maxHandshake)
	}
	return s, err
}
