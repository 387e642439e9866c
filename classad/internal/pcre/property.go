package pcre

import (
	"strings"
	"unicode"
)

// property reads the rest of \p or \P and returns the bytes that have the property or, if negative,
// the bytes that lack it. A property is a general category of Unicode or one of PCRE2's own. A byte
// counts as the code point of the same number.
func (p *parser) property(negative bool) byteSet {
	start := p.at
	var name string
	switch {
	case !p.more():
		p.fail(start, `malformed \P or \p sequence`)
		return byteSet{}
	case p.accept('{'):
		if p.accept('^') {
			negative = !negative
		}
		from := p.at
		if !p.skipPast('}') {
			p.fail(start, `malformed \P or \p sequence`)
			return byteSet{}
		}
		name = p.src[from : p.at-1]
	default:
		name = p.src[p.at : p.at+1]
		p.at++
	}
	in, ok := propertyTest(strings.ToLower(strings.NewReplacer(" ", "", "-", "", "_", "").Replace(name)))
	if !ok {
		p.fail(start, "unknown property after \\P or \\p, or one that is not supported")
		return byteSet{}
	}
	return setWhere(func(b byte) bool { return in(rune(b)) != negative })
}

// propertyTest returns the test for a property, whose name must be in lower case; false if the
// property is unknown.
func propertyTest(name string) (func(rune) bool, bool) {
	number := func(r rune) bool { return unicode.In(r, unicode.L, unicode.N) }
	blank := func(r rune) bool { return unicode.Is(unicode.Z, r) || r-'\t' < 5 && r >= '\t' || r == 0x85 }
	switch name {
	case "any":
		return func(rune) bool { return true }, true
	case "l&", "lc":
		return func(r rune) bool { return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt) }, true
	case "xan":
		return number, true
	case "xwd":
		return func(r rune) bool { return number(r) || r == '_' }, true
	case "xsp", "xps":
		return blank, true
	case "cn", "co", "cs": // they have no code point below 256
		return func(rune) bool { return false }, true
	}
	for category, table := range unicode.Categories {
		if strings.ToLower(category) == name && len(name) <= 2 {
			return func(r rune) bool { return unicode.Is(table, r) }, true
		}
	}
	return nil, false
}
