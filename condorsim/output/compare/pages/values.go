package pages

import (
	"fmt"
	"math"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/condorsim/output/page"
)

// decimals returns how many decimals numbers of about a size have in a table.
func decimals(size float64) int {
	switch size = math.Abs(size); {
	case size == math.Trunc(size), size >= 1000:
		return 0
	case size >= 100:
		return 1
	case size >= 1:
		return 2
	}
	return 4
}

// written writes a number with a true minus; a plus if it is signed.
func written(v float64, decimals int, signed bool) string {
	text := inwords.Grouped(math.Abs(v), decimals)
	switch {
	case !strings.ContainsAny(text, "123456789"):
	case v < 0:
		return "−" + text
	case signed:
		return "+" + text
	}
	return text
}

// scale is by what a value of a unit is multiplied to be shown, and the unit that is shown then.
func scale(unit metrics.Unit) (factor float64, shown string) {
	switch unit {
	case metrics.Seconds, metrics.WholeSeconds:
		return 1, "s"
	case metrics.Share:
		return 100, "%"
	case metrics.CPUSeconds:
		return 1, "cpu s"
	case metrics.Ratio, metrics.Count:
	}
	return 1, ""
}

// seconds returns an entry for a mean of seconds.
func seconds(v float64) page.Value {
	value := page.Number(v)
	value.Show = written(v, min(1, decimals(v)), false)
	return value
}

// difference returns an entry for a difference with half the width of its interval; nil: it has none. One
// that is beyond chance has a star.
func difference(v float64, half *float64, decimals int, sure bool) page.Value {
	value := page.Number(v)
	value.Show = written(v, decimals, true)
	if half != nil {
		value.Show += " ± " + written(*half, decimals, false)
	}
	if sure {
		value.Show += " ✱"
	}
	return value
}

// change returns an entry for a change in percent; missing if there was nothing before.
func change(a, b float64) page.Value {
	if a == 0 {
		return page.Number(math.NaN())
	}
	v := 100 * (b - a) / math.Abs(a)
	value := page.Number(v)
	value.Show = written(v, 1, true)
	return value
}

// whole returns an entry for a whole number.
func whole[N int | int64](v N) page.Value {
	value := page.Number(float64(v))
	value.Show = strings.Replace(inwords.Whole(v), "-", "−", 1)
	return value
}

// signed returns an entry for a whole difference.
func signed(v int64) page.Value {
	value := page.Number(float64(v))
	value.Show = written(float64(v), 0, true)
	return value
}

// hours writes seconds in hours, with the unit; less than six minutes in seconds.
func hours(v float64) string {
	if v < 360 {
		return written(v, min(1, decimals(v)), false) + " s"
	}
	return inwords.Hours(v) + " h"
}

// within writes seconds and half the width of their interval in the same unit.
func within(v, half float64) string {
	if max(v, half) < 360 {
		return written(v, 1, false) + " ± " + written(half, 1, false) + " s"
	}
	return inwords.Hours(v) + " ± " + inwords.Hours(half) + " h"
}

// share writes a part of a whole in percent.
func share(part, all int) string {
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(all))
}
