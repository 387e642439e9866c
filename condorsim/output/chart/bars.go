package chart

import (
	"cmp"
	"math"
	"strings"
)

// Grouped is a chart of bars: for each group, such as a trace, a bar for each series, such as a
// scheduler.
type Grouped struct {
	Name, Title, Alt, Note string
	Scope                  string // as in [Figure]
	Groups, Series         []string
	// Over has a second name for each group, such as the trace of a load; nil: none. Neighbouring
	// groups with the same one have it written once, below them.
	Over []string
	// Values are by group, then by series; NaN is no value.
	Values [][]float64
	// Tips are the texts shown when a pointer is on a bar, by group, then by series.
	Tips [][]string
	Unit Unit
	// Skip is a series without bars, such as the baseline; none if negative.
	Skip int
	// Low and High are where bars are cut off. A cut bar shows its value as text.
	Low, High float64
	// Width is [Page] if 0.
	Width float64
}

// Bars draws grouped bars, in as many rows as they need.
func Bars(g Grouped) *Figure {
	f := &Figure{Name: g.Name, Title: g.Title, Alt: g.Alt, Note: g.Note, Scope: g.Scope, Width: cmp.Or(g.Width, Page)}
	y := f.head(g.Series, g.Skip, false)
	const left, gap, leastBar, height = 52.0, 22.0, 9.0, 210.0
	foot := 44.0
	if g.Over != nil {
		foot += 30
	}
	bars := 0
	for i := range g.Series {
		if i != g.Skip {
			bars++
		}
	}
	room := f.Width - margin - left
	perRow := max(1, int(room/(float64(bars)*leastBar+gap)))
	for _, name := range g.Groups { // no word may be cut off
		perRow = max(1, min(perRow, int(room/(longestWord(name, normal)+4))))
	}
	rows := g.rows(perRow)
	perRow = 0
	for _, groups := range rows {
		perRow = max(perRow, groups[1]-groups[0])
	}
	axis := g.axis()
	for _, groups := range rows {
		y += 14
		g.row(f, bay{left, y, room, height}, axis, groups[0], groups[1], perRow, gap)
		y += height + foot
	}
	f.foot(y - 8)
	return f
}

// rows returns, for each row of bars, the indices of its first group and of the one after its last.
// Rows are of about the same length, and groups with the same name in Over stay together if there
// is room.
func (g Grouped) rows(perRow int) (rows [][2]int) {
	n := (len(g.Groups) + perRow - 1) / perRow
	even := (len(g.Groups) + n - 1) / max(n, 1)
	for _, most := range []int{even, perRow} {
		rows = nil
		torn := false
		for from := 0; from < len(g.Groups); {
			to := min(from+most, len(g.Groups))
			if begin := g.begin(to); begin < to {
				torn = true
				if begin > from {
					to = begin
				}
			}
			rows = append(rows, [2]int{from, to})
			from = to
		}
		if !torn {
			break
		}
	}
	return rows
}

// begin returns the first of the neighbouring groups, up to this one, that have the same name in
// Over; this group itself if the one before it has another name.
func (g Grouped) begin(group int) int {
	if g.Over == nil || group == len(g.Over) {
		return group
	}
	for group > 0 && g.Over[group-1] == g.Over[group] {
		group--
	}
	return group
}

// bay is an area to draw in.
type bay struct{ x, y, w, h float64 }

// axis returns an axis that holds 0 and all values, cut off at Low and High.
func (g Grouped) axis() Axis {
	low, high := 0.0, 0.0
	for _, values := range g.Values {
		for i, v := range values {
			if i != g.Skip && !math.IsNaN(v) {
				low, high = min(low, max(v, g.Low)), max(high, min(v, g.High))
			}
		}
	}
	return NewAxis(Linear, g.Unit, low, high)
}

