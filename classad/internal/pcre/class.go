package pcre

import "strings"

// rangeState says how much of a range such as a-z has just been read in a class.
type rangeState uint8

const (
	rangeNone    rangeState = iota
	rangeFrom               // a byte that a hyphen may follow
	rangeStarted            // the hyphen
)

const msgBadRange = "invalid range in character class"

// classReader collects the members of a class.
type classReader struct {
	*parser
	set   byteSet
	exact byteSet // bytes given by property, for which case does matter
	state rangeState
	from  byte
}

// class reads a class in brackets.
func (p *parser) class() *node {
	for _, weird := range []string{"[[:<:]]", "[[:>:]]"} {
		if p.has(weird) {
			p.at += len(weird)
			return wordBoundary(weird == "[[:>:]]")
		}
	}
	p.at++
	if p.sees(':') || p.sees('.') || p.sees('=') {
		if _, ok := p.posixName(); ok {
			return p.fail(p.at, "POSIX named classes are supported only within a class")
		}
	}
	r := classReader{parser: p}
	negative := r.beginning()
	for first := true; ; first = false {
		if !p.more() {
			return p.fail(p.at, "missing terminating ] for character class")
		}
		if !first && !p.quoted && p.accept(']') {
			break
		}
		r.member()
	}
	if r.state == rangeStarted {
		r.set.add('-')
	}
	if p.on(optCaseless) {
		r.set = r.set.folded()
	}
	r.set.union(&r.exact)
	if negative {
		r.set = r.set.inverse()
	}
	item := oneOf(r.set)
	item.class = true
	return item
}

// wordBoundary returns the translation of [[:<:]] and [[:>:]]: a word boundary with a word after or
// before it.
func wordBoundary(behind bool) *node {
	look := &node{kind: kindLook, behind: behind, subs: []*node{oneOf(wordBytes)}}
	return sequence([]*node{{kind: kindAssert, op: opWordEdge}, look})
}

// beginning reads the ^ that negates a class, and what may surround it, and reports whether there
// is one.
func (r *classReader) beginning() (negative bool) {
	for r.more() {
		switch {
		case r.has(`\E`):
			r.at += 2
		case r.has(`\Q\E`):
			r.at += 4
		case r.on(optExtendedMore) && (r.sees(' ') || r.sees('\t')):
			r.at++
		case !negative && r.sees('^'):
			negative = true
			r.at++
		default:
			return negative
		}
	}
	return negative
}

func (r *classReader) member() {
	c := r.src[r.at]
	switch {
	case r.quoted:
		if r.has(`\E`) {
			r.quoted = false
			r.at += 2
			return
		}
		r.at++
		r.byte(c)
	case r.on(optExtendedMore) && (c == ' ' || c == '\t'):
		r.at++
	case c == '[' && r.posix():
	case c == '-' && r.state == rangeFrom:
		r.at++
		r.state = rangeStarted
	case c == '\\':
		r.escape()
	default:
		r.at++
		r.byte(c)
	}
}

// byte adds one byte, or the range that it completes.
func (r *classReader) byte(c byte) {
	if r.state != rangeStarted {
		r.set.add(c)
		r.from, r.state = c, rangeFrom
		return
	}
	if r.from > c {
		r.fail(r.at-1, "range out of order in character class")
		return
	}
	r.set.addRange(r.from, c)
	r.state = rangeNone
}

func (r *classReader) escape() {
	start := r.at
	c, special := r.readEscape(true)
	switch special {
	case 0:
		if r.err == nil {
			r.byte(c)
		}
		return
	case 'b':
		r.byte('\b')
		return
	case 'Q':
		r.quoted = true
		return
	case 'E':
		return
	}
	if r.state == rangeStarted {
		r.fail(r.at, msgBadRange)
		return
	}
	r.state = rangeNone
	set, ok := typeSet(special)
	switch {
	case ok:
		r.set.union(&set)
	case special == 'p' || special == 'P':
		set = r.property(special == 'P')
		r.exact.union(&set)
	case special == 'N':
		r.fail(start, `\N is not supported in a class`)
		return
	default:
		r.fail(start, "escape sequence is invalid in character class")
		return
	}
	r.noRangeAfter()
}

// noRangeAfter rejects a hyphen after something that cannot start a range, unless the hyphen is
// last.
func (r *classReader) noRangeAfter() {
	if r.sees('-') && r.at+1 < len(r.src) && r.peek(1) != ']' {
		r.fail(r.at, msgBadRange)
	}
}

// posix reads [:name:] if that comes next, and reports whether it did.
func (r *classReader) posix() bool {
	if next := r.peek(1); next != ':' && next != '.' && next != '=' {
		return false
	}
	start := r.at
	r.at++
	name, ok := r.posixName()
	if !ok {
		r.at = start
		return false
	}
	switch {
	case r.state == rangeStarted:
		r.fail(r.at, msgBadRange)
		return true
	case r.sees('.') || r.sees('='):
		r.fail(r.at, "POSIX collating elements are not supported")
		return true
	}
	r.at += len(name) + 3
	r.state = rangeNone
	name, negative := strings.CutPrefix(name, "^")
	if r.on(optCaseless) && (name == "lower" || name == "upper") {
		name = "alpha"
	}
	set, known := posixSets[name]
	if !known {
		r.fail(start, "unknown POSIX class name")
		return true
	}
	if negative {
		set = set.inverse()
	}
	r.set.union(&set)
	r.noRangeAfter()
	return true
}

// posixName returns the name in [:name:], [.name.] or [=name=], whose first sign is the next byte,
// without consuming it; false if that is none of them.
func (p *parser) posixName() (name string, ok bool) {
	mark := p.src[p.at]
	for i := p.at + 1; i+1 < len(p.src); i++ {
		c, next := p.src[i], p.src[i+1]
		switch {
		case c == '\\' && (next == ']' || next == '\\'):
			i++
		case c == '[' && next == mark || c == ']':
			return "", false
		case c == mark && next == ']':
			return p.src[p.at+1 : i], true
		}
	}
	return "", false
}
