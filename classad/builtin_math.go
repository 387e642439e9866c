package classad

import (
	"math"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// rounding returns a function of the language that rounds a number to an integer.
func rounding(name, doc, example string, round func(float64) float64) Builtin {
	return Builtin{
		Name: name, MinArgs: 1, MaxArgs: 1, Missing: MissingFails, Doc: doc, Example: example,
		fn: func(c call) Value {
			x := c.args[0]
			if x.kind == Integer {
				return x
			}
			r, ok := c.ev.realOf(x)
			if !ok {
				return errorValue
			}
			return toInteger(r, round)
		},
	}
}

var mathBuiltins = []Builtin{
	rounding("floor", "Rounds down to an integer.", `floor(-1.5) is -2`, math.Floor),
	rounding("ceiling", "Rounds up to an integer.", `ceiling(1.2) is 2`, math.Ceil),
	rounding("ceil", "Rounds up to an integer.", `ceil(1.2) is 2`, math.Ceil),
	rounding("round", "Rounds to the nearest integer, halves to the even one.", `round(2.5) is 2`, math.RoundToEven),
	{
		Name: "pow", MinArgs: 2, MaxArgs: 2, Missing: MissingFails, fn: power,
		Doc:     "Raises x to the power y; an integer if both are and y is not negative.",
		Example: `pow(2, 10) is 1024`,
	},
	{
		Name: "quantize", MinArgs: 2, MaxArgs: 2, Missing: MissingFails, fn: quantize,
		Doc:     "Rounds x up to a multiple of y, or to the first element of a list that is not less.",
		Example: `quantize(1000, 512) is 1024 && quantize(3, { 2, 4, 8 }) is 4`,
	},
}

func power(c call) Value {
	x, okX := c.ev.realOf(c.args[0])
	y, okY := c.ev.realOf(c.args[1])
	if !c.ev.spend(stepsPerPower) {
		return errorValue
	}
	switch r := pow(x, y); {
	case !okX || !okY:
		return errorValue
	case c.args[0].kind == Integer && c.args[1].kind == Integer && y >= 0:
		return toInteger(r, math.Round)
	default:
		return realValue(r)
	}
}

// quantize rounds a number up to a multiple of the second argument or, if that is a list, to its
// first element that is not less; if all elements are less, to a multiple of the last one.
func quantize(c call) Value {
	x, ok := c.ev.number(c.args[0])
	if !ok {
		return errorValue
	}
	if c.args[1].kind != List {
		return c.ev.multiple(c.args[0], c.args[1])
	}
	last, result := undefined, undefined
	c.each(c.args[1], func(element Value) bool {
		base, isNumber := c.ev.number(element)
		switch {
		case !isNumber:
			result = errorValue
		case compare(ast.GreaterEqual, base, x).IsTrue():
			result = base
			if element.kind == Boolean {
				result = element
			}
		}
		last = base
		return result.kind == Undefined
	})
	switch {
	case result.kind != Undefined:
		return result
	case last.kind == Undefined:
		return c.args[0]
	default:
		return c.ev.multiple(c.args[0], last)
	}
}

// number returns integers unchanged and converts everything else to real; false if that is
// impossible.
func (ev *evaluator) number(v Value) (Value, bool) {
	if v.kind == Integer {
		return v, true
	}
	r, ok := ev.realOf(v)
	return realValue(r), ok
}

// multiple rounds a number up to a multiple of the base; the number stays if the base is 0.
func (ev *evaluator) multiple(original, base Value) Value {
	x, _ := ev.number(original)
	base, ok := ev.number(base)
	if !ok {
		return errorValue
	}
	if x.kind == Integer && base.kind == Integer {
		b := base.asInt()
		if b == 0 {
			return original
		}
		return integer((x.asInt() + b - 1) / b * b)
	}
	r, _ := numeric(x)
	b, _ := numeric(base)
	if b == 0 {
		return original
	}
	return realValue(math.Ceil(r/b) * b)
}
