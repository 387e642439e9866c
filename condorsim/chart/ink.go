package chart

import (
	"fmt"
	"strconv"
	"strings"
)

// tone is a colour on light and on dark ground.
type tone struct{ light, dark string }

// inks are the colours of the roles. Text has a contrast of at least 4.5 : 1
// with the ground.
var inks = []struct { //nolint:gochecknoglobals // a table
	Ink
	tone
}{
	{inkGrid, tone{"#e3e7ee", "#2b3240"}},
	{inkAxis, tone{"#8a94a6", "#6b7688"}},
	{inkText, tone{"#1b2230", "#e8ecf4"}},
	{inkMuted, tone{"#5a6577", "#a2adbf"}},
	{inkHeat, tone{"#c2410c", "#f97316"}},
	{inkAlarm, tone{"#a8331a", "#ffb08a"}},
	{inkGround, tone{"#ffffff", "#171b24"}},
	{"s0", tone{"#2563cf", "#6ea2ff"}},
	{"s1", tone{"#dd7500", "#ffab4d"}},
	{"s2", tone{"#12875c", "#4fd1a1"}},
	{"s3", tone{"#c42f53", "#ff7a94"}},
	{"s4", tone{"#7547c4", "#b59cff"}},
	{"s5", tone{"#8a6a35", "#cfae76"}},
	{"s6", tone{"#cc45a0", "#ff93d8"}},
	{"s7", tone{"#0093ab", "#4fd8ee"}},
	{"s8", tone{"#6f8a00", "#b9d84a"}},
	{"s9", tone{"#5b6b7f", "#a9b8cb"}},
	{"s10", tone{"#b58900", "#f2cd45"}},
	{"s11", tone{"#30349a", "#979dff"}},
}

// hues is how many series have a colour of their own; curves of more are dashed.
const hues = 12

// Series is the ink of the n-th series.
func Series(n int) Ink { return Ink("s" + strconv.Itoa(n%hues)) }

// colour is an ink on light ground, where drawings of their own stand.
func (i Ink) colour() string {
	for _, known := range inks {
		if known.Ink == i {
			return known.light
		}
	}
	return "#000000"
}

// ground is what drawings of their own stand on.
const ground = "#fff"

// CSS is the style of the figures in a page with the custom properties of
// [Colours].
func CSS() string {
	var css strings.Builder
	for _, i := range inks {
		fmt.Fprintf(&css, ".chart .%s{color:var(--%[1]s)}\n", i.Ink)
	}
	css.WriteString(shapesCSS)
	return css.String()
}

// shapesCSS is what shapes have in common, whatever their ink.
const shapesCSS = `.chart .f{fill:currentColor}
.chart .k{fill:none;stroke:currentColor;stroke-linejoin:round;vector-effect:non-scaling-stroke}
.chart text{fill:currentColor;font-family:` + family + `}
`

// family is the typeface.
const family = `system-ui,"Liberation Sans",Arial,sans-serif`

// Colours declares the inks as custom properties, on light or on dark ground.
func Colours(dark bool) string {
	var css strings.Builder
	for _, i := range inks {
		colour := i.light
		if dark {
			colour = i.dark
		}
		fmt.Fprintf(&css, "--%s:%s;", i.Ink, colour)
	}
	return css.String()
}
