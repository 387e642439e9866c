package cedar

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"sync/atomic"
	"time"
)

const (
	headerSize = 5
	// frameSize is the maximum size of a frame that is written, as in HTCondor.
	frameSize = 4096
	// bulk is how many bytes of frames are written at once, if the message is so long.
	bulk = 32 << 10
	// maxFrame is the maximum length of a body that is read.
	maxFrame = 1 << 20
)

// Stream is a connection to a daemon. One goroutine may write while another reads; Close and Bind
// are safe at any time. The Put methods keep their errors for Send.
type Stream struct {
	// Random is the source of the IV of an encrypted stream; nil means the system's.
	Random io.Reader

	conn    net.Conn
	timeout time.Duration
	unbind  atomic.Pointer[func() bool] // stops watching a context

	// Writing.
	out    []byte // frames to be written, of which the last is being filled
	body   int    // where that one's body begins, behind room for a header and perhaps an IV
	outErr error
	sent   hash.Hash // of the plain bytes; nil: the stream stays plain
	sealer *seal
	free   int             // bytes that are written before pay is called
	pay    func(int) error // nil: everything is free

	// Reading.
	in       *bufio.Reader
	bulky    bool  // much may come, which is then read with a large buffer
	came     int64 // bytes of frames, until the large buffer is there
	budget   int64 // how many bytes may still be read; negative: no limit
	beyond   int64 // how many more may be taken from shared
	shared   *Allowance
	taken    atomic.Int64 // from shared
	frame    []byte       // the unread rest of the current frame
	last     bool         // the current frame is the last of the message
	inside   bool         // a message has begun and not ended
	room     []byte       // buffer of the current frame
	received hash.Hash
	opener   *seal
}

// What is read at once, in bytes. Who says little takes little memory: there may be many who only
// connect, and many to whom we do. A daemon that is dialled may tell a long queue, which shows when
// it has said as much as the large buffer has room for.
const (
	readAtFirst = 4 << 10
	readOfMuch  = 64 << 10
)

// NewStream returns a stream on a connection that was accepted. timeout limits each wait for the
// other side; 0 means no limit. See [Dialer] for the other end.
func NewStream(conn net.Conn, timeout time.Duration) *Stream {
	s := &Stream{conn: conn, timeout: timeout, sent: sha256.New(), received: sha256.New(), budget: -1}
	s.in = bufio.NewReaderSize(&patient{s}, readAtFirst)
	s.begin()
	return s
}

// patient reads from the connection with a deadline for each read.
type patient struct{ s *Stream }

func (p *patient) Read(b []byte) (int, error) {
	if err := p.s.wait(p.s.conn.SetReadDeadline); err != nil {
		return 0, err
	}
	return p.s.conn.Read(b)
}

// Limit sets how many bytes may be read from here on, counted in frames that have not begun yet; a
// negative number means no limit. It protects against endless input.
func (s *Stream) Limit(bytes int64) { s.budget, s.beyond = bytes, 0 }

// Share has the stream read so many bytes more than its limit, as long as the allowance has them.
// It gives them back when it is closed.
func (s *Stream) Share(bytes int64, allowance *Allowance) { s.beyond, s.shared = bytes, allowance }

// Allowance is how many bytes streams may read together, besides those that each may read alone. It
// bounds what many peers can have us keep at once.
type Allowance struct{ left atomic.Int64 }

// NewAllowance makes an allowance of so many bytes.
func NewAllowance(bytes int64) *Allowance {
	a := &Allowance{}
	a.left.Store(bytes)
	return a
}

func (a *Allowance) take(bytes int64) bool {
	if a.left.Add(-bytes) >= 0 {
		return true
	}
	a.left.Add(bytes)
	return false
}

// spend subtracts the bytes of a frame from the limits that [Stream.Limit] and [Stream.Share] set;
// too many are an error.
func (s *Stream) spend(bytes int64) error {
	switch {
	case s.budget < 0:
		return nil
	case bytes <= s.budget:
		s.budget -= bytes
		return nil
	case bytes > s.beyond:
		return fmt.Errorf("from %v: %w", s.conn.RemoteAddr(), ErrTooMuch)
	case !s.shared.take(bytes):
		return fmt.Errorf("from %v: too many peers say too much at once", s.conn.RemoteAddr())
	}
	s.beyond -= bytes
	s.taken.Add(bytes)
	return nil
}

func (s *Stream) wait(set func(time.Time) error) error {
	if s.timeout == 0 {
		return nil
	}
	return set(time.Now().Add(s.timeout))
}

// Close closes the connection at once, without a farewell message.
func (s *Stream) Close() {
	if stop := s.unbind.Swap(nil); stop != nil {
		(*stop)()
	}
	_ = s.conn.Close()
	if s.shared != nil {
		s.shared.left.Add(s.taken.Swap(0))
	}
}

// Bind closes the connection when the context ends. It replaces any earlier binding.
func (s *Stream) Bind(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() { _ = s.conn.Close() })
	if before := s.unbind.Swap(&stop); before != nil {
		(*before)()
	}
}

// Format prints the address of the other side and none of the stream's content.
func (s *Stream) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "stream to %v", s.conn.RemoteAddr())
}

// Addresses returns this side's address and the other side's.
func (s *Stream) Addresses() (local, remote net.Addr) { return s.conn.LocalAddr(), s.conn.RemoteAddr() }

