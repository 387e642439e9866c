package pcre

import "strings"

// group reads everything that begins with a parenthesis and reports whether a quantifier may follow
// it.
func (p *parser) group() (n *node, repeatable bool) {
	start := p.at
	p.at++
	switch {
	case !p.more():
		return p.fail(p.at, msgUnclosed), false
	case p.sees('*'):
		return p.starred(start)
	case !p.sees('?'):
		if p.on(optNoCapture) {
			return p.finish(start, &node{kind: kindGroup}), true
		}
		return p.capture(start), true
	}
	p.at++
	if !p.more() {
		return p.fail(p.at, msgUnclosed), false
	}
	switch c := p.src[p.at]; {
	case c == 'P':
		return p.python(start), true
	case c == '<' && (p.peek(1) == '=' || p.peek(1) == '!' || p.peek(1) == '*'):
		p.at++
		return p.lookaround(start, true), true
	case c == '=' || c == '!' || c == '*':
		return p.lookaround(start, false), true
	case c == '<':
		return p.named(start, '>'), true
	case c == '\'':
		return p.named(start, '\''), true
	case c == '>':
		p.at++
		return p.finish(start, &node{kind: kindAtomic}), true
	case c == '(':
		return p.conditional(start), true
	case c == '&':
		p.at++
		return &node{kind: kindCall, name: p.name(')'), at: start}, true
	case c == 'C':
		return p.fail(start, "callouts are not supported"), false
	case c == 'R' || c == '+' || isDigit(c) || c == '-' && isDigit(p.peek(1)):
		return p.call(start), true
	case c == '|':
		p.at++
		p.shared = true
		return &node{kind: kindGroup, at: start, subs: []*node{alternation(p.body(true))}}, true
	}
	return p.settingsInline(start)
}

// finish reads the body and the end of a group into the node, and returns it.
func (p *parser) finish(start int, n *node) *node {
	n.at = start
	n.subs = []*node{alternation(p.body(false))}
	n.end = p.at
	return n
}

// capture reads a group that gets the next number.
func (p *parser) capture(start int) *node {
	if p.groups >= maxGroups {
		return p.fail(start, "too many capturing groups (maximum 65535)")
	}
	p.groups++
	return p.finish(start, &node{kind: kindGroup, n: p.groups})
}

// named reads a named group, whose name ends with the byte end. Two groups may have the same name
// only if they have the same number.
func (p *parser) named(start int, end byte) *node {
	p.at++
	from := p.at
	name := p.name(end)
	number := p.groups + 1
	known, again := p.numbers[name]
	other, taken := p.names[number]
	switch {
	case p.err != nil:
		return &node{kind: kindEmpty}
	case again && known != number:
		return p.fail(from, "two named subpatterns have the same name (PCRE2_DUPNAMES not set)")
	case taken && other != name:
		return p.fail(from, "different names for subpatterns of the same number are not allowed")
	case !again && len(p.numbers) >= maxNames:
		return p.fail(from, "too many named subpatterns (maximum 10000)")
	}
	p.numbers[name], p.names[number] = number, name
	return p.capture(start)
}

// name reads the name of a group and the byte that ends it.
func (p *parser) name(end byte) string {
	from := p.at
	for p.more() && isWord(p.src[p.at]) {
		p.at++
	}
	name := p.src[from:p.at]
	switch {
	case from == len(p.src) || name == "":
		p.fail(p.at, "subpattern name expected")
	case isDigit(name[0]):
		p.fail(from, "subpattern name must start with a non-digit")
	case len(name) > maxNameLength:
		p.fail(p.at, "subpattern name is too long (maximum 32 code units)")
	case !p.accept(end):
		p.fail(p.at, "syntax error in subpattern name (missing terminator?)")
	}
	return name
}

// python reads the rest of (?P.
func (p *parser) python(start int) *node {
	p.at++
	switch {
	case !p.more():
		return p.fail(p.at, msgUnclosed)
	case p.sees('<'):
		return p.named(start, '>')
	case p.accept('>'):
		return &node{kind: kindCall, name: p.name(')'), at: start}
	case p.accept('='):
		return &node{kind: kindBackref, name: p.name(')'), fold: p.on(optCaseless), at: start}
	}
	return p.fail(p.at, "unrecognized character after (?P")
}

// call reads (?R), (?1) and (?+1).
func (p *parser) call(start int) *node {
	n := 0
	if p.accept('R') {
		if !p.sees(')') {
			return p.fail(p.at, "(?R (recursive pattern call) must be followed by a closing parenthesis")
		}
	} else {
		var ok bool
		if n, ok = p.number(true); !ok {
			return p.fail(p.at, "digit expected after (?+ or (?-")
		}
	}
	if !p.accept(')') {
		return p.fail(p.at, msgUnclosed)
	}
	return &node{kind: kindCall, n: n, at: start}
}

// lookaround reads an assertion from its =, ! or * on.
func (p *parser) lookaround(start int, behind bool) *node {
	n := &node{kind: kindLook, behind: behind, at: start}
	n.negative, n.loose = p.sees('!'), p.sees('*')
	p.at++
	n.subs = p.body(false)
	n.end = p.at
	return n
}

// settingsInline reads (?i), for which it returns no node, or (?i:...), which a quantifier may
// follow.
func (p *parser) settingsInline(start int) (n *node, repeatable bool) {
	before := p.opts
	after, ok := p.readSettings()
	switch {
	case !ok:
		return p.fail(p.at, "unrecognized character after (? or (?-"), false
	case !p.more():
		return p.fail(p.at, msgUnclosed), false
	}
	p.opts = after
	if p.accept(')') {
		return nil, false
	}
	p.at++
	n = p.finish(start, &node{kind: kindGroup})
	p.opts = before
	return n, true
}

// readSettings reads letters up to a colon or a parenthesis and returns the options that hold after
// them; false if a letter is unknown.
func (p *parser) readSettings() (opts options, ok bool) {
	const imnsx = optCaseless | optMultiline | optNoCapture | optDotAll | optExtended | optExtendedMore
	opts = p.opts
	var on, off options
	target, hyphen := &on, true
	if p.accept('^') {
		opts &^= imnsx
		hyphen = false
	}
	for p.more() && !p.sees(')') && !p.sees(':') {
		c := p.src[p.at]
		bit := strings.IndexByte("imsx-nU", c)
		switch {
		case c == '-' && hyphen:
			target, hyphen = &off, false
		case c == 'J':
			p.fail(p.at, "duplicate names are not supported")
		case c == '-':
			p.fail(p.at, "invalid hyphen in option setting")
		case bit < 0:
			return opts, false
		default:
			*target |= 1 << bit
		}
		p.at = min(p.at+1, len(p.src))
		if c == 'x' && p.accept('x') {
			*target |= optExtendedMore
		}
	}
	if on&(optExtended|optExtendedMore) == optExtended || off&optExtended != 0 {
		off |= optExtendedMore
	}
	return (opts | on) &^ off, true
}
