package chart

// Figure is a finished drawing.
type Figure struct {
	// Name is the name of the figure's files, without folder and extension.
	Name string
	// Title stands above the drawing. Alt describes it in a sentence.
	Title, Alt    string
	Width, Height float64
	// Note is small text below the drawing, such as a warning that data is missing.
	Note string
	// Scope names a set of figures with the same series: a page that hides a series does so in all
	// figures of one scope. It is part of an attribute's value and may be "".
	Scope  string
	shapes []shape
	plots  []plot
}

// Widths of figures: Page is for a screen; with Paper, small text still has 7 points when the
// figure is as wide as a paper's text.
const (
	Page  = 1180.0
	Paper = 720.0
)

// Ink is the role of a shape's colour; the theme gives the colour.
type Ink string

// The inks other than those of [Series].
const (
	inkGrid  Ink = "grid"
	inkAxis  Ink = "axis"
	inkText  Ink = "text"
	inkMuted Ink = "muted"
	inkHeat  Ink = "heat"
	inkAlarm Ink = "alarm"
	// inkGround is the background.
	inkGround Ink = "ground"
)

// none is the series of shapes that belong to no series.
const none = -1

// point is a place in a figure.
type point struct{ x, y float64 }

// shape is a part of a figure that every output can draw.
type shape interface {
	svg(*svgWriter)
	png(*pngCanvas)
}

// rect is a filled rectangle; opacity 0 stands for 1.
type rect struct {
	x, y, w, h float64
	ink        Ink
	opacity    float64
	series     int
	tip        string // shown when a pointer is on it
}

// curve is a line through points.
type curve struct {
	points []point
	ink    Ink
	width  float64
	dashed bool
	series int
	name   string // of the series; "" if the curve is no data
}

// label is a line of text, turned a quarter to the left if upright.
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

// plot is the area of a coordinate system, in which a page's script shows the values of the curves
// at the pointer.
type plot struct {
	x, y, w, h       float64
	across, up       Axis
	acrossIs, upIsIn string // what the axes show, for people
}

func (f *Figure) add(shapes ...shape) { f.shapes = append(f.shapes, shapes...) }

// hline returns a horizontal line, of the grid or an axis; vline a vertical one.
func hline(x1, x2, y float64, ink Ink) curve {
	return curve{points: []point{{x1, y}, {x2, y}}, ink: ink, width: 1, series: none}
}

func vline(x, y1, y2 float64, ink Ink) curve {
	return curve{points: []point{{x, y1}, {x, y2}}, ink: ink, width: 1, series: none}
}

// note returns a small text.
func note(x, y float64, text string, at anchor) label {
	return label{at: point{x, y}, text: text, ink: inkMuted, size: small, anchor: at, series: none}
}

// Sizes of text, and the space around a drawing.
const (
	small, normal, large = 11.0, 12.0, 15.0
	margin               = 16.0
)

// textWidth estimates the width of a text.
func textWidth(text string, size float64) float64 {
	return 0.56 * size * float64(len([]rune(text)))
}

// head adds the title and a legend with all names but that at index skip, and returns the y at
// which they end.
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

// foot adds the note at the bottom and sets the height.
func (f *Figure) foot(y float64) {
	if f.Note != "" {
		y += small + 4
		l := note(margin, y, f.Note, start)
		l.ink = inkAlarm
		f.add(l)
	}
	f.Height = y + margin
}
