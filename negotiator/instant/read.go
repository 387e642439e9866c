package instant

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Help says how instants are told apart, in lines for a help text.
const Help = `A time is told apart by its form. A number is a second of the trace or a Unix time, whichever is
in the trace, or nearer to it; @N is a Unix time. A date is such as 2026-03-01, 2026-03-01T12:00 or
2026-03-01T12:00+01:00; without an offset it is of the trace's time zone, or UTC, and on a real pool
of this machine's. 1 03:46:40 is a day and some hours after the trace's start.`

// furthest bounds instants, so that sums of them cannot overflow.
const furthest = 1 << 40

var (
	numberText   = regexp.MustCompile(`^[+-]?[0-9]+$`)
	fractionText = regexp.MustCompile(`^[+-]?[0-9]*\.[0-9]*$`)
	sinceText    = regexp.MustCompile(`^([0-9]{1,8}) ([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?$`)
	dateText     = regexp.MustCompile(`^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)` +
		`(?: ?([+-][0-9]{2}(?::?[0-9]{2})?))?)? ?([A-Za-z][A-Za-z0-9+-]*)?$`)
)

// Read reads an instant; see [Help]. The error says how a text was read that cannot be meant.
func (c Clock) Read(text string) (int64, error) {
	text = strings.TrimSpace(text)
	switch since := sinceText.FindStringSubmatch(text); {
	case strings.HasPrefix(text, "@"):
		return c.unixTime(text[1:])
	case numberText.MatchString(text):
		return c.number(text)
	case fractionText.MatchString(text):
		return 0, errors.New("must be a whole number of seconds")
	case since != nil && !c.Real:
		return c.since(since[1:])
	case dateText.MatchString(text):
		return c.readDate(dateText.FindStringSubmatch(text))
	case c.Real:
		return 0, errors.New("must be a date such as 2026-03-01 or 2026-03-01T12:00+01:00, or a Unix time")
	default:
		return 0, errors.New("must be a second of the trace, a Unix time, or a date such as 2026-03-01 or 2026-03-01T12:00+01:00")
	}
}

// unixTime reads a Unix time.
func (c Clock) unixTime(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil || n < 0:
		return 0, errors.New("must be a number of seconds since 1970 behind the @")
	case !c.Dated:
		return 0, errUndated
	}
	return c.bounded(n-c.Unix, "the Unix time "+text)
}

var errUndated = errors.New("the trace does not say when it starts (UnixStartTime), so that it has no dates: give a second " +
	"of the trace")

// number reads a number: a second of the trace or a Unix time.
func (c Clock) number(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil && !strings.HasPrefix(text, "-"):
		return 0, errors.New("is beyond all time" + meant(text))
	case err != nil || n < 0:
		return 0, errors.New("must be a second from 0 on")
	case c.Real && meant(text) != "":
		return 0, fmt.Errorf("is the Unix time of %s%s", c.Text(n), meant(text))
	case c.Real:
		return c.bounded(n, "the Unix time "+text)
	case n > furthest:
		return 0, errors.New("is beyond all time" + meant(text))
	}
	second, unix := c.Origin+n, n-c.Unix
	if err = c.dateless(text, second, unix); err != nil {
		return 0, err
	}
	switch {
	case !c.Dated || c.outside(second) < c.outside(unix):
		return c.bounded(second, "second "+text+" of the trace")
	case c.outside(second) == 0 && second != unix:
		return 0, fmt.Errorf("may be second %d of the trace, %s, or the Unix time, %s: write the date, or @%d for the Unix time",
			n, c.Text(second), c.Text(unix), n)
	default:
		return unix, nil
	}
}

// dateless refuses a number that may be a date without dashes, such as 20260301, if that is not a year away
// from the trace, or no further from it than what the number says.
func (c Clock) dateless(text string, second, unix int64) error {
	date := dashed(text)
	if date == "" || !c.Dated {
		return nil
	}
	at, err := c.readDate(dateText.FindStringSubmatch(date))
	read := second
	if c.outside(unix) < c.outside(second) {
		read = unix
	}
	if err != nil || c.outside(at) > max(c.outside(read), 366*day) {
		return nil // then it is a number
	}
	return fmt.Errorf("is a number, which would be %s%s", c.Text(read), meant(text))
}

// dashed returns the date that a number without dashes shows, such as 20260301 or 202603011200; "": none.
func dashed(text string) string {
	for _, form := range []struct{ without, with string }{
		{"20060102", time.DateOnly}, {"200601021504", "2006-01-02T15:04"}, {"20060102150405", "2006-01-02T15:04:05"},
	} {
		const first, last = 1970, 2099
		at, err := time.Parse(form.without, text)
		if err == nil && len(text) == len(form.without) && first <= at.Year() && at.Year() <= last {
			return at.Format(form.with)
		}
	}
	return ""
}

// meant asks whether something else is meant by a number: a date, or milliseconds; "": it does not look so.
func meant(text string) string {
	if date := dashed(text); date != "" {
		return ": did you mean " + date + "?"
	}
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && earliest <= ms/1000 && ms/1000 <= furthest/100 && ms > furthest {
		return fmt.Sprintf(": did you mean %d? Unix times are in seconds", ms/1000)
	}
	return ""
}

