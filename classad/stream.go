package classad

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/condor-backfill/condor-backfill/classad/parser"
)

const (
	// maxAdBytes is the maximum size of an ad, and of a line, in a stream.
	maxAdBytes = 16 << 20
	bufferSize = 64 << 10
)

// ReadAds iterates over the ads of a reader. The first characters decide the format:
//
//	[ name, [ ], { [   ads in brackets, with or without commas between them and braces around all
//	{ " or { }         JSON objects, one after the other, with or without commas
//	[ {                an array of JSON objects
//	<                  XML, see [ParseXML]
//	anything else      lines, with empty lines between ads
//
// A byte order mark before them is skipped.
// Comments before, between and after ads are skipped: /* */, and from // or # to the end of a line. A
// text of nothing but a pair of brackets or braces is an empty list, which has no ads.
//
// XML that ends within an ad is cut off, which is an error. Only one ad is in memory at a time; an ad
// of more than 16 MiB ends the sequence with an error.
//
// A malformed ad yields a nil ad and a [*SyntaxError] with the given name and the position; the
// sequence continues after that ad. After any other error, of the reader or about size, it ends.
func ReadAds(r io.Reader, name string) iter.Seq2[*ClassAd, error] {
	return func(yield func(*ClassAd, error) bool) {
		in := &source{r: bufio.NewReaderSize(r, bufferSize), name: name, line: 1}
		in.skipMark()
		next, err := in.recognize()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			yield(nil, in.wrapped(err))
			return
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
	column int // characters of the line read so far; not kept when ads are lines
	parser Parser
	text   []byte // of the ad that is being read
}

// skipMark skips the byte order mark that some editors put before a text.
func (s *source) skipMark() {
	const mark = "\ufeff"
	if begin, _ := s.r.Peek(len(mark)); string(begin) == mark {
		_, _ = s.r.Discard(len(mark)) // it was peeked at
	}
}

// count updates line and column for a byte that was read.
func (s *source) count(c byte) {
	switch {
	case c == '\n':
		s.line++
		s.column = 0
	case c&0xC0 != 0x80: // not a continuation byte
		s.column++
	}
}

// recognize looks at the start of the input and returns the function that reads its ads. Errors are
// those of the reader.
func (s *source) recognize() (next func() (*ClassAd, error), err error) {
	using := func(f form) func() (*ClassAd, error) {
		return func() (*ClassAd, error) { return s.nextOf(f) }
	}
	first, err := s.skipSpace(",")
	if err != nil {
		return nil, err
	}
	at, second := s.solid(1)
	if first == '[' && second == ']' || first == '{' && second == '}' {
		if end, _ := s.solid(at + 1); s.isLast(end) {
			return func() (*ClassAd, error) { return nil, io.EOF }, nil
		}
	}
	switch {
	case first == '<':
		return using(xmlForm), nil
	case first == '[' && second == '{', first == '{' && (second == '"' || second == '}'):
		return using(jsonForm), nil
	}
	if first, err = s.skipSpace(",{"); err != nil {
		return nil, err
	}
	if first == '[' {
		return using(bracketForm), nil
	}
	return s.nextLines, nil
}

// solid returns the first byte from index i on that is neither blank nor in a comment, and its index; 0
// if none is near. It consumes nothing.
func (s *source) solid(i int) (at int, c byte) {
	for g := (gap{}); ; i++ {
		head, _ := s.r.Peek(i + 2) // a broken reader shows when it is read
		if len(head) <= i {
			return i, 0
		}
		if !g.takes(head[i:]) {
			return i, head[i]
		}
	}
}

// isLast reports whether the input ends with its first n bytes.
func (s *source) isLast(n int) bool {
	head, err := s.r.Peek(n + 1)
	return len(head) <= n && errors.Is(err, io.EOF)
}

// skipSpace moves to the next byte that is neither blank nor a separator nor in a comment, and returns
// it without consuming it.
func (s *source) skipSpace(separators string) (byte, error) {
	g := gap{separators: separators}
	var line, column int // where a comment begins
	for {
		head, err := s.r.Peek(2)
		switch {
		case len(head) == 0 && errors.Is(err, io.EOF) && g.open():
			return 0, &SyntaxError{
				File: s.name, Line: line, Column: column + 1, Message: "comment without end", Excerpt: "/*",
			}
		case len(head) == 0:
			return 0, err
		}
		if !g.open() {
			line, column = s.line, s.column
		}
		if !g.takes(head) {
			return head[0], nil
		}
		s.count(head[0])
		if _, err := s.r.Discard(1); err != nil {
			return 0, err
		}
	}
}

// readLine returns a line including its end. It is valid until the next call.
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

// nextLines reads lines up to an empty one or, in a history file, one that begins with ***. It
// skips lines that begin with --, which condor_q writes above the jobs of a schedd.
func (s *source) nextLines() (*ClassAd, error) {
	for {
		if _, err := s.skipSpace(""); err != nil {
			return nil, s.wrapped(err)
		}
		head, _ := s.r.Peek(len(endOfAd)) // a broken reader shows when it is read
		if string(head) != endOfAd && !bytes.HasPrefix(head, []byte(aboveAds)) {
			break
		}
		if _, err := s.readLine(); err != nil {
			return nil, s.wrapped(err)
		}
	}
	start := s.line
	s.text = s.text[:0]
	for {
		line, err := s.readLine()
		switch {
		case errors.Is(err, io.EOF) || err == nil &&
			(len(bytes.TrimSpace(line)) == 0 || bytes.HasPrefix(line, []byte(endOfAd))):
			ad, broken := s.parser.parseLines(string(s.text), s.name, start)
			if broken == nil {
				ad.line = start
			}
			return ad, broken
		case err != nil:
			return nil, s.wrapped(err)
		}
		if s.text = append(s.text, line...); len(s.text) > maxAdBytes {
			return nil, s.tooLong(start)
		}
	}
}

const (
	endOfAd  = "***" // of a history file: *** Offset = 0 ClusterId = 1 ...
	aboveAds = "-- " // of condor_q: -- Schedd: submit.example.org : <192.0.2.1:9618?...
)

func (s *source) wrapped(err error) error {
	var syntax *SyntaxError
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.As(err, &syntax):
		return err
	}
	return fmt.Errorf("reading %s:%d: %w", s.name, s.line, err)
}

