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

// Client starts commands at daemons. Set it up before the first one; from then on
// it may be used by many goroutines.
type Client struct {
	// Name says in the daemons' logs who we are, such as NEGOTIATOR.
	Name string
	// Timeout bounds each wait for the other side; 0: 20 s.
	Timeout time.Duration
	// Wishes are what we want of streams; a Level that is "" is PREFERRED.
	Wishes Wishes
	// Methods are how we can show who we are, the best first.
	Methods []Method
	// Tokens are files and folders with tokens, for Token.
	Tokens []string
	// Owner is the user whose directories show who we are, for FS, if this process is
	// root; nil: root.
	Owner *Owner
	// User is who we claim to be, for ClaimToBe.
	User string
	// Family is the session of all daemons that were started by our condor_master;
	// nil: there is none. It is used for addresses of which InFamily says so.
	Family   *Key
	InFamily func(cedar.Address) bool
	// Clock tells the time; nil: time.Now.
	Clock func() time.Time
	// Random is for keys and nonces; nil: the system's.
	Random io.Reader
	// Connect makes a TCP connection to "host:port"; nil: package net does.
	Connect func(ctx context.Context, place string) (net.Conn, error)

	negotiated sessions
	successor  atomic.Pointer[Client]
	// For replays of recorded conversations.
	pid           int
	makeDirectory func(name string, owner *Owner) error
}

// DefaultTimeout bounds each wait for the other side where nothing else is said.
const DefaultTimeout = 20 * time.Second

// Format shows who the client is, and none of its keys.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "client %s", c.Name) }

func (c *Client) now() time.Time {
	if c.Clock != nil {
		return c.Clock()
	}
	return time.Now()
}

func (c *Client) timeout() time.Duration {
	if c.Timeout == 0 {
		return DefaultTimeout
	}
	return c.Timeout
}

// errForgotten says that the other side does not know a session.
var errForgotten = errors.New("the session is not known there any more")

// DeniedError says that we may not give a command.
type DeniedError struct {
	Code string // DENIED, CMD_NOT_FOUND
	User string // who the other side takes us for
}

func (e *DeniedError) Error() string {
	if e.Code == "DENIED" {
		return fmt.Sprintf("denied: %s may not give this command there; see the ALLOW_ settings of that daemon", e.User)
	}
	return fmt.Sprintf("refused with %s, as %s", e.Code, e.User)
}

// Start opens a stream on which the payload of a command is to be sent next. It
// ends with the context. With is a session to use, such as a capability; nil: the
// family's, one that was negotiated before, or a new one. A session that turns out
// to be unknown there, or at which the other side hangs up, is replaced by a new one.
func (c *Client) Start(ctx context.Context, a cedar.Address, command int, with *Key) (*cedar.Stream, error) {
	stream, err := c.start(ctx, a, command, with)
	if err == nil && ctx.Err() == nil {
		return stream, nil
	}
	if err == nil {
		stream.Close()
	}
	return nil, fmt.Errorf("command %d to %v: %w", command, a, errors.Join(err, ctx.Err()))
}

// Succeed has another client start all commands from now on, by its own wishes, methods
// and tokens, whoever holds this one. Sessions are made anew.
func (c *Client) Succeed(by *Client) { c.successor.Store(by) }

func (c *Client) start(ctx context.Context, a cedar.Address, command int, with *Key) (*cedar.Stream, error) {
	if by := c.successor.Load(); by != nil {
		return by.start(ctx, a, command, with)
	}
	now := c.now()
	if with == nil && c.Family != nil && c.InFamily != nil && c.InFamily(a) {
		with = c.Family
	}
	if with != nil && (with.Expires().IsZero() || now.Before(with.Expires())) {
		stream, err := c.resume(ctx, a, command, &session{id: with.ID, key: with.session()})
		if !gone(err) {
			return stream, err
		}
	}
	if known := c.negotiated.find(place{a.String(), command}, now); known != nil {
		stream, err := c.resume(ctx, a, command, known)
		if !gone(err) {
			return stream, err
		}
		c.negotiated.forget(known)
	}
	return c.negotiate(ctx, a, command)
}

// gone tells whether a session is of no use any more: the other side does not know
// it, and says so or hangs up, as one that was restarted may.
func gone(err error) bool {
	return errors.Is(err, errForgotten) || errors.Is(err, errAnswer) &&
		(errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE))
}

// errAnswer says that a connection was there, but no answer came.
var errAnswer = errors.New("no answer to the wish to go on with a session")

// dial connects, for as long as the context lasts.
func (c *Client) dial(ctx context.Context, a cedar.Address) (*cedar.Stream, error) {
	d := cedar.Dialer{Name: c.Name, Timeout: c.timeout(), Random: c.Random, Connect: c.Connect}
	return d.Dial(ctx, a)
}