func (g Grouped) row(f *Figure, b bay, axis Axis, from, to, perRow int, gap float64) {
	at := func(v float64) float64 { return b.y + b.h*(1-axis.place(v)) }
	for _, m := range axis.marks(5) {
		ink := inkGrid
		if m.at == 0 {
			ink = inkAxis
		}
		f.add(hline(b.x, b.x+b.w, at(m.at), ink), note(b.x-7, at(m.at)+4, m.text, end))
	}
	each := b.w / float64(perRow)
	if perRow <= 2 {
		each = min(each, 420)
	}
	for group := from; group < to; group++ {
		x := b.x + float64(group-from)*each
		g.group(f, group, bay{x + gap/2, b.y, each - gap, b.h}, at)
		for i, line := range wrap(g.Groups[group], normal, each-4, 2) {
			f.add(label{
				at: point{x + each/2, b.y + b.h + 16 + 14*float64(i)}, text: line, ink: inkText, size: normal,
				anchor: middle, series: none,
			})
		}
		if g.Over != nil && (group == from || g.Over[group] != g.Over[group-1]) {
			n := 1
			for group+n < to && g.Over[group+n] == g.Over[group] {
				n++
			}
			g.over(f, g.Over[group], x, each*float64(n), b.y+b.h+42)
		}
	}
}

// over writes the name that neighbouring groups share, below a line across them.
func (g Grouped) over(f *Figure, name string, x, width, y float64) {
	f.add(hline(x+6, x+width-6, y-4, inkAxis))
	f.add(label{
		at: point{x + width/2, y + 12}, text: wrap(name, normal, width-4, 1)[0], ink: inkText, size: normal,
		anchor: middle, bold: true, series: none,
	})
}

func (g Grouped) group(f *Figure, group int, b bay, at func(float64) float64) {
	bars := 0
	for i := range g.Series {
		if i != g.Skip {
			bars++
		}
	}
	width := min(b.w/float64(bars), 40)
	x := b.x + (b.w-width*float64(bars))/2
	for i, v := range g.Values[group] {
		if i == g.Skip {
			continue
		}
		switch {
		case math.IsNaN(v):
			f.add(label{
				at: point{x + width/2, at(0) - 3}, text: "–", ink: inkMuted, size: small,
				anchor: middle, series: i,
			})
		default:
			g.bar(f, group, i, v, x, width, at)
		}
		x += width
	}
}

func (g Grouped) bar(f *Figure, group, series int, v, x, width float64, at func(float64) float64) {
	cut := min(max(v, g.Low), g.High)
	top, bottom := min(at(cut), at(0)), max(at(cut), at(0))
	tip := ""
	if g.Tips != nil {
		tip = g.Tips[group][series]
	}
	f.add(rect{x: x + 0.5, y: top, w: width - 1, h: max(bottom-top, 1), ink: Series(series), series: series, tip: tip})
	if cut == v {
		return
	}
	text := g.Unit.Format(v)
	l := label{text: text, ink: inkText, size: 10, series: series, upright: textWidth(text, 10) > width}
	switch inset := textWidth(text, 10); {
	case l.upright && v < cut:
		l.at = point{x + width/2 + 3.5, bottom - 4}
		f.add(chip(x, bottom-inset-8, width, inset+8, series), l)
		return
	case l.upright:
		l.at = point{x + width/2 + 3.5, top + inset + 4}
		f.add(chip(x, top, width, inset+8, series), l)
		return
	case v < cut:
		l.at = point{x + width/2, bottom - 4}
	default:
		l.at = point{x + width/2, top + 12}
	}
	l.anchor = middle
	f.add(chip(x, l.at.y-11, width, 14, series), l)
}

// chip returns the background of a text on a bar.
func chip(x, y, w, h float64, series int) rect {
	return rect{x: x + 0.5, y: y, w: w - 1, h: h, ink: inkGround, opacity: 0.85, series: series}
}

// longestWord returns the width of the widest part of a name that wrap cannot break.
func longestWord(text string, size float64) (width float64) {
	for _, line := range wrap(text, size, 0, math.MaxInt) {
		width = max(width, textWidth(line, size))
	}
	return width
}

// wrap breaks a name at its hyphens and blanks into no more lines than most. What is still too long
// is cut off.
func wrap(text string, size, width float64, most int) []string {
	var lines []string
	line := ""
	for _, part := range strings.SplitAfter(strings.ReplaceAll(text, " ", "\u200b \u200b"), "-") {
		for word := range strings.SplitSeq(part, "\u200b") {
			if line != "" && textWidth(line+word, size) > width && len(lines) < most-1 {
				lines = append(lines, strings.TrimSpace(line))
				line = ""
			}
			line += word
		}
	}
	lines = append(lines, strings.TrimSpace(line))
	for i, l := range lines {
		if fits := int(width / textWidth("m", size)); len([]rune(l)) > fits && fits > 1 {
			lines[i] = string([]rune(l)[:fits-1]) + "…"
		}
	}
	return lines
}
