package classad

import "github.com/condor-backfill/condor-backfill/classad/ast"

var listBuiltins = []Builtin{
	{
		Name: "size", MinArgs: 1, MaxArgs: 1, fn: size,
		Doc:     "Counts the bytes of a string, the elements of a list or the attributes of an ad.",
		Example: `size({ 1, 2 }) == 2`,
	},
	{
		Name: "member", MinArgs: 2, MaxArgs: 2, Missing: MissingAllowed,
		Doc:     "Tells whether an element of the list equals x by ==.",
		Example: `member("LINUX", { "windows", "linux" })`,
		fn:      func(c call) Value { return c.member(ast.Equal) },
	},
	{
		Name: "identicalMember", MinArgs: 2, MaxArgs: 2, Missing: MissingAllowed,
		Doc:     "Tells whether an element of the list equals x by =?=.",
		Example: `!identicalMember("LINUX", { "windows", "linux" })`,
		fn:      func(c call) Value { return c.member(ast.Is) },
	},
	{
		Name: "sum", MinArgs: 1, MaxArgs: 1,
		Doc:     "Adds the elements of a list, leaving out undefined ones; of none it is 0.",
		Example: `sum({ 1, 2.5 }) == 3.5`,
		fn: func(c call) Value {
			v, _ := c.fold(integer(0), func(x, y Value) Value { return operate(ast.Add, x, y) })
			return v
		},
	},
	{
		Name: "avg", MinArgs: 1, MaxArgs: 1, fn: average,
		Doc:     "Averages the elements of a list, leaving out undefined ones; of none it is 0.",
		Example: `avg({ 1, 2 }) == 1.5`,
	},
	{
		Name: "min", MinArgs: 1, MaxArgs: 1,
		Doc:     "Gives the least element of a list, leaving out undefined ones; of none it is undefined.",
		Example: `min({ 3, 1, 2 }) == 1`,
		fn:      func(c call) Value { return c.extreme(ast.Less) },
	},
	{
		Name: "max", MinArgs: 1, MaxArgs: 1,
		Doc:     "Gives the greatest element of a list, leaving out undefined ones; of none it is undefined.",
		Example: `max({ 3, 1, 2 }) == 3`,
		fn:      func(c call) Value { return c.extreme(ast.Greater) },
	},
	{
		Name: "anyCompare", MinArgs: 3, MaxArgs: 3, Missing: MissingAllowed,
		Doc:     "Tells whether the comparison of an element with x holds; the first argument is the operator.",
		Example: `anyCompare(">", { 1, 5 }, 4)`,
		fn:      func(c call) Value { return c.compareEach(true) },
	},
	{
		Name: "allCompare", MinArgs: 3, MaxArgs: 3, Missing: MissingAllowed,
		Doc:     "Tells whether the comparison of every element with x holds; the first argument is the operator.",
		Example: `allCompare(">", { 4, 5 }, 3)`,
		fn:      func(c call) Value { return c.compareEach(false) },
	},
}

func size(c call) Value {
	switch x := c.args[0]; x.kind {
	case String:
		return integer(int64(len(x.str())))
	case List:
		return integer(int64(x.list().len()))
	case Ad:
		return integer(int64(x.frame().attributes().len()))
	default:
		return errorValue
	}
}

// member looks for the first argument in the list; elements for which the comparison is undefined or error are passed.
func (c call) member(op ast.Op) Value {
	x, l := c.args[0], c.args[1]
	switch {
	case op == ast.Equal && x.kind == Undefined:
		return x
	case l.isMissing():
		return l
	case op == ast.Equal && x.kind == Error:
		return x
	}
	if x.kind == List || x.kind == Ad {
		return errorValue
	}
	found := false
	isList := c.each(l, func(element Value) bool {
		found, _ = operate(op, element, x).Bool()
		return !found
	})
	if !isList {
		return errorValue
	}
	return boolean(found)
}

// fold combines the elements of the list that are not undefined and counts them. A result of error ends it.
func (c call) fold(start Value, combine func(Value, Value) Value) (Value, int64) {
	result, n := start, int64(0)
	isList := c.each(c.args[0], func(element Value) bool {
		if element.kind == Undefined {
			return true
		}
		if _, ok := numeric(element); !ok {
			result = errorValue
			return false
		}
		n++
		result = combine(result, element)
		return result.kind != Error
	})
	if !isList {
		return errorValue, 0
	}
	return result, n
}

func average(c call) Value {
	sum, n := c.fold(integer(0), func(x, y Value) Value { return operate(ast.Add, x, y) })
	if sum.kind == Error || n == 0 {
		return sum
	}
	total, _ := sum.Number()
	return operate(ast.Divide, realValue(total), integer(n))
}

// extreme keeps the element for which the comparison with the one kept so far holds. The result is real if any element
// is real, else an integer.
func (c call) extreme(op ast.Op) Value {
	anyReal := false
	v, n := c.fold(undefined, func(kept, element Value) Value {
		anyReal = anyReal || element.kind == Real
		if kept.kind == Undefined || compare(op, element, kept).IsTrue() {
			return element
		}
		return kept
	})
	switch r, _ := numeric(v); {
	case n == 0 || v.kind == Error:
		return v
	case anyReal:
		return realValue(r)
	default:
		return integer(v.asInt())
	}
}

// comparisons are the operators that anyCompare knows by their names.
var comparisons = map[string]ast.Op{
	"<": ast.Less, "<=": ast.LessEqual, "==": ast.Equal, "!=": ast.NotEqual, ">": ast.Greater, ">=": ast.GreaterEqual,
	"is": ast.Is, "isnt": ast.Isnt,
}

// compareEach walks until a comparison gives the result that decides. An undefined comparison ends the walk with
// false, error with error.
func (c call) compareEach(decisive bool) Value {
	name, l, x := c.args[0], c.args[1], c.args[2]
	if v, missing := strict(name, l); missing {
		return v
	}
	op, known := comparisons[ast.Fold(name.str())]
	if !known {
		return errorValue
	}
	result := boolean(!decisive)
	isList := c.each(l, func(element Value) bool {
		switch v := operate(op, element, x); v.kind {
		case Boolean:
			result = v
		case Undefined:
			result = boolean(false)
			return false
		default:
			result = errorValue
			return false
		}
		return result != boolean(decisive)
	})
	if !isList {
		return errorValue
	}
	return result
}
