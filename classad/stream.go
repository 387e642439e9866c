package classad

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

const (
	// maxAdBytes is the size of the greatest ad, and of the longest line, that a stream may have.
	maxAdBytes = 16 << 20
	bufferSize = 64 << 10
)

// ReadAds goes through the ads that a reader holds, one at a time. The first thing in it decides what they are: a
// bracket begins ads in brackets, with or without commas between them and braces around all; anything else is lines,
// with empty lines between ads. Each ad needs memory only while it is used.
//
// An ad with an error in it gives a nil ad and a [*SyntaxError] with the given name and the place; reading goes on
// behind that ad if the caller does. After any other error, of the reader or about size, the sequence ends.
func ReadAds(r io.Reader, name string) iter.Seq2[*ClassAd, error] {
	return func(yield func(*ClassAd, error) bool) {
		in := &source{r: bufio.NewReaderSize(r, bufferSize), name: name, line: 1}
		first, err := in.skipSpace("{,")
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			yield(nil, fmt.Errorf("reading %s: %w", name, err))
			return
		}
		next := in.nextLines
		if first == '[' {
			next = in.nextBrackets
		}
		for {
			ad, err := next()
			if errors.Is(err, io.EOF) {
				return
			}
			var syntax *SyntaxError
			if !yield(ad, err) || err != nil && !errors.As(err, &syntax) {
				return
			}
		}
	}
}

// source reads ads and counts lines.
type source struct {
	r      *bufio.Reader
	name   string
	line   int
	parser Parser
	text   []byte // of the ad that is being read
}

// skipSpace moves to the next byte that is neither blank nor among the separators and gives it without reading it.
// A comment, # or //, lasts to the end of the line.
func (s *source) skipSpace(separators string) (byte, error) {
	for {
		head, err := s.r.Peek(2)
		if len(head) == 0 {
			return 0, err
		}
		switch c := head[0]; {
		case c == '\n':
			s.line++
		case c == '#' || string(head) == "//":
			if err := s.skipLine(); err != nil {
				return 0, err
			}
			continue
		case c != ' ' && (c < '\t' || c > '\r') && strings.IndexByte(separators, c) < 0:
			return c, nil
		}
		if _, err := s.r.Discard(1); err != nil {
			return 0, err
		}
	}
}

// skipLine moves to the next end of a line.
func (s *source) skipLine() error {
	for {
		c, err := s.r.ReadByte()
		if err != nil {
			return err
		}
		if c == '\n' {
			return s.r.UnreadByte()
		}
	}
}

// readLine gives a line with its end.
func (s *source) readLine() ([]byte, error) {
	var long []byte
	for {
		part, err := s.r.ReadSlice('\n')
		switch {
		case err == nil && long == nil:
			s.line++
			return part, nil
		case len(long)+len(part) > maxAdBytes:
			return nil, s.tooLong(s.line)
		}
		long = append(long, part...)
		if err == nil || errors.Is(err, io.EOF) && len(long) > 0 {
			s.line++
			return long, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

func (s *source) tooLong(line int) error {
	return fmt.Errorf("%s:%d: ad is greater than %d bytes", s.name, line, maxAdBytes)
}

// nextLines reads lines up to one that is empty.
func (s *source) nextLines() (*ClassAd, error) {
	if _, err := s.skipSpace(""); err != nil {
		return nil, s.wrapped(err)
	}
	start := s.line
	s.text = s.text[:0]
	for {
		line, err := s.readLine()
		switch {
		case errors.Is(err, io.EOF) || err == nil && len(bytes.TrimSpace(line)) == 0:
			ad, err := s.parser.parseLines(string(s.text), s.name, start)
			if err == nil {
				ad.line = start
			}
			return ad, err
		case err != nil:
			return nil, s.wrapped(err)
		}
		if s.text = append(s.text, line...); len(s.text) > maxAdBytes {
			return nil, s.tooLong(start)
		}
	}
}

func (s *source) wrapped(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("reading %s:%d: %w", s.name, s.line, err)
}

// nextBrackets reads up to the bracket that closes the ad.
func (s *source) nextBrackets() (*ClassAd, error) {
	if _, err := s.skipSpace(",{}"); err != nil {
		return nil, s.wrapped(err)
	}
	start := s.line
	var text bytes.Buffer
	var state balance
	for {
		c, err := s.r.ReadByte()
		if err != nil && (!errors.Is(err, io.EOF) || text.Len() == 0) {
			return nil, s.wrapped(err)
		}
		if err != nil {
			break
		}
		if c == '\n' {
			s.line++
		}
		text.WriteByte(c)
		if text.Len() > maxAdBytes {
			return nil, s.tooLong(start)
		}
		if state.closes(c) {
			break
		}
	}
	ad, err := s.parser.parseBrackets(text.String(), s.name, start)
	if err != nil {
		return nil, err
	}
	ad.line = start
	return ad, nil
}

// balance follows a text byte by byte as far as it takes to see where the ad in it ends.
type balance struct {
	depth  int
	inside byte // the quote or kind of comment inside which the text is: " ' / *
	last   byte // the byte before, unless it is used up
}

// closes takes the next byte and tells whether the ad ends with it.
func (b *balance) closes(c byte) bool {
	last := b.last
	b.last = c
	switch b.inside {
	case '"', '\'':
		switch {
		case last == '\\':
			b.last = 0
		case c == b.inside:
			b.inside = 0
		}
	case '/':
		if c == '\n' {
			b.inside = 0
		}
	case '*':
		if last == '*' && c == '/' {
			b.inside, b.last = 0, 0
		}
	default:
		return b.opens(last, c)
	}
	return false
}

func (b *balance) opens(last, c byte) bool {
	switch c {
	case '"', '\'':
		b.inside = c
	case '/', '*':
		if last == '/' {
			b.inside, b.last = c, 0
		}
	case '[':
		b.depth++
	case ']':
		b.depth--
		return b.depth <= 0
	}
	return false
}
