package classad

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxFormatted is the maximum length of a formatted time, as in HTCondor.
const maxFormatted = 1022

// brokenTime is a time in fields, which may be out of their usual ranges.
type brokenTime struct {
	year, month, day     int // months from 0 on, days from 1 on
	hour, minute, second int
	weekday, yearday     int // Sunday and the first of January are 0
	zone                 *time.Location
}

// number computes the day of the week and of the year from the other fields.
func (t *brokenTime) number() {
	day := daysUntil(t.year, t.month+1, t.day)
	t.weekday = day % 7
	t.yearday = day - daysUntil(t.year, 1, 1)
}

// daysUntil counts days from the start of the calendar; like HTCondor, it accepts months out of
// range.
func daysUntil(year, month, day int) int {
	shorter := 0
	switch {
	case month <= 2:
	case isLeap(year):
		shorter = 1
	default:
		shorter = 2
	}
	before := year - 1
	return 365*before + before/4 - before/100 + before/400 + (367*month-362)/12 - shorter + day
}

func isLeap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

var (
	weekdays = [...]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
	months   = [...]string{
		"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
		"December",
	}
)

// composed are the conversions that stand for several others.
var composed = map[byte]string{
	'c': "%a %b %e %H:%M:%S %Y", 'D': "%m/%d/%y", 'x': "%m/%d/%y", 'F': "%Y-%m-%d", 'r': "%I:%M:%S %p", 'R': "%H:%M",
	'T': "%H:%M:%S", 'X': "%H:%M:%S",
}

// conversion is one % conversion with its flags.
type conversion struct {
	text  string // as written
	flags string
	width int
	verb  byte
	bad   bool // the modifier does not fit the letter
}

// format formats the time as strftime of the GNU C library does in the C locale. ok is false if the
// result is too long.
func (t *brokenTime) format(layout string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(layout); {
		if layout[i] != '%' {
			b.WriteByte(layout[i])
			i++
		} else {
			v := parseConversion(layout[i:])
			b.WriteString(t.convert(v))
			i += len(v.text)
		}
		if b.Len() > maxFormatted {
			return "", false
		}
	}
	return b.String(), true
}

// parseConversion reads flags, a width, a modifier and the letter, which is 0 if the format ends
// before it. The modifier has no effect unless it does not fit the letter.
func parseConversion(s string) conversion {
	i := 1
	skip := func(set string) string {
		start := i
		for i < len(s) && strings.IndexByte(set, s[i]) >= 0 {
			i++
		}
		return s[start:i]
	}
	v := conversion{flags: skip("_-0^#")}
	if digits := skip("0123456789"); digits != "" {
		n, err := strconv.Atoi(digits)
		if err != nil || n > maxFormatted {
			n = maxFormatted + 1
		}
		v.width = n
	}
	excluded := ""
	if i < len(s) && (s[i] == 'E' || s[i] == 'O') {
		excluded = map[byte]string{'E': "aAbBhdDeFHIkljmMSUVwWgG", 'O': "aADFcxXY"}[s[i]]
		i++
	}
	if i < len(s) {
		v.verb = s[i]
		i++
	}
	v.text, v.bad = s[:i], strings.IndexByte(excluded, v.verb) >= 0
	return v
}

// convert returns the text of a conversion; an unknown one stays as it is.
func (t *brokenTime) convert(v conversion) string {
	if v.bad {
		return v.pad(v.cased(v.text), ' ')
	}
	if layout, ok := composed[v.verb]; ok {
		s, _ := t.format(layout)
		return v.pad(v.cased(s), ' ')
	}
	if s, ok := t.word(v); ok {
		return v.pad(v.cased(s), ' ')
	}
	if n, width, fill, ok := t.numeral(v.verb); ok {
		return v.digits(n, width, fill)
	}
	if v.verb == 'z' {
		return v.pad("+", ' ') + v.digits(0, 4, '0')
	}
	return v.pad(v.cased(v.text), ' ')
}

// word returns the text of a conversion that is not a number; false for numbers and unknown
// letters.
func (t *brokenTime) word(v conversion) (string, bool) {
	name := func(names []string, i, length int) string {
		if i < 0 || i >= len(names) {
			return "?"
		}
		return names[i][:min(length, len(names[i]))]
	}
	const short, full = 3, 10
	switch v.verb {
	case 'a':
		return name(weekdays[:], t.weekday, short), true
	case 'A':
		return name(weekdays[:], t.weekday, full), true
	case 'b', 'h':
		return name(months[:], t.month, short), true
	case 'B':
		return name(months[:], t.month, full), true
	case 'p', 'P':
		half := "AM"
		if t.hour > 11 {
			half = "PM"
		}
		if strings.Contains(v.flags, "#") {
			half = strings.ToLower(half)
		}
		return half, true
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case '%':
		return "%", true
	case 's':
		return strconv.FormatInt(t.at().Unix(), 10), true
	case 'Z':
		name, _ := t.at().Zone()
		return name, true
	}
	return "", false
}

