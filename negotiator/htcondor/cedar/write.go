package cedar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// room is how much of a frame may be filled; an encrypted frame is longer on the wire.
const room = frameSize - headerSize

// put appends to the message and sends full frames.
func (s *Stream) put(b string) { put(s, b) }

func put[T string | []byte](s *Stream, b T) {
	for len(b) > 0 {
		free := room - (len(s.out) - s.body)
		if free == 0 {
			s.flush(false)
			continue
		}
		n := min(free, len(b))
		s.out = append(s.out, b[:n]...)
		b = b[n:]
	}
}

// PutInt writes an integer.
func (s *Stream) PutInt(v int64) {
	var b [intSize]byte
	binary.BigEndian.PutUint64(b[:], uint64(v)) //nolint:gosec // two's complement is what is sent
	put(s, b[:])
}

// PutReal writes a floating-point number as a fraction of 31 bits and an exponent, which loses
// precision.
func (s *Stream) PutReal(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		s.outErr = fmt.Errorf("the number %v cannot be sent", v)
		return
	}
	fraction, exponent := math.Frexp(v)
	s.PutInt(int64(fraction * math.MaxInt32))
	s.PutInt(int64(exponent))
}

// PutString writes a text, which cannot contain a zero byte.
func (s *Stream) PutString(v string) {
	if strings.IndexByte(v, 0) >= 0 {
		s.outErr = errZero
		return
	}
	putText(s, v)
}

var errZero = errors.New("a text with a byte 0 in it cannot be sent")

// intSize is how many bytes an integer takes.
const intSize = 8

func putText[T string | []byte](s *Stream, v T) {
	if len(s.out)-s.body+intSize+len(v) < room { // as most do
		if s.sealer != nil {
			s.out = binary.BigEndian.AppendUint64(s.out, uint64(len(v)+1))
		}
		s.out = append(append(s.out, v...), 0)
		return
	}
	if s.sealer != nil {
		s.PutInt(int64(len(v) + 1))
	}
	put(s, v)
	s.put("\x00")
}

// PutNull writes HTCondor's null text, which is no text, as an empty one is.
func (s *Stream) PutNull() {
	if s.sealer != nil {
		s.PutInt(1)
	}
	s.put("\xad")
}

// PutBytes writes raw bytes; the other side must know how many.
func (s *Stream) PutBytes(b []byte) { put(s, b) }
