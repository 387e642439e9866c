package usermap

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/condor-backfill/condor-backfill/classad/internal/pcre"
)

// The bounds of a map.
const (
	mostText     = 16 << 20 // bytes of all its files
	mostLine     = 64 << 10
	mostFiles    = 1000
	mostPatterns = 10_000
	mostWrong    = 20 // lines that are listed
)

// Options say how a map is read.
type Options struct {
	// Prefix says that the principals are the beginnings of names.
	Prefix bool
}

// LineError says what is wrong with a line.
type LineError struct {
	File         string
	Line, Column int // from 1; the column counts characters
	Message      string
	Excerpt      string // of the line, around the place

	before int // how many bytes of the excerpt come before the place
}

// Error returns "file:line:column: message", the line, and a caret under the place.
func (e *LineError) Error() string {
	blank := func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}
	return fmt.Sprintf("%s:%d:%d: %s\n%s\n%s^", e.File, e.Line, e.Column, e.Message, e.Excerpt,
		strings.Map(blank, e.Excerpt[:e.before]))
}

// errTooMuch says that a map is larger than its bounds.
var errTooMuch = errors.New("is more than a map may have")

// Parse reads the text of a map, which has that name in errors. The error says that it exceeds a
// bound.
func Parse(name, text string, o Options) (*Map, error) {
	r := newReader(o)
	if err := r.read(source{name: name, folder: "", includes: true, prefix: o.Prefix}, text); err != nil {
		return nil, err
	}
	return r.done(), nil
}

// source is a text that is read.
type source struct {
	name     string
	folder   string // where relative paths begin; "": nowhere
	includes bool   // it may include files
	prefix   bool
}

// read adds the lines of a text.
func (r *reader) read(from source, text string) error {
	if r.left -= len(text); r.left < 0 {
		return fmt.Errorf("%s: it %w: %d MiB of text with the files that it includes", from.name, errTooMuch, mostText>>20)
	}
	r.note(from, text)
	number := 0
	for line := range strings.Lines(text) {
		number++
		l := scanner{file: from.name, number: number, text: strings.TrimRight(line, "\r\n")}
		if len(l.text) > mostLine {
			r.warn(&l, 0, fmt.Sprintf("the line has more than %d KiB: it is left out", mostLine>>10))
			continue
		}
		if err := r.line(from, &l); err != nil {
			return err
		}
	}
	return nil
}

// line adds a line. The error says that the map exceeds a bound.
func (r *reader) line(from source, l *scanner) error {
	method := l.field(false)
	switch {
	case method.text == "" || method.text[0] == '#':
		return nil
	case method.text == "@include":
		return r.include(from, l)
	}
	principal := l.field(!from.prefix)
	to := l.field(false)
	switch {
	case principal.open:
		r.warn(l, principal.at, "this regular expression has no end: write a slash after it, or the principal in double "+
			"quotes if it is none; the line is left out")
		return nil
	case principal.text == "" || to.text == "":
		r.warn(l, len(l.text), "the line is left out: it must have a method, such as *, a principal, and what that is "+
			"mapped to")
		return nil
	}
	if rest := l.field(false); rest.text != "" && rest.text[0] != '#' {
		r.warn(l, rest.at, "from here on the line counts for nothing: write a list without blanks, or in double quotes")
	}
	return r.add(from, l, strings.ToLower(method.text), principal, to.text)
}

