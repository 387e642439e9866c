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

// ErrBrokered says that a daemon that is to be called through a broker could not be reached
// directly.
var ErrBrokered = errors.New("it asks to be called through a broker (CCB), which is not supported: open a way to it, " +
	"or leave it out")

// brokeredPatience limits the time to connect directly to a daemon that asks for a broker, as most
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
}

// Dial connects to a daemon at the first of its addresses that answers. When the context ends, the
// stream is closed; see [Stream.Bind].
func (d *Dialer) Dial(ctx context.Context, a Address) (*Stream, error) {
	connect := d.Connect
	if connect == nil {
		dialer := net.Dialer{Timeout: d.Timeout}
		connect = func(ctx context.Context, place string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", place)
		}
	}
	var failed []error
	if a.Brokered {
		connecting := connect
		patience, cancel := context.WithTimeout(ctx, brokeredPatience)
		defer cancel()
		connect = func(_ context.Context, place string) (net.Conn, error) { return connecting(patience, place) }
	}
	for _, place := range a.reachable() {
		conn, err := connect(ctx, place)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		s := NewStream(conn, d.Timeout)
		s.bulky, s.Random = true, d.Random
		s.Bind(ctx)
		if a.Sock == "" {
			return s, nil
		}
		if err = s.passOn(a.Sock, d.Name); err == nil {
			return s, nil
		}
		s.Close()
		failed = append(failed, err)
	}
	if a.Brokered {
		failed = append(failed, ErrBrokered)
	}
	return nil, fmt.Errorf("connect to %v: %w", a, errors.Join(failed...))
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
