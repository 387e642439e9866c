package chart

import (
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
	"strings"
)

// svgWriter collects the text of a drawing. The text for a page is short and has attributes for the
// page's scripts; that for a file of its own (alone) is plain, since some programs support little
// of SVG.
type svgWriter struct {
	strings.Builder
	alone bool
	scope string
}

func (w *svgWriter) put(format string, args ...any) {
	_, _ = fmt.Fprintf(w, format, args...) // a builder returns no errors
}

// SVG returns the figure as an element of a page with the style of [CSS].
func (f *Figure) SVG() string {
	w := svgWriter{scope: f.Scope}
	w.put(`<svg class="chart" viewBox="0 0 %s %s" width="%[1]s" height="%[2]s" role="img" aria-label="%s">`,
		num(f.Width), num(f.Height), html.EscapeString(f.Title+". "+f.Alt))
	f.body(&w)
	w.WriteString("</svg>")
	return w.String()
}

// WriteSVG writes the figure as a file, on white.
func (f *Figure) WriteSVG(out io.Writer) error {
	w := svgWriter{alone: true}
	w.put("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" "+
		"viewBox=\"0 0 %s %s\" width=\"%[1]s\" height=\"%[2]s\">\n", num(f.Width), num(f.Height))
	w.put("<title>%s</title><desc>%s</desc>\n<style>", html.EscapeString(f.Title), html.EscapeString(f.Alt))
	for _, i := range inks {
		w.put(".f.%s,text.%[1]s{fill:%s}.k.%[1]s{stroke:%[2]s}\n", i.Ink, i.light)
	}
	w.put(".k{fill:none;stroke-linejoin:round}\ntext{font-family:%s}</style>\n"+
		"<rect width=\"100%%\" height=\"100%%\" fill=\"%s\"/>\n", typeface, ground)
	f.body(&w)
	w.WriteString("\n</svg>\n")
	_, err := io.WriteString(out, w.String())
	return err
}

func (f *Figure) body(w *svgWriter) {
	for _, s := range f.shapes {
		s.svg(w)
	}
	for _, p := range f.plots {
		if w.alone {
			continue
		}
		w.put(`<rect class="plot" x="%s" y="%s" width="%s" height="%s" fill="none" pointer-events="all" `+
			`data-across="%s" data-up="%s" data-x="%s" data-y="%s"/>`,
			num(p.x), num(p.y), num(p.w), num(p.h), p.across.spec(), p.up.spec(), html.EscapeString(p.acrossIs),
			html.EscapeString(p.upIsIn))
	}
}

// num writes a length, rounded to a hundredth of a pixel.
func num(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100+0, 'f', -1, 64)
}

func (r rect) svg(w *svgWriter) {
	w.put(`<rect class="f %s" x="%s" y="%s" width="%s" height="%s"`, r.ink, num(r.x), num(r.y), num(r.w), num(r.h))
	if r.opacity != 0 {
		w.put(` fill-opacity="%s"`, num(r.opacity))
	}
	w.series(r.series)
	if r.tip != "" && !w.alone {
		w.put(` data-tip="%s"`, html.EscapeString(r.tip))
	}
	w.WriteString("/>")
}

func (w *svgWriter) series(n int) {
	if n != none && !w.alone {
		w.put(` data-s="%s%d"`, w.scope, n)
	}
}

// fine is the number of steps per pixel in which a page writes the points of a curve. The points
// are whole numbers, each but the first relative to the one before, so that the text is short.
const fine = 10

func (c curve) svg(w *svgWriter) {
	if len(c.points) == 0 {
		return
	}
	w.put(`<path class="k %s" stroke-width="%s"`, c.ink, num(c.width))
	if c.dashed {
		w.WriteString(` stroke-dasharray="6 3"`)
	}
	w.series(c.series)
	if w.alone {
		w.WriteString(` d="`)
		for i, p := range c.points {
			w.put("%c%s %s", "ML"[min(i, 1)], num(p.x), num(p.y))
		}
		w.WriteString(`"/>`)
		return
	}
	if c.name != "" {
		w.put(` data-name="%s"`, html.EscapeString(c.name))
	}
	w.put(` transform="scale(%s)" d="`, num(1.0/fine))
	var x, y int
	for i, p := range c.points {
		px, py := int(math.Round(p.x*fine)), int(math.Round(p.y*fine))
		if i == 0 {
			w.put("M%d %dl", px, py)
		} else {
			w.put("%d %d ", px-x, py-y)
		}
		x, y = px, py
	}
	if len(c.points) == 1 {
		w.WriteString("0 0")
	}
	w.WriteString(`"/>`)
}

func (l label) svg(w *svgWriter) {
	w.put(`<text class="%s" x="%s" y="%s" font-size="%s"`, l.ink, num(l.at.x), num(l.at.y), num(l.size))
	if l.anchor != start {
		w.put(` text-anchor="%s"`, [...]string{"", "middle", "end"}[l.anchor])
	}
	if l.bold {
		w.WriteString(` font-weight="600"`)
	}
	if l.upright {
		w.put(` transform="rotate(-90 %s %s)"`, num(l.at.x), num(l.at.y))
	}
	w.series(l.series)
	w.put(">%s</text>", html.EscapeString(l.text))
}

func (k key) svg(w *svgWriter) {
	if w.alone {
		for _, s := range k.parts() {
			s.svg(w)
		}
		return
	}
	w.put(`<g class="key" data-s="%s%d">`, w.scope, k.series)
	w.put(`<rect x="%s" y="%s" width="%s" height="20" fill="none" pointer-events="all"/>`, num(k.at.x-4), num(k.at.y),
		num(26+textWidth(k.name, normal)))
	for _, s := range k.parts() {
		s.svg(w)
	}
	w.WriteString("</g>")
}

// parts returns the shapes of a legend's entry.
func (k key) parts() []shape {
	name := label{at: point{k.at.x + 20, k.at.y + 14}, text: k.name, ink: inkText, size: normal, series: none}
	if k.line {
		y := k.at.y + 10
		return []shape{curve{
			points: []point{{k.at.x, y}, {k.at.x + 15, y}}, ink: Series(k.series), width: 3,
			dashed: k.series >= hues, series: none,
		}, name}
	}
	return []shape{rect{x: k.at.x + 1, y: k.at.y + 4, w: 12, h: 12, ink: Series(k.series), series: none}, name}
}
