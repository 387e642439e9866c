package classad

import (
	"iter"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// The functions for lists that are written as one string, "a, b, c". Items are trimmed and empty
// ones dropped.
var stringListBuiltins = []Builtin{
	{
		Name: "stringListSize", MinArgs: 1, MaxArgs: 2, Condor: true, Missing: MissingFails, fn: stringListSize,
		Doc:     "Counts the items of a string list.",
		Example: `stringListSize("a, b") == 2`,
	},
	{
		Name: "stringListMember", MinArgs: 2, MaxArgs: 3, Condor: true, Missing: MissingAllowed,
		Doc:     "Tells whether a string is an item of a string list.",
		Example: `stringListMember("b", "a, b")`,
		fn:      func(c call) Value { return stringListMember(c, func(a, b string) bool { return a == b }) },
	},
	{
		Name: "stringListIMember", MinArgs: 2, MaxArgs: 3, Condor: true, Missing: MissingAllowed,
		Doc:     "Tells whether a string is an item of a string list, ignoring case.",
		Example: `stringListIMember("B", "a, b")`,
		fn: func(c call) Value {
			return stringListMember(c, func(a, b string) bool { return compareFold(a, b) == 0 })
		},
	},
	{
		Name: "stringListSubsetMatch", MinArgs: 2, MaxArgs: 3, Condor: true, Missing: MissingAllowed,
		Doc:     "Tells whether every item of a string list is an item of another.",
		Example: `stringListSubsetMatch("b, a", "a, b, c")`,
		fn:      func(c call) Value { return stringListSubset(c, func(item string) string { return item }) },
	},
	{
		Name: "stringListISubsetMatch", MinArgs: 2, MaxArgs: 3, Condor: true, Missing: MissingAllowed,
		Doc:     "Tells whether every item of a string list is an item of another, ignoring case.",
		Example: `stringListISubsetMatch("B, a", "A, b, c")`,
		fn:      func(c call) Value { return stringListSubset(c, ast.Fold) },
	},
	{
		Name: "stringListsIntersect", MinArgs: 2, MaxArgs: 3, fn: stringListsIntersect,
		Doc:     "Tells whether two string lists have an item in common; blanks around items count here.",
		Example: `stringListsIntersect("a, b", "b, c")`,
	},
}

// The default separators, which differ between the functions.
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
	n := int64(0)
	for range c.items(c.args[0].str(), separators) {
		n++
	}
	return integer(n)
}

// twoLists reads the arguments of functions of two string lists. If one list is undefined, it
// counts as the empty string; undefined separators mean the default. decided means that result is
// already the value of the call, because an argument is wrong, both lists are undefined or the
// steps ran out.
func (c call) twoLists() (first, second, separators string, result Value, decided bool) {
	separators = memberSeparators
	for i, a := range c.args {
		switch {
		case a.kind != Undefined && a.kind != String:
			return "", "", "", errorValue, true
		case i == 2 && a.kind == String:
			separators = a.str()
		}
	}
	if c.args[0].kind == Undefined && c.args[1].kind == Undefined {
		return "", "", "", undefined, true
	}
	return c.args[0].str(), c.args[1].str(), separators, errorValue, false
}

func stringListMember(c call, equal func(a, b string) bool) Value {
	x, l, separators, result, decided := c.twoLists()
	if decided {
		return result
	}
	for item := range c.items(l, separators) {
		if equal(item, x) {
			return boolean(true)
		}
	}
	return boolean(false)
}

// stringListSubset returns true if the first list is the empty string, but false if it has other
// text without any item.
func stringListSubset(c call, key func(string) string) Value {
	first, second, separators, result, decided := c.twoLists()
	if decided {
		return result
	}
	if first == "" {
		return boolean(true)
	}
	set := map[string]bool{}
	for item := range c.items(second, separators) {
		if !c.ev.spend(stepsPerEntry) {
			return errorValue
		}
		set[key(item)] = true
	}
	all := false
	for item := range c.items(first, separators) {
		if all = set[key(item)]; !all {
			break
		}
	}
	return boolean(all)
}

// stringListsIntersect splits its lists in another way than the other functions: items are not
// trimmed, and empty separators mean the default.
func stringListsIntersect(c call) Value {
	if !c.texts() {
		return errorValue
	}
	separators := c.option(2)
	if separators == "" {
		separators = " ,"
	}
	set := map[string]bool{}
	for item := range c.charged(splitBytes, c.args[1].str(), separators) {
		if !c.ev.spend(stepsPerEntry) {
			return errorValue
		}
		set[item] = true
	}
	for item := range c.charged(splitBytes, c.args[0].str(), separators) {
		if set[item] {
			return boolean(true)
		}
	}
	return boolean(false)
}

// items iterates over the items of a string list as [stringListItems] does, and ends early if the
// steps do not suffice.
func (c call) items(s, separators string) iter.Seq[string] {
	return c.charged(stringListItems, s, separators)
}

// charged charges steps for a walk through the items of s and for each of them.
func (c call) charged(split func(s, separators string) iter.Seq[string], s, separators string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !c.ev.spend((len(s) + len(separators)) / bytesPerStep) {
			return
		}
		for item := range split(s, separators) {
			if !c.ev.spend(1+len(item)/bytesPerStep) || !yield(item) {
				return
			}
		}
	}
}

// stringListItems iterates over the items of a string list, trimmed, without empty ones.
func stringListItems(s, separators string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for item := range splitBytes(s, separators) {
			for item != "" && isBlank(item[0]) {
				item = item[1:]
			}
			for item != "" && isBlank(item[len(item)-1]) {
				item = item[:len(item)-1]
			}
			if item != "" && !yield(item) {
				return
			}
		}
	}
}

// splitBytes iterates over the non-empty parts of s between the bytes in separators.
func splitBytes(s, separators string) iter.Seq[string] {
	return func(yield func(string) bool) {
		set, start := newByteSet(separators), 0
		for i := range len(s) + 1 {
			if i < len(s) && !set.has(s[i]) {
				continue
			}
			if start < i && !yield(s[start:i]) {
				return
			}
			start = i + 1
		}
	}
}
