package chart

import "cmp"

// Panel is one coordinate system with curves.
type Panel struct {
	Title string
	// Across and Up are the axes. AcrossIs and UpIs say what they show, with the unit if the
	// numbers do not show it.
	Across, Up     Axis
	AcrossIs, UpIs string
	// Curves are by series; nil: the series has no data here.
	Curves [][]Point
	// Dots marks the points of the curves, for curves of few points.
	Dots bool
}

// Point is a value on each axis.
type Point struct{ Across, Up float64 }

// Lined is a chart of one or more panels with the same series.
type Lined struct {
	Name, Title, Alt, Note string
	Scope                  string // as in [Figure]
	Series                 []string
	Panels                 []Panel
	// PerRow is the number of panels in a row.
	PerRow int
	// Height is the height of a panel's coordinate system.
	Height float64
	// Width is [Page] if 0.
	Width float64
}

// Lines draws curves.
func Lines(l Lined) *Figure {
	f := &Figure{Name: l.Name, Title: l.Title, Alt: l.Alt, Note: l.Note, Scope: l.Scope, Width: cmp.Or(l.Width, Page)}
	y := f.head(l.Series, none, true)
	const left, right, above, foot = 64.0, 14.0, 26.0, 46.0
	perRow := max(1, min(l.PerRow, len(l.Panels)))
	each := (f.Width - 2*margin) / float64(perRow)
	for i, p := range l.Panels {
		column := i % perRow
		if i > 0 && column == 0 {
			y += above + l.Height + foot
		}
		x := margin + each*float64(column)
		if p.Title != "" {
			f.add(label{
				at: point{x + left, y + 14}, text: p.Title, ink: inkText, size: normal, bold: true,
				series: none,
			})
		}
		p.draw(f, bay{x + left, y + above, each - left - right, l.Height}, l.Series)
	}
	if len(l.Panels) > 0 {
		y += above + l.Height + foot
	}
	f.foot(y - 8)
	return f
}

func (p Panel) draw(f *Figure, b bay, names []string) {
	at := func(q Point) point {
		return point{b.x + b.w*p.Across.place(q.Across), b.y + b.h*(1-p.Up.place(q.Up))}
	}
	for _, m := range p.Up.marks(b.h / 45) {
		y := at(Point{0, m.at}).y
		f.add(hline(b.x, b.x+b.w, y, inkGrid), note(b.x-7, y+4, m.text, end))
	}
	last := -1e9
	for _, m := range p.Across.marks(b.w / 110) {
		x, text := at(Point{m.at, 0}).x, m.text
		f.add(vline(x, b.y, b.y+b.h, inkGrid))
		if half := textWidth(text, small) / 2; x-half > last+6 {
			f.add(note(x, b.y+b.h+16, text, middle))
			last = x + half
		}
	}
	f.add(hline(b.x, b.x+b.w, b.y+b.h, inkAxis), vline(b.x, b.y, b.y+b.h, inkAxis))
	f.add(note(b.x+b.w/2, b.y+b.h+33, p.AcrossIs, middle))
	up := note(b.x-50, b.y+b.h/2, p.UpIs, middle)
	up.upright = true
	f.add(up)
	for series, points := range p.Curves {
		if len(points) == 0 {
			continue
		}
		c := curve{ink: Series(series), width: 1.4, dashed: series >= hues, series: series, name: names[series]}
		for _, q := range points {
			c.points = append(c.points, at(q))
		}
		f.add(c)
		if p.Dots {
			for _, q := range c.points {
				f.add(rect{x: q.x - 3, y: q.y - 3, w: 6, h: 6, ink: c.ink, series: series})
			}
		}
	}
	f.plots = append(f.plots, plot{b.x, b.y, b.w, b.h, p.Across, p.Up, p.AcrossIs, p.UpIs})
}