// form is a format in which the end of an ad is found before the ad is parsed.
type form struct {
	between string // what separates ads besides blanks and comments
	extent  func() extent
	parse   func(p *Parser, text, file string, first int) (*ClassAd, error)
	end     string // that parse does not insist on, as in HTCondor; a stream without it is cut off
}

// The forms. The brackets around all ads count as separators.
var (
	bracketForm = form{between: ",{}", extent: newBracketExtent, parse: (*Parser).parseBrackets}
	jsonForm    = form{between: ",[]", extent: newJSONExtent, parse: (*Parser).parseJSON}
	xmlForm     = form{extent: newXMLExtent, parse: (*Parser).parseXML, end: "</c>"}
)

// nextOf reads one ad of this form.
func (s *source) nextOf(f form) (*ClassAd, error) {
	var text bytes.Buffer
	var start, column int
	end := goesOn
	for state := f.extent(); end != complete; {
		if text.Len() == 0 {
			if _, err := s.skipSpace(f.between); err != nil {
				return nil, s.wrapped(err)
			}
			start, column = s.line, s.column
		}
		c, err := s.r.ReadByte()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, s.wrapped(err)
		}
		s.count(c)
		if text.Len() == maxAdBytes {
			return nil, s.tooLong(start)
		}
		text.WriteByte(c)
		if end = state.take(c); end == notYetBegun {
			text.Reset()
		}
	}
	ad, err := f.parse(&s.parser, text.String(), s.name, start)
	if err == nil && end != complete && f.end != "" {
		cut := &parser.Error{Offset: text.Len(), Message: `unexpected end, expected "` + f.end + `"`}
		err = syntaxError(cut, s.name, text.String(), start, "")
	}
	if err != nil {
		var syntax *SyntaxError
		if errors.As(err, &syntax) && syntax.Line == start {
			syntax.Column += column
		}
		return nil, err
	}
	ad.line = start
	return ad, nil
}