// numeral returns the number for a conversion, with its default width and padding; ok is false if
// it stands for no number.
func (t *brokenTime) numeral(verb byte) (n int64, width int, fill byte, ok bool) {
	number := func(n, width int, fill byte) (int64, int, byte, bool) { return int64(n), width, fill, true }
	switch verb {
	case 'd':
		return number(t.day, 2, '0')
	case 'e':
		return number(t.day, 2, ' ')
	case 'H':
		return number(t.hour, 2, '0')
	case 'k':
		return number(t.hour, 2, ' ')
	case 'I':
		return number(t.hour12(), 2, '0')
	case 'l':
		return number(t.hour12(), 2, ' ')
	case 'j':
		return number(t.yearday+1, 3, '0')
	case 'm':
		return number(t.month+1, 2, '0')
	case 'M':
		return number(t.minute, 2, '0')
	case 'S':
		return number(t.second, 2, '0')
	case 'u':
		return number((t.weekday-1+7)%7+1, 1, '0')
	case 'w':
		return number(t.weekday, 1, '0')
	case 'U':
		return number((t.yearday-t.weekday+7)/7, 2, '0')
	case 'W':
		return number((t.yearday-(t.weekday-1+7)%7+7)/7, 2, '0')
	default:
		return t.yearNumeral(verb)
	}
}

func (t *brokenTime) yearNumeral(verb byte) (n int64, width int, fill byte, ok bool) {
	year, week := t.week()
	last2 := func(year int) int { return (year%100 + 100) % 100 }
	switch verb {
	case 'Y':
		return int64(t.year), 1, '0', true
	case 'C':
		return int64((t.year - last2(t.year)) / 100), 1, '0', true
	case 'y':
		return int64(last2(t.year)), 2, '0', true
	case 'G':
		return int64(year), 1, '0', true
	case 'g':
		return int64(last2(year)), 2, '0', true
	case 'V':
		return int64(week), 2, '0', true
	default:
		return 0, 0, 0, false
	}
}

func (t *brokenTime) hour12() int {
	switch {
	case t.hour == 0:
		return 12
	case t.hour > 12:
		return t.hour - 12
	default:
		return t.hour
	}
}

// week returns the ISO 8601 week and the year that it belongs to.
func (t *brokenTime) week() (year, week int) {
	// Days since the Monday of the first week, which contains the fourth of January.
	since := func(yearday int) int {
		const bigEnough = 54 * 7
		return yearday - (yearday-t.weekday+4+bigEnough)%7 + 4 - 1
	}
	length := func(year int) int {
		if isLeap(year) {
			return 366
		}
		return 365
	}
	year, days := t.year, since(t.yearday)
	if days < 0 {
		year--
		days = since(t.yearday + length(year))
	} else if next := since(t.yearday - length(year)); next >= 0 {
		year++
		days = next
	}
	return year, days/7 + 1
}

// at returns the instant of the fields, read as local time.
func (t *brokenTime) at() time.Time {
	return time.Date(t.year, time.Month(t.month+1), t.day, t.hour, t.minute, t.second, 0, t.zone)
}

// cased applies the flags that change the case of letters.
func (v conversion) cased(s string) string {
	swapped := "aAbBh"
	if v.bad {
		swapped = "bh"
	}
	switch {
	case v.verb == 'P', v.verb == 'Z' && strings.Contains(v.flags, "#"):
		return strings.ToLower(s)
	case strings.Contains(v.flags, "^"), strings.Contains(v.flags, "#") && strings.IndexByte(swapped, v.verb) >= 0:
		return strings.ToUpper(s)
	default:
		return s
	}
}

// filling returns the padding that the last flag asks for, or usual without such a flag: 0 means
// none, or blanks if there is a width.
func (v conversion) filling(usual byte) byte {
	switch i := strings.LastIndexAny(v.flags, "_-0"); {
	case i < 0:
		return usual
	case v.flags[i] == '_':
		return ' '
	case v.flags[i] == '0':
		return '0'
	default:
		return 0
	}
}

func (v conversion) pad(s string, usual byte) string {
	fill := " "
	if v.filling(usual) == '0' {
		fill = "0"
	}
	return strings.Repeat(fill, max(v.width-len(s), 0)) + s
}

// digits formats a number; padding blanks come before its sign, zeros after it.
func (v conversion) digits(n int64, width int, usual byte) string {
	switch v.filling(usual) {
	case 0:
		return fmt.Sprintf("%*d", v.width, n)
	case ' ':
		return fmt.Sprintf("%*d", max(width, v.width), n)
	default:
		return fmt.Sprintf("%0*d", max(width, v.width), n)
	}
}
