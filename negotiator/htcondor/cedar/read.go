package cedar

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/condor-backfill/condor-backfill/classad"
)

// maxText is the maximum length of a text that is read, maxAd the maximum total text of one ad.
const (
	maxText = 8 << 20
	maxAd   = 16 << 20
)

// take reads as many bytes of the message as fit into b; fewer are an error.
func (s *Stream) take(b []byte) error {
	for len(b) > 0 {
		if len(s.frame) == 0 {
			if err := s.next(); err != nil {
				return err
			}
		}
		n := copy(b, s.frame)
		s.frame, b = s.frame[n:], b[n:]
	}
	return nil
}

// Int reads an integer.
func (s *Stream) Int() (int64, error) {
	if len(s.frame) >= 8 { // the usual case
		v := binary.BigEndian.Uint64(s.frame)
		s.frame = s.frame[8:]
		return int64(v), nil //nolint:gosec // two's complement is what is sent
	}
	var b [8]byte
	err := s.take(b[:])
	return int64(binary.BigEndian.Uint64(b[:])), err //nolint:gosec // as above
}

// IntIn reads an integer and returns an error, which names it by the text what, if it is not from
// low to high.
func (s *Stream) IntIn(what string, low, high int64) (int, error) {
	v, err := s.Int()
	if err == nil && (v < low || v > high) {
		err = fmt.Errorf("from %v: %s is %d: must be from %d to %d", s.conn.RemoteAddr(), what, v, low, high)
	}
	return int(v), err
}

// Real reads a floating-point number. The wire format has 31 bits, good for nine digits: 5 arrives
// as 4.999999998603016 and is rounded to 5 again.
func (s *Stream) Real() (float64, error) {
	fraction, err := s.Int()
	if err != nil {
		return 0, err
	}
	exponent, err := s.IntIn("an exponent", -5000, 5000)
	if err != nil {
		return 0, err
	}
	rough := math.Ldexp(float64(fraction)/math.MaxInt32, exponent)
	return strconv.ParseFloat(strconv.FormatFloat(rough, 'g', 9, 64), 64)
}

// Bytes reads n raw bytes.
func (s *Stream) Bytes(n int) ([]byte, error) {
	if n < 0 || n > maxText {
		return nil, fmt.Errorf("from %v: %d bytes: must be from 0 to %d", s.conn.RemoteAddr(), n, maxText)
	}
	b := make([]byte, n)
	return b, s.take(b)
}

// null is the byte that HTCondor sends instead of a null text. The sender may have put a 0 behind
// it.
const null = 0xad

// Text reads a text. HTCondor's null text is returned as "".
func (s *Stream) Text() (string, error) {
	b, err := s.appendText(nil, maxText)
	return string(b), err
}

// appendText reads a text and appends it to b; more than limit bytes are an error.
func (s *Stream) appendText(b []byte, limit int) ([]byte, error) {
	return s.appendChecked(b, limit, func([]byte) error { return nil })
}

// said returns a function that is appendText for an ad that is said in a conversation. One that has
// more names, constants and signs than may be is refused while it is read, and not after its last
// megabyte.
func (s *Stream) said() readText {
	looked := maxSaid
	check := func(ad []byte) error {
		if len(ad) < 2*looked { // so that all looks together take no more than two of the last
			return nil
		}
		looked = len(ad)
		if n := classad.Tokens(ad); n > maxSaid+1 { // what is cut off may count one more
			return fmt.Errorf("an ad from %v: it has %d names, constants and signs: at most %d are allowed",
				s.conn.RemoteAddr(), n, maxSaid)
		}
		return nil
	}
	return func(b []byte, limit int) ([]byte, error) { return s.appendChecked(b, limit, check) }
}

// appendChecked is appendText that ends with the error of a function which sees b after each part
// of it.
func (s *Stream) appendChecked(b []byte, limit int, check func([]byte) error) ([]byte, error) {
	if s.opener != nil {
		return s.appendCounted(b, limit, check)
	}
	start := len(b)
	for {
		if more, err := s.More(); err != nil {
			return b, err
		} else if !more {
			return b, fmt.Errorf("from %v: %w", s.conn.RemoteAddr(), ErrMessageEnds)
		}
		if len(b) == start && s.frame[0] == null {
			s.frame = s.frame[1:]
			return b, nil
		}
		end := bytes.IndexByte(s.frame, 0)
		part := s.frame
		if end >= 0 {
			part = s.frame[:end]
		}
		if len(b)-start+len(part) > limit {
			return b, s.tooLong(limit)
		}
		b = append(roomFor(b, len(part)), part...)
		if err := check(b); err != nil {
			return b, err
		}
		if end >= 0 {
			s.frame = s.frame[end+1:]
			return b, nil
		}
		s.frame = nil
	}
}

// roomFor returns b with room for so many bytes. Its room doubles, so that of a long text no more
// is thrown away than it has: append alone throws away four times as much.
func roomFor(b []byte, more int) []byte {
	if len(b)+more <= cap(b) {
		return b
	}
	return slices.Grow(b, max(more, len(b)))
}

// appendCounted is appendChecked on an encrypted stream, where a text is preceded by its length,
// which includes the final 0.
func (s *Stream) appendCounted(b []byte, limit int, check func([]byte) error) ([]byte, error) {
	n, err := s.Int()
	switch {
	case err != nil:
		return b, err
	case n < 1:
		return b, fmt.Errorf("from %v: a text of %d bytes: the 0 at its end is missing", s.conn.RemoteAddr(), n)
	case n-1 > int64(limit):
		return b, s.tooLong(limit)
	}
	size := int(n)
	for size > 0 { // memory grows with what arrives, not with the announced size
		if len(s.frame) == 0 {
			if err = s.next(); err != nil {
				return b, err
			}
		}
		part := s.frame[:min(size, len(s.frame))]
		b = append(roomFor(b, len(part)), part...)
		if err = check(b); err != nil {
			return b, err
		}
		s.frame = s.frame[len(part):]
		size -= len(part)
	}
	if n == 1 && b[len(b)-1] == null {
		return b[:len(b)-1], nil
	}
	if b[len(b)-1] != 0 {
		return b, fmt.Errorf("from %v: a text does not end with a 0", s.conn.RemoteAddr())
	}
	b = b[:len(b)-1]
	if n == 2 && b[len(b)-1] == null {
		b = b[:len(b)-1]
	}
	return b, nil
}

func (s *Stream) tooLong(limit int) error {
	return fmt.Errorf("from %v: a text of more than %d bytes", s.conn.RemoteAddr(), limit)
}
