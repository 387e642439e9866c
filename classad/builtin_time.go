package classad

import "time"

// The functions that make times and take them apart. Those that depend on the time zone ask the
// scope, see [Host.Zone].
var timeBuiltins = []Builtin{
	{
		Name: "time", MinArgs: 0, MaxArgs: 0, Context: true,
		Doc:     "Gives the seconds since 1970, or undefined where the scope has no clock.",
		Example: `time() is undefined || time() > 0`,
		fn:      func(c call) Value { return c.ev.time() },
	},
	{
		Name: "currentTime", MinArgs: 0, MaxArgs: 0, Context: true, fn: currentTime,
		Doc:     "Gives the absolute time, or undefined where the scope has no clock.",
		Example: `currentTime() is undefined || isAbsTime(currentTime())`,
	},
	{
		Name: "dayTime", MinArgs: 0, MaxArgs: 0, Context: true, fn: dayTime,
		Doc:     "Gives the relative time since midnight, or undefined where the scope has no clock.",
		Example: `dayTime() is undefined || dayTime() < relTime(86400)`,
	},
	{
		Name: "timezoneOffset", MinArgs: 0, MaxArgs: 0, Context: true, fn: timezoneOffset,
		Doc: "Gives the relative time by which local time is ahead of Greenwich, or undefined where the scope has no " +
			"clock.",
		Example: `timezoneOffset() is undefined || isRelTime(timezoneOffset())`,
	},
	{
		Name: "absTime", MinArgs: 0, MaxArgs: 2, Context: true, Missing: MissingAllowed, fn: makeAbsTime,
		Doc: "Makes an absolute time of seconds since 1970 and the offset of its zone, by default the local one; " +
			"without arguments it is the current time.",
		Example: `absTime(1577934245, 3600) is absTime("2020-01-02T04:04:05+01:00")`,
	},
	{
		Name: "relTime", MinArgs: 1, MaxArgs: 1, fn: makeRelTime,
		Doc:     "Makes a relative time of seconds; of a literal string it is a real number of seconds.",
		Example: `absTime(0, 0) + relTime(90) == absTime(90, 0) && relTime("1:30") is 90.0`,
	},
	{
		Name: "splitTime", MinArgs: 1, MaxArgs: 1, Context: true, fn: splitTime,
		Doc:     "Takes a time apart, into an ad.",
		Example: `splitTime(relTime(93784)).Hours is 2 && splitTime(absTime(0, 0)).Year is 1970`,
	},
	{
		Name: "formatTime", MinArgs: 0, MaxArgs: 2, Context: true, Missing: MissingAllowed, fn: formatTime,
		Doc: "Writes a time, or an ad as from splitTime, as the C function strftime does; by default the current " +
			"time as by %c.",
		Example: `formatTime(absTime(0, 0), "%F %T") is "1970-01-01 00:00:00"`,
	},
	{
		Name: "interval", MinArgs: 1, MaxArgs: 1, Missing: MissingFails, fn: interval,
		Doc:     "Writes a number of seconds as days+hours:minutes:seconds.",
		Example: `interval(93784) is "1+02:03:04"`,
	},
	timeField("getYear", "year", `getYear(absTime(0, 0)) is 1970`, time.Time.Year, nil),
	timeField("getMonth", "month", `getMonth(absTime(0, 0)) is 1`,
		func(t time.Time) int { return int(t.Month()) }, nil),
	timeField("getDayOfYear", "day of the year, from 0 on,", `getDayOfYear(absTime(86400, 0)) is 1`,
		func(t time.Time) int { return t.YearDay() - 1 }, nil),
	timeField("getDayOfMonth", "day of the month", `getDayOfMonth(absTime(86400, 0)) is 2`, time.Time.Day, nil),
	timeField("getDayOfWeek", "day of the week, from Sunday 0 on,", `getDayOfWeek(absTime(0, 0)) is 4`,
		func(t time.Time) int { return int(t.Weekday()) }, nil),
	timeField("getDays", "days", `getDays(relTime(93784)) is 1`, nil,
		func(seconds int) int { return seconds / secondsPerDay }),
	timeField("getHours", "hours", `getHours(relTime(93784)) is 2`, time.Time.Hour,
		func(seconds int) int { return seconds % secondsPerDay / secondsPerHour }),
	timeField("getMinutes", "minutes", `getMinutes(relTime(93784)) is 3`, time.Time.Minute,
		func(seconds int) int { return seconds % secondsPerHour / secondsPerMinute }),
	timeField("getSeconds", "seconds", `getSeconds(relTime(93784)) is 4`, time.Time.Second,
		func(seconds int) int { return seconds % secondsPerMinute }),
}

