package backfill

import "math"

// Curve is a key that falls with time by itself, while its job waits: how far is known at any instant
// without asking the order again. The zero value is no curve.
//
// The keys of two jobs with curves of the same kind cross once at most, as a rising function of each
// key, negated, is a line in time: the key of an expansion itself, and the third root of a cube.
type Curve struct {
	kind             curveKind
	submit, estimate Time
	width, again     float64 // factors of a cube
	scale            float64 // factor of all
}

type curveKind uint8

const (
	noCurve   curveKind = iota
	expansion           // minus the expansion factor
	cube                // minus the third power of wait / estimate, times factors
)

// Key returns the key at an instant. The sequence of the float operations is part of the orders'
// definitions: it makes the rounding the same on every machine.
func (c *Curve) Key(now Time) float64 {
	wait := max(0, now-c.submit)
	switch c.kind {
	case expansion:
		return -float64(wait+c.estimate) / float64(c.estimate) * c.scale
	case cube:
		r := float64(wait) / float64(c.estimate)
		// Not -0 while it has not waited: the key would look different from one that was 0 before.
		return 0 - r*r*r*c.width*c.again*c.scale
	default:
		return c.scale // a key that stays
	}
}

// Scaled returns the curve of a key that is multiplied by a positive factor.
func (c Curve) Scaled(factor float64) Curve {
	c.scale *= factor
	return c
}

// moves returns the key at an instant, and the curve as what moves it.
func (c Curve) moves(now Time) (key float64, moves Moves) {
	c.scale = 1
	return c.Key(now), Moves{WithTime: true, Curve: c}
}

// line is a job's curve with the line that ranks its key among others of the kind: higher is first.
type line struct {
	Curve
	base, slope float64 // at the submit time, and by each second
}

// newLine returns the line of a curve; nil if it is none.
func newLine(c Curve) *line {
	switch c.kind {
	case expansion:
		return &line{c, c.scale, c.scale / float64(c.estimate)}
	case cube:
		return &line{c, 0, math.Cbrt(c.width*c.again*c.scale) / float64(c.estimate)}
	default:
		return nil
	}
}

// at returns how high the line is.
func (l *line) at(now Time) float64 { return l.base + l.slope*float64(now-l.submit) }

// nearly is by which part of its height a line must be above another for that to be sure: rounding
// moves keys by less.
const nearly = 1e-10

// ahead returns until when, exclusively, a job surely stays before another one that it is before now.
// That is at least the next second, as no instant is between.
func (l *line) ahead(o *line, now Time) Time {
	switch {
	case l.sameRise(&o.Curve):
		return Forever // whoever came first is first
	case l.kind != o.kind, now < l.submit, now < o.submit:
		return now + 1
	}
	lead, loss := (1-nearly)*l.at(now)-o.at(now), o.slope-(1-nearly)*l.slope
	switch seconds := math.Floor(lead / loss); {
	case lead <= 0:
		return now + 1
	case loss <= 0 || seconds >= float64(Forever-now):
		return Forever
	default:
		return now + max(1, Time(seconds))
	}
}

// sameRise reports whether two curves differ in nothing but in their submit times.
func (c *Curve) sameRise(o *Curve) bool {
	return c.kind == o.kind && c.estimate == o.estimate && c.width == o.width && c.again == o.again && c.scale == o.scale
}
