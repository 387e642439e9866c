package pcre

import "strings"

// escape reads an escape sequence outside of classes and reports whether a quantifier may follow
// it.
func (p *parser) escape() (n *node, repeatable bool) {
	start := p.at
	c, special := p.readEscape(false)
	if set, ok := typeSet(special); ok {
		return oneOf(set), true
	}
	switch special {
	case 0:
		return p.literal(c), true
	case '1':
		return &node{kind: kindBackref, n: p.ref, fold: p.on(optCaseless), at: start}, true
	case 'A':
		return &node{kind: kindAssert, op: opBegin}, false
	case 'Z':
		return &node{kind: kindAssert, op: opEndOrNewline}, false
	case 'z':
		return &node{kind: kindAssert, op: opEnd}, false
	case 'G':
		return &node{kind: kindAssert, op: opFrom}, false
	case 'b':
		return &node{kind: kindAssert, op: opWordEdge}, false
	case 'B':
		return &node{kind: kindAssert, op: opNotWordEdge}, false
	case 'K':
		return &node{kind: kindKeep, at: start}, false
	case 'N':
		return oneOf(notNewline), true
	case 'C':
		return oneOf(allBytes), true
	case 'R':
		set := vertical
		if p.crlf {
			set = carriageOrNew
		}
		return &node{kind: kindNewline, set: &set}, true
	case 'X':
		return p.fail(start, `\X is not supported`), true
	case 'p', 'P':
		item := oneOf(p.property(special == 'P'))
		item.property = true
		return item, true
	default: // k and g
		return p.namedEscape(start, special), true
	}
}

// typeSet returns the set of \d or a similar escape; false for other letters.
func typeSet(special byte) (byteSet, bool) {
	set, ok := typeSets[lower(special)]
	if ok && special != lower(special) {
		set = set.inverse()
	}
	return set, ok
}

// namedEscape reads the rest of \k, or of a \g that no plain number follows. With angle brackets or
// quotes, \g is a call.
func (p *parser) namedEscape(start int, special byte) *node {
	var end byte
	switch p.peek(0) {
	case '{':
		end = '}'
	case '<':
		end = '>'
	case '\'':
		end = '\''
	default:
		return p.fail(p.at, `\k is not followed by a braced, angle-bracketed, or quoted name`)
	}
	p.at++
	call := special == 'g' && end != '}'
	if call {
		if n, ok := p.number(true); ok {
			if !p.accept(end) {
				return p.fail(p.at, `\g is not followed by a braced, angle-bracketed, or quoted name/number or `+
					`by a plain number`)
			}
			return &node{kind: kindCall, n: n, at: start}
		}
	}
	name := p.name(end)
	if call {
		return &node{kind: kindCall, name: name, at: start}
	}
	return &node{kind: kindBackref, name: name, fold: p.on(optCaseless), at: start}
}

// readEscape reads an escape. It returns the byte c that it stands for, with special 0, or the
// letter of an escape with another meaning as special. For a reference to a group, special is '1'
// and p.ref is the group's number.
func (p *parser) readEscape(inClass bool) (c, special byte) {
	p.at++
	if !p.more() {
		p.fail(p.at, `\ at end of pattern`)
		return 0, 0
	}
	c = p.src[p.at]
	p.at++
	switch c {
	case 'a':
		return '\a', 0
	case 'e':
		return 0x1b, 0
	case 'f':
		return '\f', 0
	case 'n':
		return '\n', 0
	case 'r':
		return '\r', 0
	case 't':
		return '\t', 0
	case 'A', 'B', 'C', 'D', 'E', 'G', 'H', 'K', 'P', 'Q', 'R', 'S', 'V', 'W', 'X', 'Z', 'b', 'd', 'h', 'k', 'p',
		's', 'v', 'w', 'z':
		return c, c
	case 'N':
		if p.sees('{') {
			p.checkAfterN()
		}
		return c, c
	case 'F', 'L', 'U', 'l', 'u':
		p.fail(p.at, `PCRE2 does not support \F, \L, \l, \N{name}, \U, or \u`)
		return 0, 0
	}
	if isLetter(c) || isDigit(c) {
		return p.readLongEscape(c, inClass)
	}
	return c, 0
}

// checkAfterN rejects \N{name}; \N{2} is a repetition.
func (p *parser) checkAfterN() {
	if p.has("{U+") {
		p.fail(p.at, `\N{U+dddd} is supported only in Unicode (UTF) mode`)
	} else if _, _, ok := p.counts(); !ok {
		p.fail(p.at, `PCRE2 does not support \F, \L, \l, \N{name}, \U, or \u`)
	}
}

