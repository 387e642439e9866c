package cedar

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// maxAttributes is the maximum number of attributes of an ad that is read.
const maxAttributes = 100_000

// secretMarker precedes an attribute that is sent as a secret.
const secretMarker = "ZKM"

// PutAd writes an ad with all of its attributes.
func (s *Stream) PutAd(ad *classad.ClassAd) {
	s.putAttributes(ad)
	s.PutString("") // formerly MyType and TargetType
	s.PutString("")
}

// PutBareAd writes an ad without the two empty texts that [Stream.PutAd] adds; a few commands do
// not expect them.
func (s *Stream) PutBareAd(ad *classad.ClassAd) { s.putAttributes(ad) }

func (s *Stream) putAttributes(ad *classad.ClassAd) {
	s.PutInt(int64(ad.Len()))
	var line []byte
	for name, e := range ad.All() {
		line = append(append(line[:0], name...), " = "...)
		s.PutString(string(e.AppendFormat(line, ast.Line)))
	}
}

// PutLines writes an ad that is given as lines; empty lines are skipped.
func (s *Stream) PutLines(l Lines) {
	s.PutBareLines(l)
	s.PutString("")
	s.PutString("")
}

// PutBareLines writes an ad that is given as lines as [Stream.PutBareAd] does. It copies nothing
// but the frame that is being sent, and after an error it sends nothing.
func (s *Stream) PutBareLines(l Lines) { s.PutCounted(l, l.Count()) }

// Count is what must be known of lines before they can be sent. To find it takes as long as they
// are, so whoever sends the same to many counts once.
type Count struct {
	n     int  // lines that are not empty
	dense bool // none is empty, and the last one is ended
	wrong bool // there is a zero byte
}

// Count counts the lines.
func (l Lines) Count() Count {
	c := Count{wrong: bytes.IndexByte(l, 0) >= 0}
	if len(l) == 0 || bytes.HasSuffix(l, lineFeed) && l[0] != '\n' && !bytes.Contains(l, []byte("\n\n")) {
		c.n, c.dense = bytes.Count(l, lineFeed), true
		return c
	}
	for line := range bytes.SplitSeq(l, lineFeed) {
		if len(line) > 0 {
			c.n++
		}
	}
	return c
}

// PutCounted is [Stream.PutBareLines] for lines that have been counted.
func (s *Stream) PutCounted(l Lines, c Count) {
	if c.wrong {
		s.outErr = errZero
		return
	}
	s.PutInt(int64(c.n))
	if c.dense && s.sealer == nil {
		s.putEnded(l)
		return
	}
	for len(l) > 0 && s.outErr == nil {
		line, rest, _ := bytes.Cut(l, lineFeed)
		if l = rest; len(line) > 0 {
			putText(s, line)
		}
	}
}

// putEnded writes lines as texts, a frame at a time: where a line ends, so does the text.
func (s *Stream) putEnded(l Lines) {
	for len(l) > 0 && s.outErr == nil {
		free := room - (len(s.out) - s.body)
		if free == 0 {
			s.flush(false)
			continue
		}
		from, n := len(s.out), min(free, len(l))
		s.out, l = append(s.out, l[:n]...), l[n:]
		for text := s.out[from:]; ; {
			end := bytes.IndexByte(text, '\n')
			if end < 0 {
				break
			}
			text[end] = 0
			text = text[end+1:]
		}
	}
}

var lineFeed = []byte{'\n'}

// AppendAd appends an ad's lines. A line feed inside a string becomes a blank, as for all who read
// it, and so does a zero byte, which cannot be sent.
func AppendAd(l Lines, ad *classad.ClassAd) Lines {
	for name, e := range ad.All() {
		at := len(l)
		l = e.AppendFormat(append(append(l, name...), " = "...), ast.Line)
		for i, c := range l[at:] {
			if c == '\n' || c == 0 {
				l[at+i] = ' '
			}
		}
		l = append(l, '\n')
	}
	return l
}

// Lines is an ad as it was received: for each attribute a line "Name = expression" that ends with a
// line feed.
type Lines []byte

// AppendLines reads an ad and appends its lines to b.
func (s *Stream) AppendLines(b Lines) (Lines, error) { return s.appendLines(b, s.appendText) }

// readText reads a text and appends it; more than limit bytes are an error.
type readText func(b []byte, limit int) ([]byte, error)

func (s *Stream) appendLines(b Lines, read readText) (Lines, error) {
	b, err := s.appendAttributes(b, read)
	for range 2 {
		if err == nil {
			_, err = s.appendText(nil, maxText)
		}
	}
	return b, err
}

