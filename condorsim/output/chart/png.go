package chart

import (
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"strconv"
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"git.sr.ht/~sbinet/gg"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// sharpness is how many dots of a PNG a CSS pixel is wide and high: 320 dots per inch on paper.
const sharpness = 3

// pngCanvas draws shapes as dots. Its lengths are CSS pixels.
type pngCanvas struct{ *gg.Context }

// WritePNG writes the figure as an image on white.
func (f *Figure) WritePNG(out io.Writer) error {
	c := pngCanvas{gg.NewContext(dots(f.Width), dots(f.Height))}
	c.SetColor(color.White)
	c.Clear()
	c.Scale(sharpness, sharpness)
	for _, s := range f.shapes {
		s.png(&c)
	}
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(out, c.Image()); err != nil {
		return fmt.Errorf("draw the chart %s: %w", f.Name, err)
	}
	return nil
}

// dots returns a length in dots.
func dots(length float64) int { return int(math.Round(length * sharpness)) }

// ink sets the colour for what is drawn next.
func (c *pngCanvas) ink(i Ink, opacity float64) {
	value, _ := strconv.ParseUint(i.colour()[1:], 16, 32) // the table has only such values
	if opacity == 0 {
		opacity = 1
	}
	//nolint:gosec // the bytes of a colour
	c.SetColor(color.NRGBA{R: uint8(value >> 16), G: uint8(value >> 8), B: uint8(value), A: uint8(255*opacity + 0.5)})
}

func (r rect) png(c *pngCanvas) {
	c.ink(r.ink, r.opacity)
	c.DrawRectangle(r.x, r.y, r.w, r.h)
	c.Fill()
}

func (l curve) png(c *pngCanvas) {
	c.ink(l.ink, 0)
	c.SetLineWidth(l.width * sharpness) // widths and dashes are not scaled with the canvas
	c.SetLineCapButt()
	c.SetDash()
	if l.dashed {
		c.SetDash(6*sharpness, 3*sharpness)
	}
	for _, p := range l.points {
		c.LineTo(p.x, p.y)
	}
	c.Stroke()
}

func (l label) png(c *pngCanvas) {
	c.ink(l.ink, 0)
	c.Push()
	c.Translate(l.at.x, l.at.y)
	if l.upright {
		c.Rotate(-math.Pi / 2)
	}
	regular, bold := faces()
	t := typesetter{face: regular, size: fixed.Int26_6(l.size * 64)}
	if l.bold {
		t.face = bold
	}
	t.write(c, l.text, float64(l.anchor)/2)
	c.Pop()
	c.Fill()
}

func (k key) png(c *pngCanvas) {
	for _, s := range k.parts() {
		s.png(c)
	}
}

// faces returns the typeface of files, regular and bold.
//
//nolint:gochecknoglobals // parsed once
var faces = sync.OnceValues(func() (regular, bold *sfnt.Font) {
	parsed := func(data []byte) *sfnt.Font {
		f, err := sfnt.Parse(data)
		if err != nil {
			panic(err) // it is part of the program
		}
		return f
	}
	return parsed(liberationsansregular.TTF), parsed(liberationsansbold.TTF)
})

// typesetter draws the outlines of letters: they stay sharp when they are turned.
type typesetter struct {
	face   *sfnt.Font
	size   fixed.Int26_6
	buffer sfnt.Buffer
}

// write adds the outline of a line of text to the path. The given share of its width is left of the
// origin.
func (t *typesetter) write(c *pngCanvas, text string, before float64) {
	var letters []sfnt.GlyphIndex
	for _, r := range text {
		letter, _ := t.face.GlyphIndex(&t.buffer, r) // what the typeface lacks is drawn as a box
		letters = append(letters, letter)
	}
	width := 0.0
	for _, letter := range letters {
		width += t.advance(letter)
	}
	x := -width * before
	for _, letter := range letters {
		t.outline(c, letter, x)
		x += t.advance(letter)
	}
}

func (t *typesetter) advance(letter sfnt.GlyphIndex) float64 {
	width, _ := t.face.GlyphAdvance(&t.buffer, letter, t.size, font.HintingNone) // there is such a letter
	return float64(width) / 64
}

func (t *typesetter) outline(c *pngCanvas, letter sfnt.GlyphIndex, x float64) {
	segments, _ := t.face.LoadGlyph(&t.buffer, letter, t.size, nil) // as above
	at := func(p fixed.Point26_6) (float64, float64) { return x + float64(p.X)/64, float64(p.Y) / 64 }
	for _, s := range segments {
		x1, y1 := at(s.Args[0])
		x2, y2 := at(s.Args[1])
		x3, y3 := at(s.Args[2])
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			c.MoveTo(x1, y1)
		case sfnt.SegmentOpLineTo:
			c.LineTo(x1, y1)
		case sfnt.SegmentOpQuadTo:
			c.QuadraticTo(x1, y1, x2, y2)
		case sfnt.SegmentOpCubeTo:
			c.CubicTo(x1, y1, x2, y2, x3, y3)
		}
	}
}
