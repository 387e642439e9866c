package ast

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	secondsPerMinute = 60
	secondsPerHour   = 60 * secondsPerMinute
	secondsPerDay    = 24 * secondsPerHour
)

// ParseAbsTime parses an absolute time, in full 2020-01-02T03:04:05+01:00. It accepts what HTCondor
// accepts: a year of four digits, then optional fields of two digits for month, day, hours, minutes
// and seconds, separated by anything but digits; then Z, +hhmm or +hh:mm. Fields out of range carry
// over. A text without a zone is in UTC here, but in local time in HTCondor.
//
// The result is in seconds since 1970, with the offset of the zone in seconds east of Greenwich. ok
// is false if the text is not such a time.
func ParseAbsTime(text string) (seconds int64, offset int, ok bool) {
	text, offset = cutZone(text)
	year, rest := cutField(text, 4)
	if year < 0 {
		return 0, 0, false
	}
	fields := [...]int{0, 0, 0, 0, 0} // without a day, day 0 stands for the last day of the month before
	fields[0] = 1
	for i := range fields {
		var value int
		value, rest = cutField(rest, 2)
		if value < 0 {
			break
		}
		fields[i] = value
	}
	if strings.IndexFunc(rest, isDigitRune) >= 0 {
		return 0, 0, false
	}
	t := time.Date(year, time.Month(fields[0]), fields[1], fields[2], fields[3], fields[4], 0, time.UTC)
	return t.Unix() - int64(offset), offset, true
}

// cutZone cuts the zone off the end of a text and returns its offset in seconds east of Greenwich.
// A zone is a Z, which only blanks may follow, or a sign and four digits, possibly with a colon in
// the middle. Without a zone the offset is 0.
func cutZone(text string) (rest string, offset int) {
	if trimmed := strings.TrimRight(text, blanks); len(trimmed) > 1 && trimmed[len(trimmed)-1]|0x20 == 'z' {
		return trimmed[:len(trimmed)-1] + text[len(trimmed):], 0
	}
	isSign := func(c byte) bool { return c == '+' || c == '-' }
	n := len(text)
	switch {
	case n > 5 && isSign(text[n-5]):
	case n > 6 && isSign(text[n-6]) && text[n-3] == ':':
		text = text[:n-3] + text[n-2:]
		n--
	default:
		return text, 0
	}
	for _, c := range []byte(text[n-4:]) {
		if !isDigit(c) {
			return text, 0
		}
	}
	offset = leadingInt(text[n-4:n-2])*secondsPerHour + leadingInt(text[n-2:])*secondsPerMinute
	if text[n-5] == '-' {
		offset = -offset
	}
	return text[:n-5], offset
}

// cutField reads a number from as many bytes as width says, beginning with the first digit; 1x
// counts as 1. The value is negative if there are too few bytes.
func cutField(text string, width int) (value int, rest string) {
	start := strings.IndexFunc(text, isDigitRune)
	if start < 0 {
		return -1, ""
	}
	if start+width > len(text) {
		return -1, text[start:]
	}
	return leadingInt(text[start : start+width]), text[start+width:]
}

func leadingInt(digits string) int {
	n := 0
	for i := 0; i < len(digits) && isDigit(digits[i]); i++ {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}

const blanks = " \t\n\v\f\r"

func isDigit(c byte) bool     { return '0' <= c && c <= '9' }
func isDigitRune(c rune) bool { return '0' <= c && c <= '9' }

// ParseRelTime parses a relative time, in seconds: -1+02:03:04.5, 1d 2h 3m 4.5s, or parts of these.
// As in HTCondor every part may be left out, even all digits, and blanks may separate the parts. ok
// is false if the text has anything else in it.
func ParseRelTime(text string) (seconds float64, ok bool) {
	r := reversed{text}
	if r.skipBlanks(); r.last(isDigit) || r.cut("sS") {
		r.skipBlanks()
		digits := r.digits()
		if r.cut(".") {
			digits = r.digits() + "." + digits
		}
		seconds, _ = ParseReal("0" + digits) // out of range it becomes infinite
	}
	for _, unit := range []struct {
		names   string
		seconds float64
	}{{"mM:", secondsPerMinute}, {"hH:", secondsPerHour}, {"dD+", secondsPerDay}} {
		if r.skipBlanks(); r.cut(unit.names) {
			r.skipBlanks()
			n, err := strconv.ParseInt(r.digits(), 10, 32)
			if err != nil {
				n = 0 // as in HTCondor
			}
			seconds += float64(n) * unit.seconds
		}
	}
	sign := 1.0
	if r.skipBlanks(); r.cut("-") {
		sign = -1
	}
	r.skipBlanks()
	return sign * seconds, r.text == ""
}

// reversed is a text that is read from its end.
type reversed struct{ text string }

func (r *reversed) skipBlanks() { r.text = strings.TrimRight(r.text, blanks) }

func (r *reversed) last(test func(byte) bool) bool {
	return r.text != "" && test(r.text[len(r.text)-1])
}

// cut removes the last byte if it is in the set, and reports whether it was.
func (r *reversed) cut(set string) bool {
	if !r.last(func(c byte) bool { return strings.IndexByte(set, c) >= 0 }) {
		return false
	}
	r.text = r.text[:len(r.text)-1]
	return true
}

func (r *reversed) digits() string {
	start := len(r.text)
	for start > 0 && isDigit(r.text[start-1]) {
		start--
	}
	digits := r.text[start:]
	r.text = r.text[:start]
	return digits
}

// AppendAbsTime appends an absolute time: 2020-01-02T03:04:05+01:00. As in HTCondor the year has as
// many digits as it needs, the offset is in minutes, and a zero offset has a minus sign.
func AppendAbsTime(b []byte, seconds int64, offset int) []byte {
	t := time.Unix(seconds+int64(offset), 0).UTC()
	sign := '+'
	if offset <= 0 {
		sign, offset = '-', -offset
	}
	b = strconv.AppendInt(b, int64(t.Year()), 10)
	b = t.AppendFormat(b, "-01-02T15:04:05")
	return fmt.Appendf(b, "%c%02d:%02d", sign, offset/secondsPerHour, offset/secondsPerMinute%60)
}

// AppendRelTime appends a relative time: -1+02:03:04. Leading units that are zero are left out; as
// in HTCondor, seconds with a fraction have six digits and no zero before them. Times beyond 64
// bits are printed as the nearest that fits, and NaN as 0.
func AppendRelTime(b []byte, seconds float64) []byte {
	if seconds < 0 {
		b = append(b, '-')
		seconds = -seconds
	}
	whole, fraction := math.Modf(seconds)
	n := int64(math.MaxInt64)
	switch {
	case math.IsNaN(seconds):
		n, fraction = 0, 0
	case whole < math.MaxInt64:
		n = int64(whole)
	default:
		fraction = 0
	}
	days, hours, minutes := n/secondsPerDay, n/secondsPerHour%24, n/secondsPerMinute%60
	switch {
	case days > 0:
		b = fmt.Appendf(b, "%d+%02d:%02d:", days, hours, minutes)
	case hours > 0:
		b = fmt.Appendf(b, "%02d:%02d:", hours, minutes)
	case minutes > 0:
		b = fmt.Appendf(b, "%02d:", minutes)
	}
	if fraction == 0 {
		return fmt.Appendf(b, "%02d", n%60)
	}
	return fmt.Appendf(b, "%02.6g", float64(n%60)+fraction)
}
