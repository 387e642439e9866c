package cedar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// sharedPortConnect is the command that asks a shared port to pass on the connection.
const sharedPortConnect = 75

// ErrBrokered says that a daemon that is to be called through a broker (CCB) could be reached
// neither so nor directly.
var ErrBrokered = errors.New("it is behind a broker (CCB)")

// brokeredPatience limits the time to connect directly to a daemon that is behind a broker, as most
// often nothing answers there.
const brokeredPatience = 3 * time.Second

// Dialer connects to daemons.
type Dialer struct {
	// Name identifies us in the daemons' logs.
	Name string
	// Timeout limits the time to connect, and later each wait for the other side; 0 means no limit.
	Timeout time.Duration
	// Random is the source of randomness of the streams; nil means the system's.
	Random io.Reader
	// Connect opens a TCP connection to "host:port"; nil means package net.
	Connect func(ctx context.Context, place string) (net.Conn, error)
	// Network is the name of the private network that we are in; "": of none. Daemons of the same one
	// are called directly.
	Network string
	// Reverse has a daemon that is behind brokers call us, and returns the connection; nil means that
	// nobody can call us.
	Reverse func(context.Context, Address) (net.Conn, error)
}

// Dial connects to a daemon: if it is behind brokers, through them, else or if that fails at the
// first of its addresses that answers. When the context ends, the stream is closed; see
// [Stream.Bind].
func (d *Dialer) Dial(ctx context.Context, a Address) (*Stream, error) {
	called, failed := a.From(d.Network), []error(nil)
	brokered := len(called.Brokers) > 0
	if brokered {
		s, err := d.callBack(ctx, called)
		if err == nil {
			return s, nil
		}
		failed = append(failed, err)
	}
	s, err := d.direct(ctx, called, brokered)
	if err == nil {
		return s, nil
	}
	return nil, fmt.Errorf("connect to %v: %w", a, errors.Join(append(failed, err)...))
}

// errNoCallback says that a daemon behind a broker has nowhere to call back.
var errNoCallback = errors.New("a daemon behind a broker connects to who calls it, and this process has no port for that: " +
	"ask the negotiator, or open a way to the daemon")

// callBack has a daemon that is behind brokers call us. All that is said through a shared port is
// said to it as if we had called.
func (d *Dialer) callBack(ctx context.Context, a Address) (*Stream, error) {
	err := errNoCallback
	if d.Reverse != nil {
		var conn net.Conn
		if conn, err = d.Reverse(ctx, a); err == nil {
			var s *Stream
			if s, err = d.begin(ctx, conn, a.Sock); err == nil {
				return s, nil
			}
		}
	}
	return nil, fmt.Errorf("%w: %w", ErrBrokered, err)
}

// direct connects to a daemon at the first of its addresses that answers.
func (d *Dialer) direct(ctx context.Context, a Address, hurried bool) (*Stream, error) {
	connect := d.Connect
	if connect == nil {
		dialer := net.Dialer{Timeout: d.Timeout}
		connect = func(ctx context.Context, place string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", place)
		}
	}
	patience := ctx
	if hurried {
		limited, cancel := context.WithTimeout(ctx, brokeredPatience)
		defer cancel()
		patience = limited
	}
	var failed []error
	for _, place := range a.reachable() {
		conn, err := connect(patience, place)
		if err == nil {
			var s *Stream
			if s, err = d.begin(ctx, conn, a.Sock); err == nil {
				return s, nil
			}
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

// begin makes a stream of a connection to a daemon, or to the shared port that it has this name at.
func (d *Dialer) begin(ctx context.Context, conn net.Conn, sock string) (*Stream, error) {
	s := NewStream(conn, d.Timeout)
	s.bulky, s.Random = true, d.Random
	s.Bind(ctx)
	if sock == "" {
		return s, nil
	}
	if err := s.passOn(sock, d.Name); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// passOn asks a shared port to hand the connection to the daemon with this sock name; name is ours.
// The daemon never sees this message, so the digest of what was sent leaves it out.
func (s *Stream) passOn(sock, name string) error {
	s.PutInt(sharedPortConnect)
	s.PutString(sock)
	s.PutString(name)
	s.PutInt(-1) // no deadline
	s.PutInt(0)  // no further arguments
	err := s.Send()
	s.sent.Reset()
	return err
}
