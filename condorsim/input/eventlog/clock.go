package eventlog

import (
	"regexp"
	"strconv"
	"time"
)

// clock reads the dates of a log.
type clock struct {
	zone     *time.Location
	yearless bool  // some dates had no year
	last     int64 // the date before
}

// firstYear is the year of the first date that has none. In later years without one, 29 February is 1 March.
const firstYear = 2000

const day = 24 * 60 * 60

var date = regexp.MustCompile(`^(?:(\d{4})-(\d\d)-(\d\d)|(\d\d)/(\d\d))[ T](\d\d):(\d\d):(\d\d)(?:\.\d+)?(Z?)$`)

// read returns a date in seconds. One without a year is in the year of the date before, unless it would be
// more than a month earlier: then it is in the next. Parts of a second are left out.
func (c *clock) read(text string) (at int64, ok bool) {
	parts := date.FindStringSubmatch(text)
	if parts == nil {
		return 0, false
	}
	n := make([]int, len(parts))
	for i, part := range parts {
		n[i], _ = strconv.Atoi(part) // digits, or nothing
	}
	year, month, dayOf := n[1], n[2], n[3]
	if parts[1] == "" {
		month, dayOf = n[4], n[5]
	}
	if month < 1 || month > 12 || dayOf < 1 || dayOf > 31 || n[6] > 23 || n[7] > 59 || n[8] > 60 {
		return 0, false
	}
	zone := c.zone
	if parts[9] != "" {
		zone = time.UTC
	}
	in := func(year int) int64 {
		return time.Date(year, time.Month(month), dayOf, n[6], n[7], n[8], 0, zone).Unix()
	}
	if parts[1] != "" {
		c.last = in(year)
		return c.last, c.last > 0
	}
	year = firstYear
	if c.last > 0 {
		year = time.Unix(c.last, 0).In(c.zone).Year()
	}
	c.yearless = true
	const back, most = 31 * day, 334 * day
	at = in(year)
	switch before := in(year - 1); {
	case c.last == 0:
	case at < c.last-back:
		at = in(year + 1)
	case at > c.last+most && before >= c.last-back:
		at = before // an event of December that was written in January
	}
	c.last = max(c.last, at)
	return at, true
}
