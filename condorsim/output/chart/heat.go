package chart

import (
	"cmp"
	"math"
)

// Map is a grid of values; the greater a value, the darker its cell.
type Map struct {
	Title string
	// Values are by row, then by column; NaN is no value.
	Values [][]float64
	Tips   [][]string
}

// Heated is a chart of maps with the same rows, columns and scale.
type Heated struct {
	Name, Title, Alt, Note string
	Rows, Columns          []string
	RowsAre, ColumnsAre    string
	Maps                   []Map
	Unit                   Unit
	// Width is [Page] if 0.
	Width float64
}

// Heat draws the maps, as many beside each other as fit. The scale from value to darkness is
// logarithmic.
func Heat(h Heated) *Figure {
	f := &Figure{Name: h.Name, Title: h.Title, Alt: h.Alt, Note: h.Note, Width: cmp.Or(h.Width, Page)}
	y := f.head(nil, none, false)
	const cellHeight, above, foot, gap = 24.0, 24.0, 44.0, 18.0
	left := 12.0
	for _, row := range h.Rows {
		left = max(left, textWidth(row, small)+24)
	}
	leastCell := 46.0
	for _, column := range h.Columns {
		leastCell = max(leastCell, textWidth(column, small)+6)
	}
	least := left + leastCell*float64(len(h.Columns)) + gap
	perRow := max(1, min(int((f.Width-2*margin)/least), len(h.Maps)))
	each := min((f.Width-2*margin)/float64(perRow), least*1.5)
	height := cellHeight * float64(len(h.Rows))
	low, top := h.extremes()
	for i, m := range h.Maps {
		if i > 0 && i%perRow == 0 {
			y += above + height + foot
		}
		x := margin + each*float64(i%perRow)
		f.add(label{at: point{x + left, y + 14}, text: m.Title, ink: inkText, size: normal, bold: true, series: none})
		h.grid(f, m, bay{x + left, y + above, each - left - gap, height}, low, top)
	}
	if len(h.Maps) > 0 {
		y += above + height + foot
	}
	f.foot(y - 8)
	return f
}

// extremes returns the least and the greatest value of all maps.
func (h Heated) extremes() (low, top float64) {
	low, top = math.Inf(1), math.Inf(-1)
	for _, m := range h.Maps {
		for _, row := range m.Values {
			for _, v := range row {
				if !math.IsNaN(v) {
					low, top = min(low, v), max(top, v)
				}
			}
		}
	}
	return low, top
}

func (h Heated) grid(f *Figure, m Map, b bay, low, top float64) {
	w, t := b.w/float64(len(h.Columns)), b.h/float64(len(h.Rows))
	for r, row := range m.Values {
		y := b.y + t*float64(r)
		f.add(note(b.x-6, y+t/2+4, h.Rows[r], end))
		for c, v := range row {
			x := b.x + w*float64(c)
			cell := rect{x: x + 1, y: y + 1, w: w - 2, h: t - 2, ink: inkGrid, opacity: 0.35, series: none}
			if math.IsNaN(v) {
				f.add(cell)
				continue
			}
			cell.ink, cell.opacity, cell.tip = inkHeat, 0.06+0.54*share(v, low, top), m.Tips[r][c]
			f.add(cell, label{
				at: point{x + w/2, y + t/2 + 4}, text: brief(h.Unit.Format(v)), ink: inkText, size: 10.5,
				anchor: middle, series: none,
			})
		}
	}
	for c, name := range h.Columns {
		f.add(note(b.x+w*(float64(c)+0.5), b.y+b.h+14, name, middle))
	}
	f.add(note(b.x+b.w/2, b.y+b.h+29, h.ColumnsAre, middle))
	rows := note(b.x-textRoom(h.Rows)-10, b.y+b.h/2, h.RowsAre, middle)
	rows.upright = true
	f.add(rows)
}

func textRoom(texts []string) float64 {
	room := 0.0
	for _, text := range texts {
		room = max(room, textWidth(text, small))
	}
	return room
}

// share maps low to 0, top to 1, and values between them logarithmically; it is 0 if top is not
// above low.
func share(v, low, top float64) float64 {
	if top <= low {
		return 0
	}
	from := math.Log1p(max(low, 0))
	return (math.Log1p(max(v, 0)) - from) / (math.Log1p(max(top, 0)) - from)
}

// brief removes the blank before a unit.
func brief(text string) string {
	var out []rune
	for _, r := range text {
		if r != ' ' {
			out = append(out, r)
		}
	}
	return string(out)
}