// outside returns how far an instant is from those at which jobs are submitted.
func (c Clock) outside(at int64) int64 { return max(min(c.First, c.Origin)-at, at-c.Last, 0) }

// bounded returns an instant, if it can be one.
func (c Clock) bounded(at int64, read string) (int64, error) {
	if at < -furthest || at > furthest {
		return 0, fmt.Errorf("was read as %s: is beyond all time", read)
	}
	return at, nil
}

// since reads days, hours, minutes and seconds since the start of the trace.
func (c Clock) since(parts []string) (int64, error) {
	var n [4]int64
	for i, part := range parts {
		n[i], _ = strconv.ParseInt(cmp.Or(part, "0"), 10, 64)
	}
	if n[1] > 23 || n[2] > 59 || n[3] > 59 {
		return 0, errors.New("is no time of a day: must be such as 1 03:46:40")
	}
	return c.bounded(c.Origin+n[0]*day+n[1]*3600+n[2]*60+n[3], "a time of the trace")
}

// readDate reads the parts of a date: day, time, offset and zone.
func (c Clock) readDate(parts []string) (int64, error) {
	clock := cmp.Or(parts[2], "00:00")
	if len(clock) == len("15:04") {
		clock += ":00"
	}
	wall, err := time.Parse(time.DateTime, parts[1]+" "+clock)
	switch {
	case err != nil:
		return 0, errors.New("there is no such day or time")
	case !c.Dated:
		return 0, errUndated
	case parts[3] != "" && parts[4] != "":
		return 0, errors.New("has two time zones")
	}
	unix, err := c.unixOf(wall, parts[3], parts[4])
	if err != nil {
		return 0, err
	}
	return c.bounded(unix-c.Unix, "a date")
}

// unixOf returns the Unix time at which a clock on the wall shows a time, in a zone.
func (c Clock) unixOf(wall time.Time, offset, name string) (int64, error) {
	if offset != "" {
		ahead, ok := readOffset(offset)
		if !ok {
			return 0, fmt.Errorf("%s is no offset of a time zone: must be such as +01:00", offset)
		}
		return wall.Unix() - ahead, nil
	}
	if slices.Contains([]string{"Z", "UTC", "GMT"}, strings.ToUpper(name)) {
		return wall.Unix(), nil
	}
	var found []time.Time
	var zones []string
	for _, other := range []int64{-day, 0, day} { // the offsets that the zone has about then
		near := time.Unix(wall.Unix()+other, 0).In(c.zone())
		_, ahead := near.Zone()
		at := time.Unix(wall.Unix()-int64(ahead), 0).In(c.zone())
		shown, offset := at.Zone()
		if offset == ahead && !slices.ContainsFunc(found, at.Equal) {
			found, zones = append(found, at), append(zones, shown)
		}
	}
	if name != "" {
		if i := slices.Index(zones, name); i >= 0 {
			return found[i].Unix(), nil
		}
		return 0, fmt.Errorf("%s is not the zone of that time here, which is %s: write an offset, such as +01:00", name,
			cmp.Or(strings.Join(zones, " or "), c.zone().String()))
	}
	switch len(found) {
	case 0:
		return 0, fmt.Errorf("there is no such time in %s: clocks are put forward then", c.zone())
	case 1:
		return found[0].Unix(), nil
	default:
		return 0, fmt.Errorf("comes twice in %s, as clocks are put back then: write an offset, %s or %s", c.zone(),
			found[0].Format("-07:00"), found[1].Format("-07:00"))
	}
}

// Next returns when the clock shows a time of a day, such as 18:00, next after an instant.
func (c Clock) Next(text string, after int64) (int64, error) {
	wall, err := time.Parse("15:04", text)
	if err != nil || !c.Dated {
		return 0, errors.New("must be such as 18:00")
	}
	now := c.Date(after)
	at := time.Date(now.Year(), now.Month(), now.Day(), wall.Hour(), wall.Minute(), 0, 0, c.zone())
	if at.Before(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at.Unix() - c.Unix, nil
}

// readOffset reads +01:00, +0100 or +01, in seconds.
func readOffset(text string) (ahead int64, ok bool) {
	digits := strings.ReplaceAll(text[1:], ":", "") + "00"
	hours, _ := strconv.ParseInt(digits[:2], 10, 64)
	minutes, _ := strconv.ParseInt(digits[2:4], 10, 64)
	ahead = hours*3600 + minutes*60
	if text[0] == '-' {
		ahead = -ahead
	}
	return ahead, hours <= 14 && minutes < 60
}

// Outside says that an instant, as it was read of a text, is before or after all jobs of the trace, or that
// something else may be meant by the text; "": neither is so.
func (c Clock) Outside(text string, at int64) string {
	where := ""
	switch {
	case at < c.First:
		where = ": that is before the first job is submitted, " + c.Text(c.First)
	case at > c.Last:
		where = ": that is after the last job is submitted, " + c.Text(c.Last)
	case meant(text) == "":
		return ""
	}
	read := c.Text(at)
	if !c.Dated || at >= c.Origin && at-c.Origin < furthest/8 {
		read += fmt.Sprintf(" (second %d of the trace)", at-c.Origin)
	}
	return fmt.Sprintf("%s was read as %s%s%s", text, read, where, meant(text))
}
