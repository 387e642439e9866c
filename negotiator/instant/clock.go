package instant

import (
	"fmt"
	"time"
)

// Clock says what the instants of a simulation, or of a real pool, are in the time of people.
type Clock struct {
	// Dated says that instants have dates: instant 0 is the Unix time Unix. Otherwise a trace does not
	// say when it starts, and only seconds of the trace are known.
	Dated bool
	Unix  int64
	// Origin is the instant from which the seconds of the trace count.
	Origin int64
	// First and Last are when the first and the last job are submitted.
	First, Last int64
	// Zone is that in which dates are read and written; nil: UTC.
	Zone *time.Location
	// Real says that it is the clock of a real pool, whose instants are Unix times.
	Real bool
}

// OfPool returns the clock of a real pool.
func OfPool(zone *time.Location) Clock { return Clock{Dated: true, Zone: zone, Real: true} }

// earliest is the least Unix time that job ads can be of, in 1973: lesser submit times count from the
// beginning of a simulation.
const earliest = 100_000_000

// OfJobs returns the clock of jobs that are submitted from first to last. Unix is the Unix time of instant
// 0; 0: it is not known, unless the submit times are Unix times.
func OfJobs(unix, first, last int64, zone *time.Location) Clock {
	c := Clock{Dated: unix > 0, Unix: unix, First: first, Last: last, Zone: zone}
	if unix <= 0 {
		c.Unix = 0
		if first >= earliest {
			c.Dated, c.Origin = true, first
		}
	}
	return c
}

func (c Clock) zone() *time.Location {
	if c.Zone == nil {
		return time.UTC
	}
	return c.Zone
}

// Date returns the date of an instant; without dates, one whose hours and days are those of the trace.
func (c Clock) Date(at int64) time.Time { return time.Unix(c.Unix+at, 0).In(c.zone()) }

// Text writes an instant: 2026-03-01 12:00:00 CET, or 1 03:46:40, days and time since the start of a
// trace that has no date.
func (c Clock) Text(at int64) string { return c.written(at, time.DateTime+" MST") }

// Bare is Text without the zone.
func (c Clock) Bare(at int64) string { return c.written(at, time.DateTime) }

// Beside is Text without the day, if that is the day of another instant.
func (c Clock) Beside(at, other int64) string {
	if c.Dated && c.day(at) == c.day(other) {
		return c.written(at, time.TimeOnly+" MST")
	}
	return c.Text(at)
}

// Brief is Beside for narrow tables: without the zone, and of another day without the seconds.
func (c Clock) Brief(at, other int64) string {
	if c.Dated && c.day(at) == c.day(other) {
		return c.written(at, time.TimeOnly)
	}
	return c.written(at, "2006-01-02 15:04")
}

// Span writes a range of instants.
func (c Clock) Span(low, high int64) string {
	if c.Dated && c.day(low) == c.day(high) {
		return c.Bare(low) + "–" + c.written(high, time.TimeOnly+" MST")
	}
	return c.Bare(low) + "–" + c.Text(high)
}

// ZoneName returns the zone at an instant, such as CET; "": instants have no dates.
func (c Clock) ZoneName(at int64) string {
	if !c.Dated {
		return ""
	}
	return c.Date(at).Format("MST")
}

// Where names the time zone at all times, such as Europe/Paris; "": instants have no dates.
func (c Clock) Where() string {
	if name := c.zone().String(); c.Dated && name != "" {
		return name
	}
	return c.ZoneName(c.First)
}

// Stretch is a stretch of time from an instant on in which the zone's clocks stay as they are: they show
// the Unix time of an instant and Shift more.
type Stretch struct {
	From  int64  `json:"from"`
	Shift int64  `json:"shift"`
	Zone  string `json:"zone"`
}

// Stretches returns those between two instants; none if instants have no dates.
func (c Clock) Stretches(begin, end int64) (all []Stretch) {
	for at := begin; c.Dated && at <= end; {
		date := c.Date(at)
		name, ahead := date.Zone()
		s := Stretch{at, c.Unix + int64(ahead), name}
		if n := len(all); n == 0 || all[n-1].Shift != s.Shift || all[n-1].Zone != s.Zone {
			all = append(all, s)
		}
		_, next := date.ZoneBounds()
		if next.IsZero() {
			break
		}
		// Where a rule says when clocks change, bounds begin anew with each year; package time takes it to
		// have 365 days, and on the last day of a leap year the bound is in the past.
		if bound := next.Unix() - c.Unix; bound > at {
			at = bound
		} else {
			at += day
		}
	}
	return all
}

func (c Clock) day(at int64) string { return c.Date(at).Format(time.DateOnly) }

func (c Clock) written(at int64, layout string) string {
	if c.Dated {
		return c.Date(at).Format(layout)
	}
	sign := ""
	if at < 0 {
		sign, at = "-", -at
	}
	return fmt.Sprintf("%s%d %02d:%02d:%02d", sign, at/day, at%day/3600, at%3600/60, at%60)
}

const day = 24 * 60 * 60
