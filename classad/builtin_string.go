package classad

import (
	"cmp"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

var stringBuiltins = []Builtin{
	{
		Name: "strcat", MinArgs: 0, MaxArgs: anyNumber, Missing: MissingAllowed, fn: concatenate,
		Doc:     "Joins the texts of all arguments; the first that is undefined or error is the result.",
		Example: `strcat("a", 1, true) is "a1true"`,
	},
	{
		Name: "join", MinArgs: 0, MaxArgs: anyNumber, Missing: MissingAllowed, fn: join,
		Doc:     "Joins the elements of a list, or the other arguments, with the first argument between them.",
		Example: `join(", ", { "a", "b" }) is "a, b"`,
	},
	{
		Name: "toUpper", MinArgs: 1, MaxArgs: 1,
		Doc:     "Makes ASCII letters upper case.",
		Example: `toUpper("Ab") is "AB"`,
		fn:      func(c call) Value { return text(mapBytes(c.text(0), upper)) },
	},
	{
		Name: "toLower", MinArgs: 1, MaxArgs: 1,
		Doc:     "Makes ASCII letters lower case.",
		Example: `toLower("Ab") is "ab"`,
		fn:      func(c call) Value { return text(ast.Fold(c.text(0))) },
	},
	{
		Name: "substr", MinArgs: 2, MaxArgs: 3, Missing: UndefinedFirst, fn: substring,
		Doc:     "Cuts out of a string from an offset, from the end if negative; a negative length leaves off the end.",
		Example: `substr("abcdef", -3, 2) is "de"`,
	},
	{
		Name: "strcmp", MinArgs: 2, MaxArgs: 2, Missing: UndefinedFirst,
		Doc:     "Orders two texts by their bytes: -1, 0 or 1.",
		Example: `strcmp("a", "B") == 1`,
		fn:      func(c call) Value { return integer(int64(cmp.Compare(c.text(0), c.text(1)))) },
	},
	{
		Name: "stricmp", MinArgs: 2, MaxArgs: 2, Missing: UndefinedFirst,
		Doc:     "Orders two texts by their bytes, ignoring the case of ASCII letters: -1, 0 or 1.",
		Example: `stricmp("a", "B") == -1`,
		fn:      func(c call) Value { return integer(int64(compareFold(c.text(0), c.text(1)))) },
	},
	{
		Name: "split", MinArgs: 1, MaxArgs: 2, Condor: true, Missing: MissingFails, fn: split,
		Doc:     "Cuts a string at separators, by default commas and blanks, into a list.",
		Example: `split("a, b")[1] is "b"`,
	},
	{
		Name: "splitUserName", MinArgs: 1, MaxArgs: 1, Condor: true, Missing: MissingFails,
		Doc:     "Cuts a string at the first @; without one the second half is empty.",
		Example: `splitUserName("ann@cs")[0] is "ann"`,
		fn:      func(c call) Value { return c.splitAt(false) },
	},
	{
		Name: "splitSlotName", MinArgs: 1, MaxArgs: 1, Condor: true, Missing: MissingFails,
		Doc:     "Cuts a string at the first @; without one the first half is empty.",
		Example: `splitSlotName("node7")[1] is "node7"`,
		fn:      func(c call) Value { return c.splitAt(true) },
	},
}

func concatenate(c call) Value {
	b := c.ev.scratch[:0]
	for _, a := range c.args {
		if a.isMissing() {
			return a
		}
		if !c.ev.affordsText(a) {
			return errorValue
		}
		b = appendText(b, a)
	}
	c.ev.keepScratch(b)
	return text(string(b))
}

// join skips undefined items. An item gets a separator before it only if the text so far is not
// empty.
func join(c call) Value {
	separator, items := "", c.args
	switch {
	case len(items) == 1 && items[0].isMissing():
		return items[0]
	case len(items) == 1 && items[0].kind != List:
		return text("")
	case len(items) > 1 && items[0].kind == Error:
		return errorValue
	case len(items) > 1:
		if items[0].kind != Undefined {
			separator = c.ev.textOf(items[0])
		}
		items = items[1:]
	}
	if len(items) == 1 {
		values := []Value{}
		if c.each(items[0], func(v Value) bool { values = append(values, v); return true }) {
			items = values
		}
	}
	var b strings.Builder
	defined := 0
	for _, v := range items {
		if v.kind == Error {
			return errorValue
		}
		if v.kind == Undefined {
			continue
		}
		defined++
		if b.Len() > 0 {
			b.WriteString(separator)
		}
		if !c.ev.spend(len(separator)/bytesPerStep) || !c.ev.affordsText(v) {
			return errorValue
		}
		b.WriteString(textOf(v))
	}
	if defined == 0 && (len(items) > 0 || len(c.args) > 1 && c.args[0].kind == Undefined) {
		return undefined
	}
	return text(b.String())
}

func mapBytes(s string, f func(byte) byte) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = f(c)
	}
	return string(b)
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}

// substring truncates its numbers to 32 bits, as HTCondor does.
func substring(c call) Value {
	s, from := c.args[0], c.args[1]
	if s.kind != String || from.kind != Integer {
		return errorValue
	}
	size := len(s.str())
	start := int(int32(from.asInt()))
	if start < 0 {
		start += size
	}
	start = min(max(start, 0), size)
	end := size
	if len(c.args) == 3 {
		if c.args[2].kind != Integer {
			return errorValue
		}
		if length := int(int32(c.args[2].asInt())); length < 0 {
			end = size + length
		} else {
			end = start + length
		}
	}
	end = min(max(end, start), size)
	return text(s.str()[start:end])
}

const splitSeparators = ", \t"

// split produces an empty item only between two equal separators that are no blanks; see
// splitItems.
func split(c call) Value {
	separators := splitSeparators
	if len(c.args) == 2 {
		if c.args[1].kind != String {
			return errorValue
		}
		separators = c.args[1].str()
	}
	s := c.args[0]
	if s.kind != String || !c.ev.spend((len(s.str())+len(separators))/bytesPerStep) {
		return errorValue
	}
	const usualItems = 16
	items := splitItems(c.ev.room(usualItems), s.str(), separators)
	if !c.ev.spend(stepsPerElement * len(items)) {
		return errorValue
	}
	return c.ev.newList(list{values: items})
}

// splitItems appends the items to the values. An empty item counts only if, apart from blanks, the
// separator after it is the same as the one before it.
func splitItems(values []Value, s, separators string) []Value {
	set, before, start := newByteSet(separators), byte(0), 0
	for i := range len(s) {
		c := s[i]
		if !set.has(c) {
			continue
		}
		if i > start || c == before {
			values = append(values, text(s[start:i]))
		}
		if !isBlank(c) {
			before = c
		}
		start = i + 1
	}
	if start < len(s) {
		values = append(values, text(s[start:]))
	}
	return values
}

// byteSet is a set of bytes.
type byteSet [4]uint64

func newByteSet(s string) (b byteSet) {
	for i := range len(s) {
		b[s[i]>>6] |= 1 << (s[i] & 63)
	}
	return b
}

func (b *byteSet) has(c byte) bool { return b[c>>6]>>(c&63)&1 != 0 }

func (c call) splitAt(nameLast bool) Value {
	v := c.args[0]
	if v.kind != String || !c.ev.spend(2*stepsPerElement+len(v.str())/bytesPerStep) {
		return errorValue
	}
	before, after, found := strings.Cut(v.str(), "@")
	if !found && nameLast {
		before, after = after, before
	}
	return listOfValues([]Value{text(before), text(after)})
}
