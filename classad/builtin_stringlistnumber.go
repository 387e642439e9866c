package classad

import (
	"math"
	"strings"
)

// The functions that read the items of a string list as numbers.
var stringListNumberBuiltins = []Builtin{
	{
		Name: "stringListSum", MinArgs: 1, MaxArgs: 2, Condor: true, Missing: MissingFails,
		Doc:     "Adds the numbers in a string list; the result is real if one looks real or there is none.",
		Example: `stringListSum("1, 2") is 3 && stringListSum("1, 2.5") is 3.5`,
		fn: func(c call) Value {
			return c.summarize(0, func(sum, x float64) float64 { return sum + x }, summary.value)
		},
	},
	{
		Name: "stringListAvg", MinArgs: 1, MaxArgs: 2, Condor: true, Missing: MissingFails,
		Doc: "Averages the numbers in a string list; the result is real if one looks real or there " +
			"is none, else cut.",
		Example: `stringListAvg("1, 2.0") is 1.5 && stringListAvg("1, 2") is 1`,
		fn: func(c call) Value {
			return c.summarize(0, func(sum, x float64) float64 { return sum + x }, func(s summary) Value {
				s.result /= float64(max(s.count, 1))
				return s.value()
			})
		},
	},
	{
		Name: "stringListMin", MinArgs: 1, MaxArgs: 2, Condor: true, Missing: MissingFails,
		Doc:     "Gives the least number in a string list, or undefined if there is none.",
		Example: `stringListMin("3, 1, 2") is 1`,
		fn: func(c call) Value {
			return c.summarize(math.MaxFloat32, func(least, x float64) float64 {
				if x < least {
					return x
				}
				return least
			}, summary.valueOfSome)
		},
	},
	{
		Name: "stringListMax", MinArgs: 1, MaxArgs: 2, Condor: true, Missing: MissingFails,
		Doc: "Gives the greatest number in a string list, or undefined if there is none; as in the reference " +
			"it is never less than about 1E-38, which is 0 as an integer.",
		Example: `stringListMax("3, 1, 2") is 3`,
		fn: func(c call) Value {
			const smallestNormalFloat32 = 0x1p-126
			return c.summarize(smallestNormalFloat32, func(greatest, x float64) float64 {
				if x > greatest {
					return x
				}
				return greatest
			}, summary.valueOfSome)
		},
	},
}

// summary is the result of a walk over the numbers of a string list.
type summary struct {
	result float64
	count  int
	isReal bool
}

func (s summary) value() Value {
	if s.isReal || s.count == 0 {
		return realValue(s.result)
	}
	return toInteger(s.result, math.Trunc)
}

func (s summary) valueOfSome() Value {
	if s.count == 0 {
		return undefined
	}
	return s.value()
}

// summarize combines the numbers of the list, beginning with start, and returns the value that
// finish makes of the result. An item must begin with a number, else the value is error; the item
// counts as real if it contains anything but digits and signs.
func (c call) summarize(start float64, combine func(result, x float64) float64, finish func(summary) Value) Value {
	separators := sizeSeparators
	if len(c.args) == 2 {
		separators = c.args[1].str()
	}
	if !c.texts() {
		return errorValue
	}
	s := summary{result: start}
	for item := range c.items(c.args[0].str(), separators) {
		x, ok := c.ev.leadingNumber(item)
		if !ok {
			return errorValue
		}
		s.count++
		s.isReal = s.isReal || strings.Trim(item, "+-0123456789") != ""
		s.result = combine(s.result, x)
	}
	return finish(s)
}