// readLongEscape reads the rest of an escape that does not end with its letter c; its results are
// those of readEscape.
func (p *parser) readLongEscape(c byte, inClass bool) (value, special byte) {
	switch c {
	case 'c':
		if !p.more() {
			p.fail(p.at, `\c at end of pattern`)
			return 0, 0
		}
		if value = p.src[p.at]; !isPrint(value) {
			p.fail(p.at, `\c must be followed by a printable ASCII character`)
			return 0, 0
		}
		p.at++
		if isLetter(value) {
			value &^= 0x20
		}
		return value ^ 0x40, 0
	case 'g':
		if inClass {
			return c, 0
		}
		return c, p.readG()
	case 'o':
		if !p.sees('{') {
			p.fail(p.at, `missing opening brace after \o`)
			return 0, 0
		}
		return p.braced(8, `non-octal character in \o{} (closing brace missing?)`), 0
	case 'x':
		if p.sees('{') {
			return p.braced(16, `non-hex character in \x{} (closing brace missing?)`), 0
		}
		return p.fewDigits(16, 2), 0
	}
	if !isDigit(c) {
		p.fail(p.at-1, `unrecognized character follows \`)
		return 0, 0
	}
	if c != '0' && !inClass && p.readReference() {
		return 0, '1'
	}
	if c >= '8' {
		return c, 0
	}
	p.at--
	return p.fewDigits(8, 3), 0
}

// readReference reads a number after a backslash if it refers to a group and is not octal: if it
// has one digit, starts with 8 or 9, or is at most the number of groups that have begun. It reports
// whether it does.
func (p *parser) readReference() bool {
	const tooLong = 214748363 // from here on PCRE2 gives up and reads octal digits instead
	start := p.at - 1
	n, end := 0, start
	for end < len(p.src) && isDigit(p.src[end]) {
		if n = n*10 + int(p.src[end]-'0'); n > tooLong {
			return false
		}
		end++
	}
	if n >= 10 && p.src[start] < '8' && n > p.groups {
		return false
	}
	if n > maxGroups {
		p.fail(end, msgNumberTooBig)
		return true
	}
	p.at, p.ref = end, n
	return true
}

// readG reads the number after \g, with or without braces, into p.ref and returns '1'. For a name
// in braces, and for < and ', it returns 'g' and reads nothing: namedEscape does. Anything else is
// a fault.
func (p *parser) readG() (special byte) {
	const message = `\g is not followed by a braced, angle-bracketed, or quoted name/number or by a plain number`
	if p.sees('<') || p.sees('\'') {
		return 'g'
	}
	start := p.at
	braced := p.accept('{')
	n, ok := p.number(true)
	switch {
	case p.err != nil:
	case !ok && braced:
		p.at = start
		return 'g'
	case !ok || braced && !p.accept('}'):
		p.fail(p.at, message)
	case n <= 0:
		p.fail(p.at, msgNoSuchGroup)
	}
	p.ref = n
	return '1'
}

// number reads the number of a group; ok is false if there is none. If relative, a signed number
// counts from the current group.
func (p *parser) number(relative bool) (n int, ok bool) {
	start, sign := p.at, byte(0)
	if relative && (p.sees('+') || p.sees('-')) {
		sign = p.src[p.at]
		p.at++
	}
	if !isDigit(p.peek(0)) {
		p.at = start
		return 0, false
	}
	limit := maxGroups
	if sign == '+' {
		limit -= p.groups
	}
	for p.more() && isDigit(p.src[p.at]) {
		n = n*10 + int(p.src[p.at]-'0')
		p.at++
		if n > limit {
			p.fail(p.at, msgNumberTooBig)
			return 0, true
		}
	}
	switch {
	case sign == 0:
		return n, true
	case n == 0:
		p.fail(p.at, "(?+ or (?- or (?(+ or (?(- must be followed by a non-zero digit")
	case sign == '+':
		return p.groups + n, true
	case n > p.groups:
		p.fail(p.at, msgNoSuchGroup)
	default:
		return p.groups + 1 - n, true
	}
	return 0, true
}

func digitValue(c byte) int { return strings.IndexByte("0123456789abcdef", lower(c)) }

// fewDigits reads a byte as a number of at most this many digits; 0 if there are none.
func (p *parser) fewDigits(base, most int) byte {
	value := 0
	for ; most > 0 && p.more(); most-- {
		digit := digitValue(p.src[p.at])
		if digit < 0 || digit >= base {
			break
		}
		value = value*base + digit
		p.at++
	}
	if value > 0xff {
		p.fail(p.at, `octal value is greater than \377 in 8-bit non-UTF-8 mode`)
	}
	return byte(value)
}

// braced reads a byte as {digits}. notDigit is the message if there is anything else in the braces.
func (p *parser) braced(base int, notDigit string) byte {
	p.at++
	if !p.more() || p.sees('}') {
		p.fail(p.at, `digits missing in \x{} or \o{} or \N{U+}`)
		return 0
	}
	value := 0
	for p.more() {
		digit := digitValue(p.src[p.at])
		if digit < 0 || digit >= base {
			break
		}
		if value = value*base + digit; value > 0xff {
			p.fail(p.at, `character code point value in \x{} or \o{} is too large`)
			return 0
		}
		p.at++
	}
	if !p.accept('}') {
		p.fail(p.at, notDigit)
	}
	return byte(value)
}
