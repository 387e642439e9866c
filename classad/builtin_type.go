package classad

import "math"

// isKind returns a function of the language that tests whether its argument is of a kind.
func isKind(kind Kind, name, doc, example string) Builtin {
	return Builtin{
		Name: name, MinArgs: 1, MaxArgs: 1, Missing: MissingAllowed, Doc: doc, Example: example,
		fn: func(c call) Value { return boolean(c.args[0].kind == kind) },
	}
}

var typeBuiltins = []Builtin{
	isKind(Undefined, "isUndefined", "Tells whether x is undefined.", `isUndefined(undefined)`),
	isKind(Error, "isError", "Tells whether x is error.", `isError(1 / 0)`),
	isKind(String, "isString", "Tells whether x is a string.", `isString("x")`),
	isKind(Integer, "isInteger", "Tells whether x is an integer.", `isInteger(1)`),
	isKind(Real, "isReal", "Tells whether x is a real number.", `isReal(1.0)`),
	isKind(Boolean, "isBoolean", "Tells whether x is a boolean.", `isBoolean(true)`),
	isKind(List, "isList", "Tells whether x is a list.", `isList({ 1 })`),
	isKind(AbsTime, "isAbsTime", "Tells whether x is an absolute time.", `isAbsTime(absTime(0, 0))`),
	isKind(RelTime, "isRelTime", "Tells whether x is a relative time.", `isRelTime(relTime(90))`),
	isKind(Ad, "isClassAd", "Tells whether x is an ad.", `isClassAd([ a = 1 ])`),
	{
		Name: "int", MinArgs: 1, MaxArgs: 1, fn: toInt,
		Doc:     "Converts x to an integer, cutting the fraction; a string may have anything after the number.",
		Example: `int("12.9 GB") is 12`,
	},
	{
		Name: "real", MinArgs: 1, MaxArgs: 1, fn: toReal,
		Doc:     "Converts x to a real number; a string may have anything after the number.",
		Example: `real("1.5") is 1.5`,
	},
	{
		Name: "string", MinArgs: 1, MaxArgs: 1,
		Doc:     "Gives the printed form of x; strings stay as they are.",
		Example: `string(true) is "true"`,
		fn:      func(c call) Value { return text(c.text(0)) },
	},
	{
		Name: "bool", MinArgs: 1, MaxArgs: 1, fn: toBool,
		Doc: `Converts numbers, relative times and the strings "true" and "false" in any case; other strings ` +
			`are undefined.`,
		Example: `bool("False") is false`,
	},
}

func toInt(c call) Value {
	x := c.args[0]
	if x.kind == Integer {
		return x
	}
	r, ok := c.ev.realOf(x)
	if !ok {
		return errorValue
	}
	return toInteger(r, math.Trunc)
}

func toReal(c call) Value {
	r, ok := c.ev.realOf(c.args[0])
	if !ok {
		return errorValue
	}
	return realValue(r)
}

func toBool(c call) Value {
	switch x := c.args[0]; {
	case x.kind == RelTime:
		return boolean(secondsOf(x) != 0)
	case x.kind != String:
		return truthOf(x).value()
	case compareFold(x.str(), "true") == 0:
		return boolean(true)
	case compareFold(x.str(), "false") == 0:
		return boolean(false)
	default:
		return undefined
	}
}
