package chart

import (
	"fmt"
	"image/color"
	"image/png"
	"io"
	"strconv"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
)

// sharpness is how many dots of a PNG a CSS pixel is wide and high: 320 dots per inch on paper.
const sharpness = 3

// pngCanvas draws shapes as dots. Package vg measures in points, which stand for CSS pixels here;
// its y grows upwards.
type pngCanvas struct {
	*vgimg.Canvas
	fonts  *font.Cache
	height float64
}

// WritePNG writes the figure as an image on white.
func (f *Figure) WritePNG(out io.Writer) error {
	c := pngCanvas{
		Canvas: vgimg.NewWith(vgimg.UseWH(vg.Length(f.Width), vg.Length(f.Height)), vgimg.UseDPI(72*sharpness),
			vgimg.UseBackgroundColor(color.White)),
		fonts: font.NewCache(liberation.Collection()), height: f.Height,
	}
	for _, s := range f.shapes {
		s.png(&c)
	}
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(out, c.Image()); err != nil {
		return fmt.Errorf("draw the chart %s: %w", f.Name, err)
	}
	return nil
}

func (c *pngCanvas) at(p point) vg.Point {
	return vg.Point{X: vg.Length(p.x), Y: vg.Length(c.height - p.y)}
}

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
	var path vg.Path
	path.Move(c.at(point{r.x, r.y}))
	path.Line(c.at(point{r.x + r.w, r.y}))
	path.Line(c.at(point{r.x + r.w, r.y + r.h}))
	path.Line(c.at(point{r.x, r.y + r.h}))
	path.Close()
	c.Fill(path)
}

func (l curve) png(c *pngCanvas) {
	if len(l.points) == 0 {
		return
	}
	c.ink(l.ink, 0)
	c.SetLineWidth(vg.Length(l.width))
	c.SetLineDash(nil, 0)
	if l.dashed {
		c.SetLineDash([]vg.Length{6, 3}, 0)
	}
	var path vg.Path
	path.Move(c.at(l.points[0]))
	for _, p := range l.points[1:] {
		path.Line(c.at(p))
	}
	c.Stroke(path)
}

func (l label) png(c *pngCanvas) {
	c.ink(l.ink, 0)
	style := font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Length(l.size)}
	if l.bold {
		style.Weight = xfont.WeightBold
	}
	face := c.fonts.Lookup(style, style.Size)
	shift := -face.Width(l.text) * vg.Length(l.anchor) / 2
	if l.upright {
		c.Push()
		c.Translate(c.at(l.at))
		c.Rotate(quarter)
		c.FillString(face, vg.Point{X: shift}, l.text)
		c.Pop()
		return
	}
	at := c.at(l.at)
	at.X += shift
	c.FillString(face, at, l.text)
}

// quarter is a turn to the left, in radians.
const quarter = 3.14159265358979 / 2

func (k key) png(c *pngCanvas) {
	for _, s := range k.parts() {
		s.png(c)
	}
}
