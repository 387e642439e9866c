package chart

// Figure is a finished drawing.
type Figure struct {
	// Name is what a file of it is called, without folder and extension.
	Name string
	// Title stands above the drawing, Alt says in a sentence what is in it.
	Title, Alt    string
	Width, Height float64
	// Note stands small below the drawing, such as a warning that data is missing.
	Note string
	// Scope tells figures apart whose series are not the same: a page that hides a
	// series in all figures does so in those of one scope. It is part of an attribute's
	// value; "" is one too.
	Scope  string
	shapes []shape
	plots  []plot
}

// Widths of figures: that of a page on a screen, and one with which small text is
// still of 7 points where the figure is as wide as a paper's text.
const (
	Page  = 1180.0
	Paper = 720.0
)

// Ink is the colour of a shape by its role; the theme says which colour that is.
type Ink string

// The inks, beside those of [Series].
const (
	inkGrid  Ink = "grid"
	inkAxis  Ink = "axis"
	inkText  Ink = "text"
	inkMuted Ink = "muted"
	inkHeat  Ink = "heat"
	inkAlarm Ink = "alarm"
	// inkGround is what the drawing stands on.
	inkGround Ink = "ground"
)

// none is the series of what belongs to no series.
const none = -1

// point is a place in a figure.
type point struct{ x, y float64 }

// shape is a part of a figure that every output knows how to draw.
type shape interface {
	svg(*svgWriter)
	png(*pngCanvas)
}

// rect is a filled rectangle. Its opacity is 1 if 0.
type rect struct {
	x, y, w, h float64
	ink        Ink
	opacity    float64
	series     int
	tip        string // what a pointer on it is told
}

// curve is a line through points.
type curve struct {
	points []point
	ink    Ink
	width  float64
	dashed bool
	series int
	name   string // of the series; "" for what is no data
}

// label is a line of text. It is turned by a quarter to the left if upright.
type label struct {
	at      point
	text    string
	ink     Ink
	size    float64
	anchor  anchor
	bold    bool
	upright bool
	series  int
}

type anchor int

const (
	start anchor = iota
	middle
	end
)

// key is an entry of the legend: a swatch and a name.
type key struct {
	at     point
	name   string
	series int
	line   bool
}

// plot is a rectangle in which curves can be read off.
type plot struct {
	x, y, w, h       float64
	across, up       Axis
	acrossIs, upIsIn string // what the axes hold, for the reader
}

func (f *Figure) add(shapes ...shape) { f.shapes = append(f.shapes, shapes...) }

// hline and vline are lines of the grid and of axes.
func hline(x1, x2, y float64, ink Ink) curve {
	return curve{points: []point{{x1, y}, {x2, y}}, ink: ink, width: 1, series: none}
}

func vline(x, y1, y2 float64, ink Ink) curve {
	return curve{points: []point{{x, y1}, {x, y2}}, ink: ink, width: 1, series: none}
}

// note is a small text.
func note(x, y float64, text string, at anchor) label {
	return label{at: point{x, y}, text: text, ink: inkMuted, size: small, anchor: at, series: none}
}

// Sizes of text, and the space around a drawing.
const (
	small, normal, large = 11.0, 12.0, 15.0
	margin               = 16.0
)

// textWidth is about how wide a text is.
func textWidth(text string, size float64) float64 {
	return 0.56 * size * float64(len([]rune(text)))
}

// head puts the title and the legend on top and returns where they end.
func (f *Figure) head(names []string, skip int, line bool) float64 {
	y := margin
	for _, line := range wrap(f.Title, large, f.Width-2*margin, 2) {
		y += large
		f.add(label{at: point{margin, y}, text: line, ink: inkText, size: large, bold: true, series: none})
		y += 4
	}
	y += 8
	x, drawn := margin, 0
	for i, name := range names {
		if i == skip {
			continue
		}
		width := 24 + textWidth(name, normal) + 14
		if drawn > 0 && x+width > f.Width-margin {
			x, y = margin, y+20
		}
		f.add(key{at: point{x, y}, name: name, series: i, line: line})
		x += width
		drawn++
	}
	if drawn > 0 {
		y += 20
	}
	return y + 6
}

// foot puts the note at the bottom and settles the height.
func (f *Figure) foot(y float64) {
	if f.Note != "" {
		y += small + 4
		l := note(margin, y, f.Note, start)
		l.ink = inkAlarm
		f.add(l)
	}
	f.Height = y + margin
}