// appendAttributes reads the attributes of an ad and appends their lines to b. A bare ad has
// nothing else.
func (s *Stream) appendAttributes(b Lines, read readText) (Lines, error) {
	n, err := s.IntIn("the number of an ad's attributes", 0, maxAttributes)
	if err != nil {
		return b, err
	}
	start := len(b)
	for range n {
		at := len(b)
		if b, err = read(b, maxAd-(at-start)); err != nil {
			return b, err
		}
		if string(b[at:]) == secretMarker {
			if b, err = read(b[:at], maxAd-(at-start)); err != nil {
				return b, err
			}
		}
		if bytes.IndexByte(b[at:], '\n') >= 0 { // only a text can contain one
			for i, c := range b[at:] {
				if c == '\n' {
					b[at+i] = ' '
				}
			}
		}
		b = append(b, '\n')
	}
	return b, nil
}

// What parsing takes grows with the names, constants and signs of an ad, not with its bytes: a list
// of ones takes fifty times its text. maxSaid bounds those of an ad that is said in a conversation:
// handshakes have a hundred, and a query may name three hundred machines. maxTokens bounds those of
// other ads that a peer sends.
const (
	maxSaid     = 2 << 10
	maxSaidText = 64 << 10
	maxTokens   = 32 << 10
)

// Ad reads an ad.
func (s *Stream) Ad() (*classad.ClassAd, error) { return s.ad(s.appendLines) }

// BareAd reads an ad as [Stream.PutBareAd] writes it.
func (s *Stream) BareAd() (*classad.ClassAd, error) { return s.ad(s.appendAttributes) }

func (s *Stream) ad(read func(Lines, readText) (Lines, error)) (*classad.ClassAd, error) {
	lines, err := read(nil, s.said())
	if err != nil {
		return nil, err
	}
	ad, err := lines.ad(maxSaid)
	if err != nil {
		return nil, fmt.Errorf("an ad from %v: %w", s.conn.RemoteAddr(), err)
	}
	return ad, nil
}

// Ad parses the lines. Errors quote no private attribute.
//
// On the wire, as in these lines, a backslash escapes nothing but a quote, and not the quote that
// ends the string. A string that was submitted as "a\\b\"c" still has two backslashes. UTF-8 and
// tabs arrive unchanged; a line feed inside a string arrives as a blank.
func (l Lines) Ad() (*classad.ClassAd, error) { return l.ad(maxTokens) }

// Said is [Lines.Ad] for an ad as short as one that is said in a conversation: of a daemon that
// tells of itself, not of slots or jobs.
func (l Lines) Said() (*classad.ClassAd, error) {
	if len(l) > maxSaidText {
		return nil, fmt.Errorf("it has %d bytes: at most %d are allowed", len(l), maxSaidText)
	}
	return l.ad(maxSaid)
}

// ad is [Lines.Ad] for at most so many names, constants and signs.
func (l Lines) ad(most int) (*classad.ClassAd, error) {
	if n := classad.Tokens(l); n > most {
		return nil, fmt.Errorf("it has %d names, constants and signs: at most %d are allowed", n, most)
	}
	ad, err := classad.ParseOld(string(l))
	if err != nil && l.private() {
		return nil, errors.New("it cannot be parsed, and is not shown because it has private attributes")
	}
	return ad, err
}

// private reports whether the lines contain private attributes.
func (l Lines) private() bool {
	for line := range bytes.SplitSeq(l, []byte{'\n'}) {
		if name, _, _ := bytes.Cut(line, []byte{'='}); classad.Private(string(bytes.TrimSpace(name))) {
			return true
		}
	}
	return false
}

// Format prints the lines without the values of private attributes.
func (l Lines) Format(f fmt.State, _ rune) {
	for line := range bytes.Lines(l) {
		name, _, _ := bytes.Cut(line, []byte{'='})
		if classad.Private(string(bytes.TrimSpace(name))) {
			line = append(bytes.Clone(name), "= …\n"...)
		}
		_, _ = f.Write(line)
	}
}

// MarshalText returns the lines without the values of private attributes.
func (l Lines) MarshalText() ([]byte, error) { return fmt.Append(nil, l), nil }

// Find returns the expression of an attribute as it was received; false if the ad has none of that
// name, ignoring case.
func (l Lines) Find(name string) ([]byte, bool) {
	for line := range bytes.SplitSeq(l, []byte{'\n'}) {
		if len(line) > len(name) && bytes.EqualFold(line[:len(name)], []byte(name)) {
			if rest := bytes.TrimLeft(line[len(name):], " \t"); len(rest) > 0 && rest[0] == '=' {
				return bytes.TrimSpace(rest[1:]), true
			}
		}
	}
	return nil, false
}
