package classad

import "github.com/condor-backfill/condor-backfill/classad/ast"

var listBuiltins = []Builtin{
	{
		Name: "size", MinArgs: 1, MaxArgs: 1, fn: size,
		Doc:     "Counts the bytes of a string, the elements of a list or the attributes of an ad.",
		Example: `size({ 1, 2 }) == 2`,
	},
	{
		Name: "member", MinArgs: 2, MaxArgs: 2, Missing: UndefinedFirst,
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
			if v, _ := c.sum(); v.kind != Undefined {
				return v
			}
			return integer(0)
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
		return integer(int64(x.frame().len()))
	default:
		return errorValue
	}
}

// member searches the list for the first argument, skipping elements for which the comparison is
// undefined or error.
func (c call) member(op ast.Op) Value {
	x, l := c.args[0], c.args[1]
	if l.isMissing() {
		return l
	}
	if x.kind == List || x.kind == Ad {
		return errorValue
	}
	found := false
	isList := c.each(l, func(element Value) bool {
		if c.ev.affordsComparing(element, x) {
			found, _ = operate(op, element, x).Bool()
		}
		return !found
	})
	if !isList {
		return errorValue
	}
	return boolean(found)
}

// fold combines the elements of the list, skipping undefined ones, and returns the result and their
// number. A single element is returned unchanged, even a boolean. The result is error if the
// argument is no list, if an element is neither a number nor a boolean, or if a combination gives
// error.
func (c call) fold(combine func(Value, Value) Value) (Value, int64) {
	result, n := undefined, int64(0)
	isList := c.each(c.args[0], func(element Value) bool {
		if element.kind == Undefined {
			return true
		}
		if _, ok := numeric(element); !ok {
			result = errorValue
			return false
		}
		if n++; n == 1 {
			result = element
		} else {
			result = combine(result, element)
		}
		return result.kind != Error
	})
	if !isList {
		return errorValue, 0
	}
	return result, n
}

func (c call) sum() (Value, int64) {
	return c.fold(func(x, y Value) Value { return operate(ast.Add, x, y) })
}

func average(c call) Value {
	sum, n := c.sum()
	if sum.kind == Error {
		return sum
	}
	if n == 0 {
		return integer(0)
	}
	total, _ := numeric(sum)
	return operate(ast.Divide, realValue(total), integer(n))
}

// extreme returns the greatest or least element, as op is > or <. With more than one element the
// result is real if any element is real, else an integer.
func (c call) extreme(op ast.Op) Value {
	anyReal := false
	v, n := c.fold(func(kept, element Value) Value {
		anyReal = anyReal || element.kind == Real || kept.kind == Real
		if compare(op, element, kept).IsTrue() {
			return element
		}
		return kept
	})
	switch r, _ := numeric(v); {
	case n < 2 || v.kind == Error:
		return v
	case anyReal:
		return realValue(r)
	default:
		return integer(v.asInt())
	}
}

// comparisons maps the names of operators in anyCompare and allCompare to the operators.
var comparisons = map[string]ast.Op{
	"<": ast.Less, "<=": ast.LessEqual, "==": ast.Equal, "!=": ast.NotEqual, ">": ast.Greater, ">=": ast.GreaterEqual,
	"is": ast.Is, "isnt": ast.Isnt,
}

// compareEach compares each element with the third argument until a comparison gives the decisive
// boolean, and returns that, else the other one. An undefined comparison ends it with false; error
// and anything else that is no boolean ends it with error.
func (c call) compareEach(decisive bool) Value {
	name, l, x := c.args[0], c.args[1], c.args[2]
	op, known := comparisons[name.str()]
	switch {
	case name.kind == Undefined:
		return undefined
	case !known:
		return errorValue
	case l.isMissing():
		return l
	}
	result := boolean(!decisive)
	isList := c.each(l, func(element Value) bool {
		if !c.ev.affordsComparing(element, x) {
			return false
		}
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
