package classad

import "github.com/condor-backfill/condor-backfill/classad/ast"

// The functions that evaluate an expression inside other ads. HTCondor chooses GPUs with them.
var contextBuiltins = []Builtin{
	{
		Name: "evalInEachContext", MinArgs: 2, MaxArgs: 2, Lazy: true, fn: evalInEachContext,
		Doc:     "Evaluates an expression, or the one that a name stands for, inside every ad of a list.",
		Example: `evalInEachContext(a + 1, { [ a = 1 ], [ a = 2 ] })[1] is 3`,
	},
	{
		Name: "countMatches", MinArgs: 2, MaxArgs: 2, Lazy: true, fn: countMatches,
		Doc:     "Counts the ads of a list in which an expression, or the one that a name stands for, is true.",
		Example: `countMatches(a > 1, { [ a = 1 ], [ a = 2 ] }) is 1`,
	},
}

func evalInEachContext(c call) Value {
	values := []Value{}
	result := c.inEach(func(v Value) { values = append(values, v) })
	if result.kind != List {
		return result
	}
	return listOf(&list{values: values})
}

func countMatches(c call) Value {
	n := int64(0)
	if result := c.inEach(func(v Value) {
		if v.IsTrue() {
			n++
		}
	}); result.kind == Error {
		return errorValue
	}
	return integer(n)
}

// inEach evaluates the first argument inside the ads of the second and gives the second.
func (c call) inEach(use func(Value)) Value {
	contexts := c.eval(1)
	if contexts.isMissing() {
		return contexts
	}
	what := c.ev.definition(c.exprs[0], c.frame)
	isList := c.each(contexts, func(element Value) bool {
		switch element.kind {
		case Ad:
			inside := *element.ref.(*frame)
			inside.theirs = c.frame
			use(c.ev.eval(what, &inside))
		case Undefined:
			use(undefined)
		default:
			use(errorValue)
		}
		return true
	})
	if !isList {
		return errorValue
	}
	return contexts
}

// definition is the expression that a name stands for. Anything else, and a name that is not found, stands for itself.
func (ev *evaluator) definition(e ast.Expr, f *frame) ast.Expr {
	in, key := []*frame{f}, ""
	switch n := e.(type) {
	case *ast.Attr:
		key = n.Key
		if other := f.opposite(); other != nil {
			in = append(in, other)
		}
	case *ast.Select:
		scope, ok := ev.eval(n.X, f).ref.(*frame)
		if !ok {
			return e
		}
		in, key = []*frame{scope}, n.Key
	default:
		return e
	}
	for _, f := range in {
		for ; f != nil; f = f.parent {
			if found, ok := f.ad.Find(key); ok {
				return found
			}
		}
	}
	return e
}
