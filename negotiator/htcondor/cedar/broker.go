package cedar

import (
	"fmt"
	"net"
	"strings"
	"time"
)

// Contact is where a daemon can be asked for: a broker (CCB), and the daemon's number there.
type Contact struct {
	Broker Address
	ID     string
}

// ParseContact reads one of [Address.Brokers], "host:port?parameters#7". Behind several brokers in a
// row the number is a list, "7#1#12": the first of them passes the wish on to the others (HTCondor
// since 25.12).
func ParseContact(text string) (c Contact, err error) {
	at, id, found := strings.Cut(text, "#")
	if !found || strings.Trim(id, "0123456789#") != "" || strings.Trim(id, "#") == "" {
		return c, fmt.Errorf("broker %.200q: must be host:port#number", text)
	}
	c.ID = id
	if c.Broker, err = ParseAddress("<" + at + ">"); err != nil {
		return c, fmt.Errorf("broker: %w", err)
	}
	return c, nil
}

// From returns the address at which the daemon is called from a private network ("" is none): in its
// own one there is no need for brokers.
func (a Address) From(network string) Address {
	if network == "" || network != a.Network {
		return a
	}
	if a.Inside != "" {
		bare := strings.TrimSuffix(strings.TrimPrefix(a.Inside, "<"), ">")
		if inside, err := ParseAddress(bare); err == nil {
			inside.Alias = a.Alias
			a = inside
		}
	}
	a.Brokers = nil
	return a
}

// Release takes the connection out of a stream that nobody else uses: one on which no message is
// half read or written, and nothing more has come. After that closing the stream does not close the
// connection.
func (s *Stream) Release() (net.Conn, error) {
	if s.sealer != nil || s.inside || len(s.out) != s.body || s.in.Buffered() > 0 {
		return nil, fmt.Errorf("from %v: more is said than is to be", s.conn.RemoteAddr())
	}
	if stop := s.unbind.Swap(nil); stop != nil && !(*stop)() {
		return nil, fmt.Errorf("from %v: %w", s.conn.RemoteAddr(), net.ErrClosed)
	}
	conn := s.conn
	s.conn = released{conn}
	return conn, conn.SetDeadline(time.Time{})
}

// released is a connection that somebody else has now.
type released struct{ net.Conn }

func (released) Close() error { return nil }
