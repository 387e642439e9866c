package classad

import (
	"math"
	"strconv"
	"strings"
)

// textOf converts a value to text as strcat does: strings as they are, times without the function
// around them, relative ones in whole seconds, and everything else as it is printed.
func textOf(v Value) string {
	if v.kind == String {
		return v.str()
	}
	return string(appendText(nil, v))
}

// appendText adds what textOf gives.
func appendText(b []byte, v Value) []byte {
	switch v.kind {
	case String:
		return append(b, v.str()...)
	case AbsTime, RelTime:
		return appendTime(b, v)
	default:
		return v.append(b)
	}
}

// realOf converts numbers, booleans, times in whole seconds and strings that begin with a number; whatever follows the
// number is ignored.
func realOf(v Value) (float64, bool) {
	switch v.kind {
	case String:
		return leadingNumber(v.str())
	case AbsTime, RelTime:
		return secondsOf(v), true
	default:
		return numeric(v)
	}
}

// toInteger rounds with the given function and keeps within the range of integers. NaN becomes 0.
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

// leadingNumber reads the longest beginning of s that is a number, as the C function strtod does: blanks and a sign,
// then decimal or hexadecimal digits with an exponent, inf, infinity or nan.
func leadingNumber(s string) (float64, bool) {
	s = strings.TrimLeft(s, blanks)
	for end := numberEnd(s); end > 0; end-- {
		number := s[:end]
		if isHex(number) && !strings.ContainsAny(number, "pP") {
			number += "p0"
		}
		if r, err := strconv.ParseFloat(number, 64); err == nil || math.IsInf(r, 0) {
			return r, true
		}
	}
	return 0, false
}

func isHex(s string) bool {
	s = strings.TrimLeft(s, "+-")
	return len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x'
}

// numberEnd is where s has the first byte that is in no number. What is before it need not be one.
func numberEnd(s string) int {
	sign := len(s) - len(strings.TrimLeft(s, "+-"))
	for _, word := range []string{"infinity", "inf", "nan"} {
		if end := sign + len(word); len(s) >= end && strings.EqualFold(s[sign:end], word) {
			return end
		}
	}
	const decimal, hexadecimal = "0123456789.eE+-", "0123456789abcdefABCDEF.xXpP+-"
	digits := decimal
	if isHex(s) {
		digits = hexadecimal
	}
	const longest = 1000 // no number of so many digits differs from its beginning
	for i := range min(len(s), longest) {
		if strings.IndexByte(digits, s[i]) < 0 {
			return i
		}
	}
	return min(len(s), longest)
}
