package pcre

import "strings"

// version is the version of PCRE2 for (?(VERSION>=...), in hundredths.
const version = 1042

// conditional reads a group that began with (?( : a condition and one or two branches.
func (p *parser) conditional(start int) *node {
	n := &node{kind: kindCond, at: start}
	p.at++
	p.depth++ // the condition is inside the group
	switch {
	case !p.more():
		return p.fail(p.at, msgUnclosed)
	case p.sees('?') || p.sees('*'):
		p.at--
		p.conditionLook(n)
	default:
		p.condition(n)
		if !p.accept(')') {
			return p.fail(p.at, "missing closing parenthesis for condition")
		}
	}
	p.depth--
	n.subs = p.body(false)
	n.end = p.at
	switch {
	case n.test == testDefine && len(n.subs) > 1:
		return p.fail(start, "DEFINE subpattern contains more than one branch")
	case len(n.subs) > 2:
		return p.fail(start, "conditional subpattern contains more than two branches")
	}
	return n
}

// conditionLook reads an assertion as a condition; it must not be repeated.
func (p *parser) conditionLook(n *node) {
	switch {
	case p.has("(?C"):
		p.fail(p.at, "callouts are not supported")
	case !p.has("(?=") && !p.has("(?!") && !p.has("(?<=") && !p.has("(?<!") && !p.has("(*"):
		p.fail(p.at, msgAssertionFirst)
	default:
		look, _ := p.group()
		if look == nil || look.kind != kindLook {
			p.fail(p.at, msgAssertionFirst)
			return
		}
		if look.loose {
			p.fail(p.at, "atomic assertion expected after (?( or (?(?C)")
		}
		n.test, n.look = testLook, look
	}
}

// condition reads a condition other than an assertion into the node, up to its parenthesis.
func (p *parser) condition(n *node) {
	number, ok := p.number(true)
	switch {
	case p.err != nil:
		return
	case ok:
		if n.n = number; number <= 0 {
			p.fail(p.at, msgNoSuchGroup)
		}
		return
	case p.has("VERSION") && p.peek(7) != ')' && len(p.src)-p.at >= 10:
		p.at += len("VERSION")
		p.versionCondition(n)
		return
	case p.has("R&"):
		p.at += 2
		n.test, n.name = testCall, p.name(')')
		p.at = max(p.at-1, 0)
		return
	case p.accept('<'):
		n.name = p.name('>')
		return
	case p.accept('\''):
		n.name = p.name('\'')
		return
	}
	n.name = p.name(')')
	if p.err != nil {
		return
	}
	p.at--
	n.test = testEither
	if n.name == "DEFINE" {
		n.test, n.name = testDefine, ""
	}
}

// versionCondition reads =10.42 or >=10.42 and decides the condition.
func (p *parser) versionCondition(n *node) {
	const message = "syntax error or number too big in (?(VERSION condition"
	atLeast := p.accept('>')
	if !p.accept('=') || !isDigit(p.peek(0)) {
		p.fail(p.at, message)
		return
	}
	number, _ := p.number(false)
	if number > 1000 {
		p.fail(p.at, message)
		return
	}
	number *= 100
	if p.accept('.') {
		for _, unit := range []int{10, 1} {
			if isDigit(p.peek(0)) {
				number += unit * int(p.src[p.at]-'0')
				p.at++
			} else if unit == 10 {
				p.fail(p.at, message)
			}
		}
	}
	n.test = testNever
	if number == version || atLeast && number < version {
		n.test = testAlways
	}
}

// recursionNumber returns the number in the name R12 of a condition, or 0 for R. Unless a group has
// that name, the condition is true within a call of that group, or of any group for R. ok is false
// for other names.
func recursionNumber(name string) (n int, ok bool) {
	rest, ok := strings.CutPrefix(name, "R")
	if !ok {
		return 0, false
	}
	for i := range len(rest) {
		if !isDigit(rest[i]) || n > maxGroups {
			return 0, false
		}
		n = n*10 + int(rest[i]-'0')
	}
	return n, true
}
