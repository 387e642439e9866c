package inwords

import "strconv"

// Duration writes a time for people: in seconds, with so many decimals, and in hours beside it, such
// as 62,293,404 s (17,303.72 h).
func Duration(seconds float64, decimals int) string {
	return Grouped(seconds, decimals) + " s (" + Hours(seconds) + " h)"
}

// Hours writes a number of seconds in hours. They have two decimals each, so that the numbers of a
// column compare at a glance.
func Hours(seconds float64) string { return Grouped(seconds/3600, 2) }

// Grouped writes a number with so many decimals and commas between the thousands.
func Grouped(v float64, decimals int) string {
	return grouped(strconv.FormatFloat(v, 'f', decimals, 64))
}

// Whole writes a whole number with commas between the thousands.
func Whole[N int | int64](n N) string { return grouped(strconv.FormatInt(int64(n), 10)) }

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