// StayPlain tells that nothing will be encrypted any more, so that no digests of what is said need
// to be made.
func (s *Stream) StayPlain() {
	if s.sealer == nil {
		s.sent, s.received = nil, nil
	}
}

// Price has pay called with the number of bytes each time before some are written, at most 32 KiB
// and a frame, but for so many that are free. It returns when they may be, or an error, which Send
// returns.
func (s *Stream) Price(free int, pay func(bytes int) error) { s.free, s.pay = free, pay }

// begin makes room for the header of a new frame, which is to be filled.
func (s *Stream) begin() {
	if s.out == nil {
		s.out = make([]byte, 0, frameSize+ivSize+tagSize)
	}
	var room [headerSize + ivSize]byte
	s.out = append(s.out, room[:headerSize+s.sealer.lead()]...)
	s.body = len(s.out)
}

// flush ends the frame that is being filled, writes what is to be written, and begins the next
// frame. It keeps an error for Send.
func (s *Stream) flush(last bool) {
	defer s.begin()
	if s.outErr == nil && len(s.out) == s.body {
		s.outErr = errors.New("an empty frame is illegal")
	}
	if s.outErr != nil {
		s.out = s.out[:0]
		return
	}
	if s.sealer != nil {
		s.out = s.sealer.seal(s.out, s.body, last)
	} else {
		frame := s.out[s.body-headerSize:]
		putHeader(frame, len(frame)-headerSize, last)
		if s.sent != nil {
			s.sent.Write(frame)
		}
	}
	if last || len(s.out) >= bulk {
		s.outErr = s.write(s.out)
		s.out = s.out[:0]
	}
}

func (s *Stream) write(frames []byte) error {
	if s.free -= len(frames); s.pay != nil && s.free < 0 {
		if err := s.pay(len(frames)); err != nil {
			return err
		}
	}
	if err := s.wait(s.conn.SetWriteDeadline); err != nil {
		return err
	}
	if _, err := s.conn.Write(frames); err != nil {
		return fmt.Errorf("write to %v: %w", s.conn.RemoteAddr(), err)
	}
	return nil
}

func putHeader(b []byte, length int, last bool) {
	b[0] = 0
	if last {
		b[0] = 1
	}
	binary.BigEndian.PutUint32(b[1:headerSize], uint32(length)) //nolint:gosec // frames are short
}

// Send ends the message that is being written. It returns the first error of any message; after an
// error nothing is sent any more.
func (s *Stream) Send() error {
	s.flush(true)
	return s.outErr
}

// Unsent returns the first error of any message, as Send does; nothing is sent after it.
func (s *Stream) Unsent() error { return s.outErr }

// next reads the next frame of the message; after the last one it returns [ErrMessageEnds].
func (s *Stream) next() error {
	if s.inside && s.last {
		return fmt.Errorf("from %v: %w", s.conn.RemoteAddr(), ErrMessageEnds)
	}
	var header [headerSize]byte
	if _, err := io.ReadFull(s.in, header[:]); err != nil {
		if s.inside && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return s.readError(err)
	}
	length := binary.BigEndian.Uint32(header[1:])
	if header[0] > 10 || length == 0 || length > maxFrame {
		return fmt.Errorf("from %v: a frame begins with % x, which is no frame of a message",
			s.conn.RemoteAddr(), header)
	}
	if err := s.spend(headerSize + int64(length)); err != nil {
		return err
	}
	if s.came += headerSize + int64(length); s.bulky && s.came > readOfMuch {
		s.in, s.bulky = bufio.NewReaderSize(s.in, readOfMuch), false
	}
	if cap(s.room) < int(length) {
		s.room = make([]byte, max(int(length), frameSize))
	}
	body := s.room[:length]
	if _, err := io.ReadFull(s.in, body); err != nil {
		return s.readError(errUnexpected(err))
	}
	if s.opener != nil {
		var err error
		if body, err = s.opener.open(header[:], body); err != nil {
			return fmt.Errorf("from %v: %w", s.conn.RemoteAddr(), err)
		}
	} else if s.received != nil {
		s.received.Write(header[:])
		s.received.Write(body)
	}
	s.frame, s.last, s.inside = body, header[0] != 0, true
	return nil
}

func errUnexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (s *Stream) readError(err error) error {
	return fmt.Errorf("read from %v: %w", s.conn.RemoteAddr(), err)
}

// ErrTooMuch says that the other side went beyond the limit that [Stream.Limit] and [Stream.Share]
// set.
var ErrTooMuch = errors.New("more is said than is allowed at this point")

// ErrMessageEnds says that a message ended where a value was expected.
var ErrMessageEnds = errors.New("the message ends before its time")

// End skips the unread rest of the current message.
func (s *Stream) End() error {
	if !s.inside {
		return nil
	}
	for !s.last {
		if err := s.next(); err != nil {
			return err
		}
	}
	s.frame, s.inside, s.last = nil, false, false
	return nil
}

// More reports whether the current message has unread content. If none has begun, it waits for the
// next one.
func (s *Stream) More() (bool, error) {
	for len(s.frame) == 0 {
		if s.inside && s.last {
			return false, nil
		}
		if err := s.next(); err != nil {
			return false, err
		}
	}
	return true, nil
}
