package classad

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// instant converts a number to an absolute time in local time, and returns other values unchanged.
func (c call) instant(v Value) Value {
	if seconds, ok := cutNumber(v); ok {
		return c.local(int64(seconds))
	}
	return v
}

func splitTime(c call) Value {
	if !c.ev.spend(stepsPerTime) {
		return errorValue
	}
	switch t := c.instant(c.args[0]); t.kind {
	case AbsTime:
		return splitAbsTime(t)
	case RelTime:
		return splitRelTime(t.asReal())
	default:
		return errorValue
	}
}

// splitAbsTime returns the fields of a time in its own zone.
func splitAbsTime(t Value) Value {
	seconds, offset := t.asAbsTime()
	at := time.Unix(seconds+int64(offset), 0).UTC()
	names := []string{"Type", "Year", "Month", "Day", "Hours", "Minutes", "Seconds", "Offset"}
	values := []Value{text("AbsoluteTime")}
	for _, n := range []int{at.Year(), int(at.Month()), at.Day(), at.Hour(), at.Minute(), at.Second(), offset} {
		values = append(values, integer(int64(n)))
	}
	return adOfValues(names, values)
}

// splitRelTime returns the fields of a relative time, where the greatest non-zero field has the
// sign.
func splitRelTime(t float64) Value {
	negative := t < 0
	t = math.Abs(t)
	whole := int(cutReal(t))
	_, fraction := math.Modf(t)
	if math.IsInf(t, 0) || math.IsNaN(t) {
		fraction = 0
	}
	parts := []int{whole / secondsPerDay, whole / secondsPerHour % 24, whole / secondsPerMinute % 60}
	seconds := float64(whole%secondsPerMinute) + fraction
	values := []Value{text("RelativeTime")}
	for _, n := range parts {
		if negative && n > 0 {
			n, negative = -n, false
		}
		values = append(values, integer(int64(n)))
	}
	if negative {
		seconds = -seconds
	}
	return adOfValues([]string{"Type", "Days", "Hours", "Minutes", "Seconds"}, append(values, realValue(seconds)))
}

// formatTime formats an absolute time in its own zone.
func formatTime(c call) Value {
	t := errorValue
	if len(c.args) > 0 {
		t = c.instant(c.args[0])
	} else if t = currentTime(c); t.kind == Undefined {
		return undefined
	}
	format := "%c"
	if len(c.args) == 2 {
		if c.args[1].kind != String {
			return errorValue
		}
		format = c.args[1].str()
	}
	if t.kind == AbsTime {
		t = splitAbsTime(t)
	}
	if t.kind != Ad || !c.ev.spend(stepsPerTime+stepsPerFormatByte*len(format)) {
		return errorValue
	}
	part := func(name string) int {
		n, _ := cutNumber(integerOnly(c.ev.subscript(t, text(name))))
		return int(n)
	}
	b := brokenTime{
		second: part("Seconds"), minute: part("Minutes"), hour: part("Hours"), day: part("Day"), zone: c.ev.zone(),
		month: part("Month") - 1, year: part("Year"),
	}
	if c.ev.subscript(t, text("Month")).kind != Integer {
		b.month = 0
	}
	if c.ev.subscript(t, text("Year")).kind != Integer {
		b.year = 1900
	}
	b.number()
	formatted, ok := b.format(format)
	if !ok {
		return errorValue
	}
	return text(formatted)
}

func integerOnly(v Value) Value {
	if v.kind != Integer {
		return undefined
	}
	return v
}

// interval formats a number of seconds without leading zero fields; only the first field has a
// sign.
func interval(c call) Value {
	x := c.args[0]
	if x.kind != Integer {
		r, ok := c.ev.realOf(x)
		if !ok {
			return errorValue
		}
		if x = realValue(r); math.Abs(r) < math.MaxInt64 {
			x = integer(int64(r))
		}
	}
	if !c.ev.spend(stepsPerNumber) {
		return errorValue
	}
	cut, _ := cutNumber(x)
	n := int(cut)
	days, hours := n/secondsPerDay, n/secondsPerHour%24
	minutes, seconds := n/secondsPerMinute%60, n%60
	size := func(n int) int { return max(n, -n) }
	switch {
	case days != 0:
		return text(fmt.Sprintf("%d+%02d:%02d:%02d", days, size(hours), size(minutes), size(seconds)))
	case hours != 0:
		return text(fmt.Sprintf("%d:%02d:%02d", hours, size(minutes), size(seconds)))
	case minutes != 0:
		return text(fmt.Sprintf("%d:%02d", minutes, size(seconds)))
	default:
		return text(strconv.Itoa(seconds))
	}
}
