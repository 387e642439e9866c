package cookbook

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// Night starts large jobs at night only.
func Night() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name: "night",
		Doc:  "large jobs start at night, and the first of them gets a reservation; all others start whenever they fit",
		Options: []backfill.Option{
			{Name: "large", Type: backfill.WholeNumber, Default: "64", Range: backfill.AtLeast(1), Doc: "cpus of a large job"},
			{Name: "begin", Type: backfill.LengthOfTime, Default: "20:00:00", Doc: "when the night begins, in UTC"},
			{Name: "end", Type: backfill.LengthOfTime, Default: "6:00:00", Doc: "when it ends"},
		},
		New: func(v backfill.Values) (backfill.Policy, error) {
			large, night := int64(v.Int("large")), night{v.Time("begin"), v.Time("end")}
			return backfill.PolicyFunc(func(c *backfill.Cycle) {
				scan.Begin(c)
				reserved := false
				for j := range c.Queue() {
					at, fits := c.FitsNow(j)
					switch {
					case fits && (j.Width() < large || night.from(c.Now()) == c.Now()):
						c.Start(j, at)
					case j.Width() >= large && !reserved:
						reserved = night.reserve(c, j)
					}
				}
			}), nil
		},
	}
}

type night struct{ begin, end backfill.Time }

// reserve reserves for a job at its earliest start at night, and reports whether there is one.
func (n night) reserve(c *backfill.Cycle, j *backfill.Job) bool {
	start, at, ok := c.Earliest(j, n.from(c.Now()))
	for ok && n.from(start) != start {
		start, at, ok = c.Earliest(j, n.from(start))
	}
	if ok {
		c.Reserve(j, start, at)
	}
	return ok
}

// from returns t if it is night then, else when the next night begins.
func (n night) from(t backfill.Time) backfill.Time {
	const day = 24 * 3600
	since := ((t-n.begin)%day + day) % day
	if since < ((n.end-n.begin)%day+day)%day {
		return t
	}
	return t - since + day
}
