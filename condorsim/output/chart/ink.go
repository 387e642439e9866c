package chart

import (
	"fmt"
	"strconv"
	"strings"
)

// tone is a colour in two versions: for a light and for a dark background.
type tone struct{ light, dark string }

// inks are the colours of the roles. Text has a contrast of at least 4.5 : 1 with the background,
// series 3 : 1. Any two series can be told apart with any kind of colour vision, by lightness if
// not by hue; see TestColours.
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
	{"s0", tone{"#525cd6", "#278dfd"}},
	{"s1", tone{"#e36314", "#c67400"}},
	{"s2", tone{"#65906b", "#28cf9f"}},
	{"s3", tone{"#c97da6", "#bf3340"}},
	{"s4", tone{"#4f0262", "#5a57d7"}},
	{"s5", tone{"#a0560a", "#ff9f49"}},
	{"s6", tone{"#832160", "#9b5096"}},
	{"s7", tone{"#0c9ee1", "#00eeff"}},
	{"s8", tone{"#16350a", "#c0ebb8"}},
	{"s9", tone{"#706771", "#91868d"}},
	{"s10", tone{"#5a4800", "#ffd609"}},
	{"s11", tone{"#3a2aaf", "#a9a8e3"}},
}

// hues is the number of series with a colour of their own. Later series repeat the colours; their
// curves are dashed.
const hues = 12

// Series returns the ink of the n-th series, from 0.
func Series(n int) Ink { return Ink("s" + strconv.Itoa(n%hues)) }

// colour returns the ink's colour on a light background, as in files.
func (i Ink) colour() string {
	for _, known := range inks {
		if known.Ink == i {
			return known.light
		}
	}
	return "#000000"
}

// ground is the background of files.
const ground = "#fff"

// CSS returns the style of figures in a page that declares [Colours].
func CSS() string {
	var css strings.Builder
	for _, i := range inks {
		fmt.Fprintf(&css, ".chart .%s{color:var(--%[1]s)}\n", i.Ink)
	}
	css.WriteString(shapesCSS)
	return css.String()
}

// shapesCSS is the style that shapes of all inks share.
const shapesCSS = `.chart .f{fill:currentColor}
.chart .k{fill:none;stroke:currentColor;stroke-linejoin:round;vector-effect:non-scaling-stroke}
.chart text{fill:currentColor;font-family:` + family + `}
`

// The typeface of files is fixed, so that they look the same everywhere; a page uses the typeface
// of its reader's system (family).
const (
	typeface = `"Liberation Sans",Arial,Helvetica,sans-serif`
	family   = `system-ui,` + typeface
)

// Colours declares the inks as custom properties, for a light or a dark background.
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
