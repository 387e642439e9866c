package cedar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// sharedPortConnect asks a shared port to pass the connection on.
const sharedPortConnect = 75

// ErrBrokered says that a daemon cannot be reached that is to be called through a broker.
var ErrBrokered = errors.New("it asks to be called through a broker (CCB), which is not supported: open a way to it, or leave it out")

// brokeredPatience is how long such a daemon may take to be reached directly: most often
// nothing answers there at all.
const brokeredPatience = 3 * time.Second

// Dialer connects to daemons.
type Dialer struct {
	// Name is who we are, for the daemons' logs.
	Name string
	// Timeout bounds the connecting, and from then on each wait for the other side; 0:
	// there is none.
	Timeout time.Duration
	// Random is that of the streams; nil: the system's.
	Random io.Reader
	// Connect makes a TCP connection to "host:port"; nil: package net does.
	Connect func(ctx context.Context, place string) (net.Conn, error)
}

// Dial connects to a daemon at the first of its addresses that answers. The context
// bounds the stream as well, see [Stream.Bind].
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
		s.Random = d.Random
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

// passOn has a shared port hand the connection to the daemon of that name. The
// daemon never sees this message, so it counts for no digest.
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
