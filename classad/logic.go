package classad

import "github.com/condor-backfill/condor-backfill/classad/ast"

// truth is the logical reading of a value.
type truth uint8

const (
	no truth = iota
	yes
	unknown // undefined
	invalid // error and everything that is neither a boolean nor a number
)

func truthOf(v Value) truth {
	switch v.kind {
	case Boolean, Integer:
		if v.bits != 0 {
			return yes
		}
		return no
	case Real:
		if v.asReal() != 0 {
			return yes
		}
		return no
	case Undefined:
		return unknown
	default:
		return invalid
	}
}

func (t truth) value() Value {
	switch t {
	case no, yes:
		return boolean(t == yes)
	case unknown:
		return undefined
	default:
		return errorValue
	}
}

// and is x && y. What it gives depends on the left side first:
//
//	x \ y      false  true       undefined  error
//	false      false  false      false      false      (y is not evaluated)
//	true       false  true       undefined  error
//	undefined  false  undefined  undefined  error
//	error      error  error      error      error      (y is not evaluated)
func (ev *evaluator) and(n *ast.Binary, f *frame) Value {
	x := truthOf(ev.eval(n.X, f))
	if x == no || x == invalid {
		return x.value()
	}
	y := truthOf(ev.eval(n.Y, f))
	if x == unknown && y == yes {
		return undefined
	}
	return y.value()
}

// or is x || y: the same table with false and true exchanged.
func (ev *evaluator) or(n *ast.Binary, f *frame) Value {
	x := truthOf(ev.eval(n.X, f))
	if x == yes || x == invalid {
		return x.value()
	}
	y := truthOf(ev.eval(n.Y, f))
	if x == unknown && y == no {
		return undefined
	}
	return y.value()
}

// negated is !x.
func negated(x Value) Value {
	switch t := truthOf(x); t {
	case no:
		return boolean(true)
	case yes:
		return boolean(false)
	default:
		return t.value()
	}
}

// conditional is a ? b : c, of which only one branch is evaluated, or a ?: c, which is c where a is undefined.
func (ev *evaluator) conditional(n *ast.Cond, f *frame) Value {
	cond := ev.eval(n.If, f)
	if n.Then == nil {
		if cond.kind == Undefined {
			return ev.eval(n.Else, f)
		}
		return cond
	}
	return ev.choose(truthOf(cond), n.Then, n.Else, f)
}

func (ev *evaluator) choose(t truth, then, otherwise ast.Expr, f *frame) Value {
	switch t {
	case yes:
		return ev.eval(then, f)
	case no:
		return ev.eval(otherwise, f)
	default:
		return t.value()
	}
}
