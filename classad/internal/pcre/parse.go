package pcre

import "strings"

// MaxPattern is the maximum length of a pattern in bytes. [Compile] does not look at longer ones.
const MaxPattern = 1 << 16

// Limits of patterns, which are PCRE2's.
const (
	maxNesting    = 250
	maxRepeat     = 65535
	maxGroups     = 65535
	maxNames      = 10000
	maxNameLength = 32
)

// options can be changed by inline settings. The first four are the public [Flags].
type options uint8

const (
	optCaseless     = options(Caseless)
	optMultiline    = options(Multiline)
	optDotAll       = options(DotAll)
	optExtended     = options(Extended)
	optExtendedMore = optExtended << (iota - 3) // (?xx): blanks in classes are ignored, too
	optNoCapture                                // (?n): plain parentheses do not capture
	optUngreedy                                 // (?U): ? after a quantifier makes it greedy
)

// parser makes a tree from a pattern. The first mistake is stored and moves the parser to the end
// of the pattern, so that callers need not check for it.
type parser struct {
	src     string
	at      int
	opts    options
	quoted  bool // between \Q and \E
	depth   int
	groups  int
	shared  bool // there is a (?|, so groups may share a number
	crlf    bool // \R is restricted to CR, LF and CRLF
	numbers map[string]int
	names   map[int]string
	ref     int // the group's number in the last escape
	err     *Error
}

func (p *parser) fail(at int, message string) *node {
	if p.err == nil {
		p.err = &Error{Offset: at, Message: message}
	}
	p.at, p.quoted = len(p.src), false
	return &node{kind: kindEmpty}
}

func (p *parser) more() bool { return p.at < len(p.src) }

func (p *parser) has(prefix string) bool { return strings.HasPrefix(p.src[p.at:], prefix) }

// sees reports whether the next byte is c.
func (p *parser) sees(c byte) bool { return p.more() && p.src[p.at] == c }

// peek returns the byte that many places ahead, or 0 at the end, so it cannot be used to look
// for 0.
func (p *parser) peek(ahead int) byte {
	if p.at+ahead < len(p.src) {
		return p.src[p.at+ahead]
	}
	return 0
}

// accept consumes the byte c if it is next, and reports whether it did.
func (p *parser) accept(c byte) bool {
	if !p.sees(c) {
		return false
	}
	p.at++
	return true
}

func (p *parser) on(opt options) bool { return p.opts&opt != 0 }

// pattern parses the whole pattern.
func (p *parser) pattern() *node {
	p.settings()
	body := alternation(p.alternatives(false))
	if p.more() { // only a parenthesis ends the alternatives before the end of the pattern
		p.fail(p.at, "unmatched closing parenthesis")
	}
	return body
}

// alternatives reads branches up to the end of the group. If reset is set, each branch numbers its
// groups from the same number on.
func (p *parser) alternatives(reset bool) []*node {
	from, highest := p.groups, p.groups
	branches := []*node{p.branch()}
	for p.accept('|') {
		if reset {
			highest = max(highest, p.groups)
			p.groups = from
		}
		branches = append(branches, p.branch())
	}
	p.groups = max(highest, p.groups)
	return branches
}

// body reads the inside of a group and its closing parenthesis. Inline settings end there.
func (p *parser) body(reset bool) []*node {
	p.depth++
	if p.depth > maxNesting {
		p.fail(p.at, "parentheses are too deeply nested")
	}
	opts := p.opts
	branches := p.alternatives(reset)
	p.opts = opts
	p.depth--
	if !p.accept(')') {
		p.fail(len(p.src), msgUnclosed)
	}
	return branches
}

// branch reads items up to a bar or the end of the group.
func (p *parser) branch() *node {
	var items []*node
	for p.skip(); p.more() && (p.quoted || p.src[p.at] != '|' && p.src[p.at] != ')'); p.skip() {
		item, repeatable := p.item()
		if item = p.quantified(item, repeatable); item != nil {
			items = append(items, item)
		}
	}
	return sequence(items)
}

// skip skips what has no meaning: comments, \E, the \Q that begins a quotation, and blanks if they
// are ignored.
func (p *parser) skip() {
	for p.more() {
		c := p.src[p.at]
		switch {
		case c == '\\' && p.peek(1) == 'E':
			p.quoted = false
			p.at += 2
		case p.quoted:
			return
		case c == '\\' && p.peek(1) == 'Q':
			p.quoted = true
			p.at += 2
		case p.on(optExtended) && (isSpace(c) || c == 0x85): // U+0085 is among Unicode's pattern white space
			p.at++
		case p.on(optExtended) && c == '#':
			p.skipPast('\n')
		case p.has("(?#"):
			if start := p.at; !p.skipPast(')') {
				p.fail(start, "missing ) after (?# comment")
			}
		default:
			return
		}
	}
}

