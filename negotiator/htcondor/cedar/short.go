package cedar

import (
	"bytes"
	"fmt"
	"math"
)

const (
	// shortLine is up to how many bytes an attribute is short.
	shortLine = 1 << 10
	// maxLong bounds the attribute that [Stream.AppendShort] keeps whole.
	maxLong = 128 << 20
)

// AppendShort is [Stream.AppendLines] for an ad that may be of any length, since strangers write it:
// a long attribute does not hide the others. Once the lines take as many bytes as there is room for,
// it appends only those of short attributes and, once they take twice that, only that of the attribute
// named whole, which does not count. It returns how many bytes it has left out; 0 if the ad is whole.
func (s *Stream) AppendShort(b Lines, room int, whole string) (_ Lines, left int, err error) {
	n, err := s.IntIn("the number of an ad's attributes", 0, math.MaxInt32)
	if err != nil {
		return b, 0, err
	}
	held := 0
	for range n {
		at, missed := len(b), 0
		limit := max(room-held, shortLine)
		if held > 2*room {
			limit = 0
		}
		b, missed, err = s.appendShort(b, limit, whole)
		if err == nil && string(b[at:]) == secretMarker {
			b, missed, err = s.appendShort(b[:at], limit, whole)
		}
		if err != nil {
			return b, left, err
		}
		if left += missed; len(b) == at {
			continue
		}
		blank(b[at:])
		b = append(b, '\n')
		if isNamed(b[at:], whole) {
			whole = "" // there is one
		} else {
			held += len(b) - at
		}
	}
	for range 2 {
		if err == nil {
			_, err = s.appendText(nil, maxText)
		}
	}
	return b, left, err
}

// blank replaces line feeds, which only texts can contain, by blanks.
func blank(line []byte) {
	for i, c := range line {
		if c == '\n' {
			line[i] = ' '
		}
	}
}

// appendShort reads an attribute and appends it to b if it has no more bytes than limit, or this
// name. Else it appends nothing and returns the attribute's length.
func (s *Stream) appendShort(b []byte, limit int, whole string) (_ []byte, missed int, err error) {
	start, size := len(b), 0
	t := text{s: s}
	for {
		part, err := t.next()
		if err != nil || part == nil {
			if size > limit {
				return b[:start], size, err
			}
			return b, 0, err
		}
		if size <= limit {
			b = append(b, part...)
		}
		size += len(part)
		if size > limit && limit < maxLong && isNamed(b[start:], whole) {
			limit = maxLong
		}
	}
}

// isNamed tells whether a line is that of the attribute of this name.
func isNamed(line []byte, name string) bool {
	return name != "" && len(line) > len(name) && bytes.EqualFold(line[:len(name)], []byte(name)) &&
		(line[len(name)] == ' ' || line[len(name)] == '=')
}

// text is a text that is read part by part.
type text struct {
	s     *Stream
	begun bool
	rest  int64 // bytes that are still to be read, on an encrypted stream
	ended bool
}

// next returns the next part of the text, valid until the next call; nil at the text's end.
func (t *text) next() ([]byte, error) {
	switch {
	case t.ended:
		return nil, nil
	case t.s.opener != nil:
		return t.counted()
	}
	s := t.s
	more, err := s.More()
	if err == nil && !more {
		err = fmt.Errorf("from %v: %w", s.conn.RemoteAddr(), ErrMessageEnds)
	}
	if err != nil {
		return nil, err
	}
	part, rest, ended := bytes.Cut(s.frame, []byte{0})
	t.ended, s.frame = ended, rest
	return part, nil
}

// counted is next on an encrypted stream, where a text is preceded by its length, which includes
// the final 0.
func (t *text) counted() (_ []byte, err error) {
	s := t.s
	if !t.begun {
		t.begun = true
		if t.rest, err = s.Int(); err == nil && t.rest < 1 {
			err = fmt.Errorf("from %v: a text of %d bytes: the 0 at its end is missing", s.conn.RemoteAddr(), t.rest)
		}
	}
	if err == nil && len(s.frame) == 0 {
		err = s.next()
	}
	if err != nil {
		return nil, err
	}
	part := s.frame[:min(t.rest, int64(len(s.frame)))]
	s.frame = s.frame[len(part):]
	if t.rest -= int64(len(part)); t.rest > 0 {
		return part, nil
	}
	t.ended = true
	last := len(part) - 1
	if part[last] != 0 {
		return nil, fmt.Errorf("from %v: a text does not end with a 0", s.conn.RemoteAddr())
	}
	return part[:last], nil
}
