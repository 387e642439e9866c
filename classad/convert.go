package classad

import (
	"math"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// textOf converts a value to text as strcat does: strings unchanged, times without the call of
// absTime or relTime around them, relative ones in whole seconds, and everything else as it is
// printed.
func textOf(v Value) string {
	switch v.kind {
	case String:
		return v.str()
	case Integer:
		return strconv.FormatInt(v.asInt(), 10)
	default:
		return string(appendText(nil, v))
	}
}

// textOf converts a value as the function textOf does and charges steps for the text; "" if they do
// not suffice.
func (ev *evaluator) textOf(v Value) string {
	if !ev.affordsText(v) {
		return ""
	}
	return textOf(v)
}

// appendText appends the text to which the function textOf converts a value.
func appendText(b []byte, v Value) []byte {
	switch v.kind {
	case String:
		return append(b, v.str()...)
	case AbsTime, RelTime:
		return appendTime(b, v)
	default:
		return v.append(b, ast.Canonical)
	}
}

// realOf converts numbers, booleans, times in whole seconds and strings that begin with a number;
// what follows the number is ignored. It charges steps for strings. The second result is false for
// all other values, and if the steps do not suffice.
func (ev *evaluator) realOf(v Value) (float64, bool) {
	switch v.kind {
	case String:
		return ev.leadingNumber(v.str())
	case AbsTime, RelTime:
		return secondsOf(v), true
	default:
		return numeric(v)
	}
}

// toInteger rounds with the given function and clamps to the range of integers. NaN becomes 0.
func toInteger(r float64, round func(float64) float64) Value {
	switch r = round(r); {
	case math.IsNaN(r):
		return integer(0)
	case r >= math.MaxInt64:
		return integer(math.MaxInt64)
	case r <= math.MinInt64:
		return integer(math.MinInt64)
	default:
		return integer(int64(r))
	}
}

// leadingNumber reads the longest prefix of s that is a number, as the C function strtod does:
// blanks and a sign, then decimal or hexadecimal digits with an exponent, inf, infinity or nan. The
// second result is false if there is none or the steps do not suffice.
func (ev *evaluator) leadingNumber(s string) (float64, bool) {
	all := len(s)
	s = strings.TrimLeft(s, blanks)
	const longest = 1000 // more digits do not change the value
	skipped := all - len(s)
	s = s[:min(len(s), longest)]
	number := s[:numberEnd(s)]
	if !ev.spend((skipped+len(number))/bytesPerStep + stepsToRead(number)) {
		return 0, false
	}
	if isHex(strings.TrimLeft(number, "+-")) && !strings.ContainsAny(number, "pP") {
		number += "p0"
	}
	r, err := ast.ParseReal(number)
	return r, err == nil || math.IsInf(r, 0)
}

// stepsToRead is for numbers that do not look quick, see [ast.ParseReal].
func stepsToRead(number string) int {
	const quick = 19
	if len(number) > quick || strings.ContainsAny(number, "eE") {
		return stepsPerLongNumber + len(number)/quotedBytesPerStep
	}
	return stepsPerNumber
}

func isHex(s string) bool { return len(s) >= 2 && s[0] == '0' && s[1]|0x20 == 'x' }

// numberEnd returns the end of the number at the start of s, or 0 if there is none.
func numberEnd(s string) int {
	start := 0
	if s != "" && (s[0] == '+' || s[0] == '-') {
		start = 1
	}
	for _, word := range []string{"infinity", "inf", "nan"} {
		if end := start + len(word); len(s) >= end && equalFold(s[start:end], word) {
			return end
		}
	}
	if isHex(s[start:]) {
		if end := digitsEnd(s, start+2, isHexDigit, 'p'); end > 0 {
			return end
		}
	}
	return digitsEnd(s, start, isDigit, 'e')
}

// digitsEnd returns the end of the digits at index i, which may contain a point, and of an exponent
// after them; 0 if there are no digits.
func digitsEnd(s string, i int, digit func(byte) bool, exponent byte) int {
	skip := func(i int, digit func(byte) bool) int {
		for i < len(s) && digit(s[i]) {
			i++
		}
		return i
	}
	start := i
	i = skip(i, digit)
	digits := i - start
	if i < len(s) && s[i] == '.' {
		end := skip(i+1, digit)
		digits += end - i - 1
		i = end
	}
	if digits == 0 {
		return 0
	}
	if i < len(s) && s[i]|0x20 == exponent {
		first := i + 1
		if first < len(s) && (s[first] == '+' || s[first] == '-') {
			first++
		}
		if end := skip(first, isDigit); end > first {
			return end
		}
	}
	return i
}

func isHexDigit(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