// add adds a line that could be read.
func (r *reader) add(from source, l *scanner, method string, principal field, to string) error {
	tables := r.m.methods[method]
	if principal.pattern {
		re, err := compile(principal)
		if wrong, bad := errors.AsType[*pcre.Error](err); bad {
			r.warn(l, principal.at, fmt.Sprintf("this regular expression cannot be read, and the line is left out: "+
				"at offset %d, %s", wrong.Offset, wrong.Message))
			return nil
		}
		if r.patterns++; r.patterns > mostPatterns {
			return fmt.Errorf("%s:%d: %d regular expressions, which %w", from.name, l.number, r.patterns, errTooMuch)
		}
		r.m.methods[method] = append(tables, &pattern{re, to})
		return nil
	}
	var last table
	if len(tables) > 0 {
		last = tables[len(tables)-1]
	}
	if from.prefix {
		group, same := last.(*prefixes)
		if !same {
			group = &prefixes{to: map[string]string{}}
			r.m.methods[method] = append(tables, group)
		}
		group.add(principal.text, to)
		return nil
	}
	group, same := last.(literals)
	if !same {
		group = literals{}
		r.m.methods[method] = append(tables, group)
	}
	group[principal.text] = cmp.Or(group[principal.text], to)
	return nil
}

// compile compiles the regular expression of a field.
func compile(f field) (*pcre.Regexp, error) {
	var flags pcre.Flags
	if f.caseless {
		flags = pcre.Caseless
	}
	before := ""
	if f.ungreedy {
		before = "(?U)"
	}
	re, err := pcre.Compile(before+f.text, flags)
	if wrong, bad := errors.AsType[*pcre.Error](err); bad {
		wrong.Offset = max(0, wrong.Offset-len(before))
	}
	return re, err
}

// warn notes that something is wrong with a line.
func (r *reader) warn(l *scanner, at int, message string) {
	if len(r.m.wrong) >= mostWrong {
		r.m.more++
		return
	}
	r.m.wrong = append(r.m.wrong, l.wrong(at, message))
}

// scanner divides a line into fields.
type scanner struct {
	file   string
	number int
	text   string
	at     int
}

// field is a field of a line.
type field struct {
	text               string
	at                 int  // where it begins, in bytes
	pattern            bool // it is a regular expression,
	caseless, ungreedy bool // with these options,
	open               bool // and does not end
}

// field returns the next field, empty at the end of the line. A field in slashes is a regular
// expression where one may be.
func (l *scanner) field(patterns bool) (f field) {
	for l.at < len(l.text) && isBlank(l.text[l.at]) {
		l.at++
	}
	f.at = l.at
	if l.at == len(l.text) {
		return f
	}
	switch first := l.text[l.at]; {
	case first == '"', first == '/' && patterns:
		f.pattern = first == '/'
		l.at++
		l.quoted(&f, first)
	default:
		for l.at < len(l.text) && !isBlank(l.text[l.at]) {
			l.at++
		}
		f.text = l.text[f.at:l.at]
	}
	return f
}

// quoted reads the rest of a field up to a quote or slash, and what follows a slash. In it a
// backslash stands before that sign or another backslash; before others it is itself. A quote that is
// missing is at the end of the line.
func (l *scanner) quoted(f *field, end byte) {
	var b strings.Builder
	f.open = f.pattern
	for ; l.at < len(l.text); l.at++ {
		c := l.text[l.at]
		if c == end {
			l.at++
			f.open = false
			break
		}
		if next := l.at + 1; c == '\\' && next < len(l.text) {
			l.at = next
			if c = l.text[next]; c != end && c != '\\' {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(c)
	}
	f.text = b.String()
	for f.pattern && l.at < len(l.text) && (l.text[l.at] == 'i' || l.text[l.at] == 'U') {
		f.caseless = f.caseless || l.text[l.at] == 'i'
		f.ungreedy = f.ungreedy || l.text[l.at] == 'U'
		l.at++
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// neighbourhood is how many bytes of a line are shown on each side of a place.
const neighbourhood = 100

// wrong returns an error about a place in the line.
func (l *scanner) wrong(at int, message string) *LineError {
	before, after := l.text[:at], l.text[at:]
	e := &LineError{File: l.file, Line: l.number, Column: 1 + utf8.RuneCountInString(before), Message: message}
	before = strings.ToValidUTF8(before[max(0, len(before)-neighbourhood):], "")
	e.Excerpt = before + strings.ToValidUTF8(after[:min(len(after), neighbourhood)], "")
	e.before = len(before)
	return e
}
