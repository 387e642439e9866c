package metrics

import (
	"math"
	"strconv"
)

// Spoken writes a time as people say it: in the largest unit of which it has two or more.
func Spoken(seconds float64) string {
	for _, unit := range []struct {
		seconds float64
		name    string
	}{{86400, "d"}, {3600, "h"}, {60, "min"}} {
		if n := seconds / unit.seconds; n >= 2 {
			decimals := 1
			if n >= 100 {
				decimals = 0
			}
			return strconv.FormatFloat(n, 'f', decimals, 64) + " " + unit.name
		}
	}
	return strconv.FormatFloat(math.Round(seconds*10)/10, 'f', -1, 64) + " s"
}

// Duration writes a time for people in seconds, with so many decimals, and from two hours on also
// as they say it, such as 62,293,404 s (721 d).
func Duration(seconds float64, decimals int) string {
	const long = 2 * 3600
	text := grouped(strconv.FormatFloat(seconds, 'f', decimals, 64)) + " s"
	if seconds >= long {
		text += " (" + Spoken(seconds) + ")"
	}
	return text
}

// Grouped writes a number for people, such as 42,504.
func Grouped(n int) string { return grouped(strconv.Itoa(n)) }

// grouped puts commas between the thousands of a decimal number.
func grouped(number string) string {
	sign, digits := "", number
	if number != "" && number[0] == '-' {
		sign, digits = "-", number[1:]
	}
	end := len(digits)
	for i := range digits {
		if digits[i] < '0' || digits[i] > '9' { // a point, or the letters of NaN and Inf
			end = i
			break
		}
	}
	for i := end - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}
