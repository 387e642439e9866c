package ast

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

var (
	absTimeForm = regexp.MustCompile(`^\s*(\d{4})\D*(\d\d)\D*(\d\d)\D*(\d\d)\D*(\d\d)\D*(\d\d)\s*(?:[zZ]|([+-])(\d\d):?(\d\d))?\s*$`)
	relTimeForm = regexp.MustCompile(`^\s*(-)?\s*(?:(\d+)\s*[dD+]\s*)?(?:(\d+)\s*[hH:]\s*)??(?:(\d+)\s*[mM:]\s*)?(?:(\d+(?:\.\d*)?)\s*[sS]?)?\s*$`)
)

// ParseAbsTime reads an instant such as 2020-01-02T03:04:05+01:00: the seconds since 1970 and the offset of its zone in
// seconds east of Greenwich, which is 0 if it has none.
func ParseAbsTime(text string) (seconds int64, offset int, ok bool) {
	m := absTimeForm.FindStringSubmatch(text)
	if m == nil {
		return 0, 0, false
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(m[i]) // no group is 0
		return n
	}
	offset = number(8)*3600 + number(9)*60
	if m[7] == "-" {
		offset = -offset
	}
	t := time.Date(number(1), time.Month(number(2)), number(3), number(4), number(5), number(6), 0, time.UTC)
	return t.Unix() - int64(offset), offset, true
}

// ParseRelTime reads a span such as 1+02:03:04.5, or 3d 4h, in seconds.
func ParseRelTime(text string) (seconds float64, ok bool) {
	m := relTimeForm.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	for i, unit := range []float64{86400, 3600, 60, 1} {
		n, _ := strconv.ParseFloat(m[2+i], 64) // no group is 0
		seconds += n * unit
	}
	if m[1] != "" {
		seconds = -seconds
	}
	return seconds, true
}

// AppendAbsTime adds an instant as ParseAbsTime reads it, as the clock of its zone shows it.
func AppendAbsTime(b []byte, seconds int64, offset int) []byte {
	b = time.Unix(seconds+int64(offset), 0).UTC().AppendFormat(b, "2006-01-02T15:04:05")
	sign := byte('+')
	if offset <= 0 {
		sign, offset = '-', -offset
	}
	return fmt.Appendf(b, "%c%02d:%02d", sign, offset/3600, offset/60%60)
}

// AppendRelTime adds a span as ParseRelTime reads it: [-][days+]hh:mm:ss without leading fields that are zero.
func AppendRelTime(b []byte, seconds float64) []byte {
	if seconds < 0 {
		b, seconds = append(b, '-'), -seconds
	}
	whole, fraction := math.Modf(seconds)
	n := int64(whole)
	switch {
	case n >= 86400:
		b = fmt.Appendf(b, "%d+%02d:%02d:", n/86400, n/3600%24, n/60%60)
	case n >= 3600:
		b = fmt.Appendf(b, "%02d:%02d:", n/3600, n/60%60)
	case n >= 60:
		b = fmt.Appendf(b, "%02d:", n/60)
	}
	if fraction == 0 {
		return fmt.Appendf(b, "%02d", n%60)
	}
	return fmt.Appendf(b, "%02.6g", float64(n%60)+fraction)
}
