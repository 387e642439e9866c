package classad

import "strings"

// The functions on lists that are written as one string, "a, b, c". Items are trimmed and empty ones dropped.
var stringListBuiltins = []Builtin{
	{
		Name: "stringListSize", MinArgs: 1, MaxArgs: 2, Missing: MissingFails, fn: stringListSize,
		Doc:     "Counts the items of a string list.",
		Example: `stringListSize("a, b") == 2`,
	},
	{
		Name: "stringListMember", MinArgs: 2, MaxArgs: 3, Missing: MissingAllowed,
		Doc:     "Tells whether a string is an item of a string list.",
		Example: `stringListMember("b", "a, b")`,
		fn:      func(c call) Value { return stringListMember(c, func(a, b string) bool { return a == b }) },
	},
	{
		Name: "stringListIMember", MinArgs: 2, MaxArgs: 3, Missing: MissingAllowed,
		Doc:     "Tells whether a string is an item of a string list, ignoring case.",
		Example: `stringListIMember("B", "a, b")`,
		fn: func(c call) Value {
			return stringListMember(c, func(a, b string) bool { return compareFold(a, b) == 0 })
		},
	},
}

// The separators that are used when none are given differ between the functions.
const (
	sizeSeparators   = ", "
	memberSeparators = ", \t\r\n"
)

func stringListSize(c call) Value {
	separators := sizeSeparators
	for i, a := range c.args {
		if a.kind != String {
			return errorValue
		}
		if i == 1 {
			separators = a.str()
		}
	}
	if !c.ev.spend(len(c.args[0].str()) / bytesPerStep) {
		return errorValue
	}
	return integer(int64(len(stringListItems(c.args[0].str(), separators))))
}

// stringListMember takes a single undefined argument for the empty string.
func stringListMember(c call, equal func(a, b string) bool) Value {
	separators, undefinedOnes := memberSeparators, 0
	for i, a := range c.args {
		switch {
		case a.kind == Undefined:
			undefinedOnes++
		case a.kind != String:
			return errorValue
		case i == 2:
			separators = a.str()
		}
	}
	if c.args[0].kind == Undefined && c.args[1].kind == Undefined {
		return undefined
	}
	if undefinedOnes > 0 {
		return boolean(false)
	}
	if !c.ev.spend(len(c.args[1].str()) / bytesPerStep) {
		return errorValue
	}
	for _, item := range stringListItems(c.args[1].str(), separators) {
		if equal(item, c.args[0].str()) {
			return boolean(true)
		}
	}
	return boolean(false)
}

func stringListItems(s, separators string) []string {
	var items []string
	for item := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		if item = strings.Trim(item, " \t\r\n\v\f"); item != "" {
			items = append(items, item)
		}
	}
	return items
}