func (p *parser) skipPast(c byte) bool {
	length := strings.IndexByte(p.src[p.at:], c)
	if length < 0 {
		p.at = len(p.src)
		return false
	}
	p.at += length + 1
	return true
}

// item reads one item and reports whether it may be repeated. Settings produce no node.
func (p *parser) item() (n *node, repeatable bool) {
	c := p.src[p.at]
	if p.quoted {
		p.at++
		return p.literal(c), true
	}
	switch c {
	case '\\':
		return p.escape()
	case '[':
		return p.class(), true
	case '(':
		return p.group()
	case '*', '+', '?':
		return p.fail(p.at, msgNothingToApply), false
	case '{':
		if _, _, ok := p.counts(); ok {
			return p.fail(p.at, msgNothingToApply), false
		}
	}
	p.at = min(p.at+1, len(p.src))
	switch c {
	case '^':
		return p.place(opBegin, opLineStart), false
	case '$':
		return p.place(opEndOrNewline, opLineEnd), false
	case '.':
		if p.on(optDotAll) {
			return oneOf(allBytes), true
		}
		return oneOf(notNewline), true
	}
	return p.literal(c), true
}

// place returns an assertion about a position: the one for the whole subject or, in multiline mode,
// the one for lines.
func (p *parser) place(subject, line opcode) *node {
	if p.on(optMultiline) {
		return &node{kind: kindAssert, op: line}
	}
	return &node{kind: kindAssert, op: subject}
}

func (p *parser) literal(c byte) *node {
	if p.on(optCaseless) && isLetter(c) {
		return &node{kind: kindByte, b: lower(c), fold: true}
	}
	return &node{kind: kindByte, b: c}
}

// quantified wraps the item in a repetition if a quantifier follows, else returns it unchanged.
// Comments may come before the quantifier and between its two characters.
func (p *parser) quantified(item *node, repeatable bool) *node {
	p.skip()
	start := p.at
	low, high, ok := p.quantifier()
	if !ok {
		return item
	}
	if !repeatable {
		return p.fail(start, msgNothingToApply)
	}
	mode := greedy
	if p.on(optUngreedy) {
		mode = lazy
	}
	p.skip()
	switch {
	case p.quoted:
	case p.accept('+'):
		mode = possessive
	case p.accept('?'):
		mode ^= lazy
	}
	if (item.kind == kindLook || item.kind == kindSeq) && high == unlimited {
		high = low + 1 // a higher maximum would not change anything
	}
	if item.kind == kindSeq { // [[:<:]] is two items, of which only the second is repeated
		item.subs[1] = &node{kind: kindRepeat, min: low, max: high, mode: mode, subs: []*node{item.subs[1]}, at: start}
		return item
	}
	return &node{kind: kindRepeat, min: low, max: high, mode: mode, subs: []*node{item}, at: start}
}

func (p *parser) quantifier() (low, high int, ok bool) {
	if p.quoted || !p.more() {
		return 0, 0, false
	}
	switch p.src[p.at] {
	case '*':
		low, high = 0, unlimited
	case '+':
		low, high = 1, unlimited
	case '?':
		low, high = 0, 1
	case '{':
		var length int
		low, high, length = p.braces()
		p.at += length
		return low, high, length > 0
	default:
		return 0, 0, false
	}
	p.at++
	return low, high, true
}

// counts parses a quantifier in braces without consuming it; ok is false if there is none.
func (p *parser) counts() (low, high int, ok bool) {
	low, high, length := p.braces()
	return low, high, length > 0
}

// braces parses {n}, {n,} or {n,m} without consuming it, and returns its length. For any other
// brace, which stands for itself, length is 0.
func (p *parser) braces() (low, high, length int) {
	end := 1
	for isDigit(p.peek(end)) || p.peek(end) == ',' {
		end++
	}
	if p.peek(end) != '}' {
		return 0, 0, 0
	}
	from, to, ranged := strings.Cut(p.src[p.at+1:p.at+end], ",")
	if from == "" || strings.Contains(to, ",") {
		return 0, 0, 0
	}
	low = p.count(from)
	switch {
	case !ranged:
		high = low
	case to == "":
		high = unlimited
	default:
		if high = p.count(to); high < low {
			p.fail(p.at+end, "numbers out of order in {} quantifier")
		}
	}
	if p.err != nil {
		return 0, 0, 0
	}
	return low, high, end + 1
}

func (p *parser) count(digits string) int {
	n := 0
	for i := range len(digits) {
		if n = n*10 + int(digits[i]-'0'); n > maxRepeat {
			p.fail(p.at, "number too big in {} quantifier")
			return 0
		}
	}
	return n
}
