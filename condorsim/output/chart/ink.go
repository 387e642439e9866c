package chart

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage/drawing"
)

// inks are the colours of the roles; see [drawing.Tones].
var inks = tones() //nolint:gochecknoglobals // a table

// tone is an ink with its colour on a light and on a dark background.
type tone struct {
	Ink
	light, dark string
}

func tones() []tone {
	var all []tone
	for _, t := range drawing.Tones() {
		all = append(all, tone{Ink(t.Name), t.Light, t.Dark})
	}
	return all
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

// CSS returns the style of figures in a page that declares [drawing.Colours].
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
