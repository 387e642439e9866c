package pcre

import (
	"strings"
	"sync"
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
	set, ok := properties()[plainName(name)]
	if !ok {
		p.fail(start, "unknown property after \\P or \\p, or one that is not supported")
		return byteSet{}
	}
	if negative {
		return set.inverse()
	}
	return set
}

// plainName returns the name of a property in lower case and without what does not count in it.
func plainName(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if strings.ContainsRune(" -_", r) {
			return -1
		}
		return r
	}, name))
}

// properties returns the bytes that have each property, by its name. It computes them once, because
// a pattern may name thousands.
var properties = sync.OnceValue(func() map[string]byteSet {
	sets := map[string]byteSet{}
	set := func(in func(rune) bool, names ...string) {
		for _, name := range names {
			sets[name] = setWhere(func(b byte) bool { return in(rune(b)) })
		}
	}
	for category, table := range unicode.Categories {
		if len(category) <= 2 {
			set(func(r rune) bool { return unicode.Is(table, r) }, strings.ToLower(category))
		}
	}
	number := func(r rune) bool { return unicode.In(r, unicode.L, unicode.N) }
	set(func(rune) bool { return true }, "any")
	set(func(r rune) bool { return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt) }, "l&", "lc")
	set(number, "xan")
	set(func(r rune) bool { return number(r) || r == '_' }, "xwd")
	set(func(r rune) bool { return unicode.Is(unicode.Z, r) || r-'\t' < 5 && r >= '\t' || r == 0x85 }, "xsp", "xps")
	set(func(rune) bool { return false }, "cn", "co", "cs") // they have no code point below 256
	return sets
})
