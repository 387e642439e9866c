package chart

import (
	"math"
	"strconv"
)

// Kind says how an axis maps values to lengths.
type Kind int

// The kinds of axes.
const (
	Linear Kind = iota
	// Log is logarithmic from 1 on. Below 1 a short linear piece makes room for 0.
	Log
)

// Unit says how numbers are written.
type Unit int

// The units.
const (
	Number  Unit = iota
	Percent      // of shares: 1 is 100 %
	Seconds      // as s, min, h or d, whichever is the largest that fits
)

// Axis maps the values from Min to Max to a length.
type Axis struct {
	Kind     Kind
	Unit     Unit
	Min, Max float64
	// At are the values with a tick; nil: round ones.
	At []float64
}

// zeroPart is the share of a logarithmic axis' length that the values from 0 to 1 take.
const zeroPart = 0.07

// place returns where a value is on the axis, from 0 at its beginning to 1 at its end. Values below
// Min or above Max are at the ends.
func (a Axis) place(v float64) float64 {
	v = min(max(v, a.Min), a.Max)
	switch {
	case a.Max <= a.Min:
		return 0
	case a.Kind == Linear:
		return (v - a.Min) / (a.Max - a.Min)
	case v < 1:
		return zeroPart * v
	default:
		return min(1, zeroPart+(1-zeroPart)*math.Log10(v)/math.Log10(a.Max))
	}
}

// spec describes the axis for scripts that read curves off: kind, unit, minimum, maximum.
func (a Axis) spec() string {
	kind, unit := [...]string{"linear", "log"}[a.Kind], [...]string{"number", "percent", "seconds"}[a.Unit]
	return kind + " " + unit + " " + strconv.FormatFloat(a.Min, 'g', -1, 64) + " " +
		strconv.FormatFloat(a.Max, 'g', -1, 64)
}

// NewAxis returns an axis from low (or 0 if low is positive) to high, both rounded outwards. A
// logarithmic one goes from 0 to high, at least to 10.
func NewAxis(kind Kind, unit Unit, low, high float64) Axis {
	a := Axis{Kind: kind, Unit: unit, Min: min(0, low), Max: high}
	if kind == Log {
		a.Min, a.Max = 0, max(10, high)
		return a
	}
	if a.Max <= a.Min {
		a.Max = a.Min + 1
	}
	step := a.step(5)
	a.Min, a.Max = math.Floor(a.Min/step+rounding)*step, math.Ceil(a.Max/step-rounding)*step
	return a
}

// rounding is the difference up to which two quotients count as equal.
const rounding = 1e-9

// step returns a round distance between ticks, so that about n ticks fit on the axis.
func (a Axis) step(n float64) float64 {
	rough := (a.Max - a.Min) / n
	if a.Unit == Seconds {
		for _, s := range []float64{
			1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 4 * 3600, 6 * 3600,
			12 * 3600, day, 2 * day, 5 * day,
		} {
			if rough <= s && rough > 0.5 {
				return s
			}
		}
		if rough > day {
			return day * Axis{Max: rough / day * n}.step(n)
		}
	}
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if rough <= m*power*(1+rounding) {
			return m * power
		}
	}
	return 10 * power
}

const (
	minute = 60.0
	hour   = 60 * minute
	day    = 24 * hour
)

// ticks returns the values with a tick: At if it is set, else about n round ones.
func (a Axis) ticks(n float64) []float64 {
	switch {
	case a.At != nil:
		return a.At
	case a.Kind == Log:
		return a.logTicks()
	}
	step := a.step(n)
	var all []float64
	for i := math.Ceil(a.Min/step - rounding); i*step <= a.Max+step*rounding; i++ {
		all = append(all, i*step)
	}
	return all
}

// logTicks returns 0 and, up to Max, powers of 10; for seconds, similar steps that are round in
// minutes, hours or days.
func (a Axis) logTicks() []float64 {
	candidates := []float64{1, 10, minute, 10 * minute, hour, 10 * hour, day * 4, 40 * day, 400 * day, 4000 * day}
	if a.Unit != Seconds {
		candidates = nil
		for v := 1.0; v <= a.Max && v < 1e300; v *= 10 {
			candidates = append(candidates, v)
		}
	}
	all := []float64{0}
	for _, v := range candidates {
		if v <= a.Max {
			all = append(all, v)
		}
	}
	return all
}

// mark is a tick with its text.
type mark struct {
	at   float64
	text string
}

// marks returns the ticks with their texts. On a linear axis all times are in one unit.
func (a Axis) marks(n float64) []mark {
	ticks := a.ticks(n)
	write := a.Unit.Format
	if a.Unit == Seconds && a.Kind == Linear && len(ticks) > 1 {
		unit := unitFor(ticks[1] - ticks[0])
		write = func(v float64) string { return trimmed(v/unit.size) + unit.name }
	}
	all := make([]mark, len(ticks))
	for i, v := range ticks {
		all[i] = mark{v, write(v)}
	}
	return all
}

// timeUnit is a unit of time, with its size in seconds.
type timeUnit struct {
	size float64
	name string
}

// unitFor returns the largest unit that fits into a time.
func unitFor(seconds float64) timeUnit {
	for _, u := range []timeUnit{{day, " d"}, {hour, " h"}, {minute, " min"}} {
		if math.Abs(seconds) >= u.size {
			return u
		}
	}
	return timeUnit{1, " s"}
}

// Format writes a value in the unit, with about three digits.
func (u Unit) Format(v float64) string {
	switch u {
	case Percent:
		return trimmed(v*100) + " %"
	case Seconds:
		unit := unitFor(v)
		return trimmed(v/unit.size) + unit.name
	default:
		return trimmed(v)
	}
}

// trimmed writes a number with about three digits, without trailing zeros; from 10,000 on with k,
// M, G or T.
func trimmed(v float64) string {
	if v == 0 {
		return "0"
	}
	size := math.Abs(v)
	switch {
	case size >= 1e15 || size < 1e-9:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case size >= 1e12:
		return trimmed(v/1e12) + " T"
	case size >= 1e9:
		return trimmed(v/1e9) + " G"
	case size >= 1e6:
		return trimmed(v/1e6) + " M"
	case size >= 1e4:
		return trimmed(v/1e3) + " k"
	}
	decimals := max(0, 2-int(math.Floor(math.Log10(size))))
	scale := math.Pow(10, float64(min(decimals, 12)))
	text := strconv.FormatFloat(math.Round(v*scale)/scale, 'f', -1, 64)
	if text == "-0" {
		return "0"
	}
	if text[0] == '-' {
		return "−" + text[1:]
	}
	return text
}
