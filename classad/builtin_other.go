package classad

import (
	"strings"

	"github.com/condor-backfill/condor-backfill/classad/parser"
)

// versions returns a function of the language that compares two version numbers.
func versions(name, doc, example string, holds func(order int) bool) Builtin {
	return Builtin{
		Name: name, MinArgs: 2, MaxArgs: 2, Missing: UndefinedFirst, Exact: true, Doc: doc, Example: example,
		fn: func(c call) Value {
			return boolean(holds(compareVersions(c.text(0), c.text(1))))
		},
	}
}

var otherBuiltins = []Builtin{
	{
		Name: "ifThenElse", MinArgs: 3, MaxArgs: 3, Lazy: true,
		Doc:     "Evaluates the second argument if the first is true, else the third.",
		Example: `ifThenElse(1 < 2, true, 1 / 0)`,
		fn: func(c call) Value {
			switch t := truthOf(c.eval(0)); t {
			case yes:
				return c.eval(1)
			case no:
				return c.eval(2)
			default:
				return t.value()
			}
		},
	},
	{
		Name: "eval", MinArgs: 1, MaxArgs: 1, Context: true, Missing: MissingFails, fn: evalText,
		Doc:     "Parses a string, or the text of another value, and evaluates it where the call stands.",
		Example: `eval("1 + 1") is 2`,
	},
	{
		Name: "versioncmp", MinArgs: 2, MaxArgs: 2, Missing: UndefinedFirst,
		Doc:     "Orders two version numbers: negative, 0 or positive.",
		Example: `versioncmp("8.9.12", "8.9.2") > 0`,
		fn: func(c call) Value {
			return integer(int64(compareVersions(c.text(0), c.text(1))))
		},
	},
	versions("versionLT", "Tells whether a version is less than another.", `versionLT("1.9", "1.10")`,
		func(order int) bool { return order < 0 }),
	versions("versionLE", "Tells whether a version is not greater than another.", `versionLE("1.9", "1.9")`,
		func(order int) bool { return order <= 0 }),
	versions("versionEQ", "Tells whether two versions are the same.", `versionEQ("1.9", "1.9")`,
		func(order int) bool { return order == 0 }),
	versions("versionGE", "Tells whether a version is not less than another.", `versionGE("1.10", "1.9")`,
		func(order int) bool { return order >= 0 }),
	versions("versionGT", "Tells whether a version is greater than another.", `versionGT("1.10", "1.9")`,
		func(order int) bool { return order > 0 }),
	{
		Name: "version_in_range", MinArgs: 3, MaxArgs: 3, Missing: MissingAllowed, fn: versionInRange,
		Doc:     "Tells whether a version is between two others or one of them.",
		Example: `version_in_range("1.10", "1.9", "2.0")`,
	},
}

// versionInRange returns undefined if a bound is undefined, else error if the version is undefined.
func versionInRange(c call) Value {
	v, low, high := c.args[0], c.args[1], c.args[2]
	switch {
	case low.kind == Undefined || high.kind == Undefined:
		return undefined
	case v.isMissing() || low.kind == Error || high.kind == Error:
		return errorValue
	}
	version := c.text(0)
	return boolean(compareVersions(c.text(1), version) <= 0 && compareVersions(version, c.text(2)) <= 0)
}

func evalText(c call) Value {
	s := c.text(0)
	if !c.ev.spend(stepsPerParsedByte * len(s)) {
		return errorValue
	}
	e, err := parser.Syntax{Strict: c.ev.strict}.Expr(s)
	if err != nil {
		return errorValue
	}
	return c.ev.follow(&Expr{tree: e}, c.frame)
}

// compareVersions returns a negative number if version a is before b, 0 if they are equal, else a
// positive number. It compares runs of digits as numbers, where more leading zeros come first;
// everything else, and numbers with equal leading zeros, by bytes.
func compareVersions(a, b string) int {
	at := func(s string, i int) byte {
		if i < len(s) {
			return s[i]
		}
		return 0
	}
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	difference := int(at(a, i)) - int(at(b, i))
	start := i
	for start > 0 && isDigit(at(a, start-1)) {
		start--
	}
	if difference == 0 || !isDigit(at(a, start)) || !isDigit(at(b, start)) {
		return difference
	}
	a, b = a[start:], b[start:]
	switch zerosA, zerosB := leadingZeros(a), leadingZeros(b); {
	case zerosA != zerosB:
		return zerosB - zerosA
	case zerosA > 0 || digits(a) == digits(b):
		return difference
	default:
		return digits(a) - digits(b)
	}
}

// leadingZeros counts the zeros at the start of a number, except one that is its last digit.
func leadingZeros(s string) int {
	zeros := len(s) - len(strings.TrimLeft(s, "0"))
	if zeros > 0 && zeros == digits(s) {
		zeros--
	}
	return zeros
}

// digits counts the digits at the start of a text.
func digits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}