const (
	secondsPerMinute = 60
	secondsPerHour   = 60 * secondsPerMinute
	secondsPerDay    = 24 * secondsPerHour
)

// timeField returns a function of the language that extracts a field of an absolute time (in local
// time, not in the time's own zone) or of a relative time. If absolute or relative is nil, the
// function gives error for times of that kind.
func timeField(name, part, example string, absolute func(time.Time) int, relative func(seconds int) int) Builtin {
	doc := "Gives the " + part + " of a relative time."
	switch {
	case absolute != nil && relative != nil:
		doc = "Gives the " + part + " of an absolute time, in local time, or of a relative time."
	case absolute != nil:
		doc = "Gives the " + part + " of an absolute time, in local time."
	}
	return Builtin{
		Name: name, MinArgs: 1, MaxArgs: 1, Context: true, Missing: MissingFails, Doc: doc, Example: example,
		fn: func(c call) Value {
			switch t := c.args[0]; {
			case t.kind == AbsTime && absolute != nil:
				seconds, _ := t.asAbsTime()
				return integer(int64(absolute(c.localTime(seconds))))
			case t.kind == RelTime && relative != nil:
				return integer(int64(relative(int(secondsOf(t)))))
			default:
				return errorValue
			}
		},
	}
}

func (c call) localTime(seconds int64) time.Time { return time.Unix(seconds, 0).In(c.ev.zone()) }

// local returns an instant with the offset of local time.
func (c call) local(seconds int64) Value {
	_, offset := c.localTime(seconds).Zone()
	return absTime(seconds, offset)
}

// now returns the current time; false if the scope has no clock.
func (c call) now() (time.Time, bool) {
	now := c.ev.time()
	return c.localTime(now.asInt()), now.kind == Integer
}

func currentTime(c call) Value {
	now, ok := c.now()
	if !ok {
		return undefined
	}
	return c.local(now.Unix())
}

func dayTime(c call) Value {
	now, ok := c.now()
	if !ok {
		return undefined
	}
	hours, minutes, seconds := now.Clock()
	return relTime(float64(hours*secondsPerHour + minutes*secondsPerMinute + seconds))
}

func timezoneOffset(c call) Value {
	now, ok := c.now()
	if !ok {
		return undefined
	}
	_, offset := now.Zone()
	return relTime(float64(offset))
}

// makeAbsTime returns absolute times and, a quirk of HTCondor, strings unchanged. If the seconds
// are an integer, an offset of -1 second fails the evaluation; a second argument that is not a
// number is an error even if the first is undefined.
func makeAbsTime(c call) Value {
	if len(c.args) == 0 {
		return currentTime(c)
	}
	offset, given := int32(0), len(c.args) == 2
	if given {
		var ok bool
		if offset, ok = cutNumber(c.args[1]); c.args[1].kind == RelTime {
			offset, ok = int32(secondsOf(c.args[1])), true
		}
		if !ok {
			return errorValue
		}
	}
	x := c.args[0]
	seconds, isNumber := cutNumber(x)
	switch {
	case x.kind == Undefined || x.kind == String || x.kind == AbsTime:
		return x
	case x.kind == RelTime:
		seconds = int32(secondsOf(x))
	case !isNumber:
		return errorValue
	}
	switch {
	case !given:
		return c.local(int64(seconds))
	case x.kind == Integer && offset == -1:
		return c.ev.fail()
	case offset < -maxOffset || offset > maxOffset:
		return errorValue
	default:
		return absTime(int64(seconds), int(offset))
	}
}

// makeRelTime returns 0 for strings, a quirk of HTCondor. Only a string that is written in the call
// is read as a time: the parser makes that call a constant.
func makeRelTime(c call) Value {
	switch x := c.args[0]; x.kind {
	case Integer:
		return relTime(float64(int32(x.asInt())))
	case Real:
		return relTime(x.asReal())
	case String:
		return relTime(0)
	case AbsTime:
		return relTime(secondsOf(x))
	case RelTime:
		return x
	default:
		return errorValue
	}
}
