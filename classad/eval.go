package classad

import "github.com/condor-backfill/condor-backfill/classad/ast"

const (
	// maxReferences is how many references may be nested: x = y counts one when x is evaluated. It is the reference's
	// number, and it is also what ends a circular reference.
	maxReferences = 400
	// maxDepth is how many expressions may be nested in evaluation, over all references; it bounds the stack.
	maxDepth = 100_000
	// maxSteps is how many expressions one evaluation may visit; it bounds the time. Building text counts too.
	maxSteps = 2_000_000
	// bytesPerStep is how much text may be built in one step.
	bytesPerStep = 64
)

// evaluator is one evaluation under way. Exceeding a limit makes it fail as a whole: everything from then on is error
// and so is the result, whatever functions such as isError make of it.
type evaluator struct {
	functions  map[string]*Builtin
	host       *host
	references int
	depth      int
	steps      int
	failed     bool
	args       []Value // the arguments of the calls under way, as a stack
}

func newEvaluator(h *host) *evaluator {
	return &evaluator{functions: builtins, host: h}
}

func evaluate(e ast.Expr, s Scope) Value {
	f := s.frame()
	return newEvaluator(s.host()).run(func(ev *evaluator) Value { return ev.eval(e, f) })
}

// run evaluates and turns failure into the value error.
func (ev *evaluator) run(what func(*evaluator) Value) Value {
	v := what(ev)
	if ev.failed {
		return errorValue
	}
	return v
}

// reset prepares for another evaluation.
func (ev *evaluator) reset() {
	ev.references, ev.depth, ev.steps, ev.failed = 0, 0, 0, false
	ev.args = ev.args[:0]
}

func (ev *evaluator) fail() Value {
	ev.failed = true
	return errorValue
}

// spend counts steps and tells whether evaluation may go on.
func (ev *evaluator) spend(steps int) bool {
	if ev.steps += steps; ev.steps > maxSteps {
		ev.failed = true
	}
	return !ev.failed
}

// built is a string that took this evaluation some effort.
func (ev *evaluator) built(s string) Value {
	if !ev.spend(len(s) / bytesPerStep) {
		return errorValue
	}
	return text(s)
}

// follow evaluates what a name refers to.
func (ev *evaluator) follow(e ast.Expr, f *frame) Value {
	if ev.references++; ev.references > maxReferences {
		return ev.fail()
	}
	v := ev.eval(e, f)
	ev.references--
	return v
}

// eval evaluates an expression that stands in the ad f.
func (ev *evaluator) eval(e ast.Expr, f *frame) Value {
	if l, ok := e.(*ast.Literal); ok {
		return literal(l)
	}
	for {
		paren, ok := e.(*ast.Paren)
		if !ok {
			break
		}
		e = paren.X
	}
	ev.depth++
	if ev.depth > maxDepth || !ev.spend(1) {
		ev.depth--
		return ev.fail()
	}
	v := ev.node(e, f)
	ev.depth--
	return v
}

func (ev *evaluator) node(e ast.Expr, f *frame) Value {
	switch n := e.(type) {
	case *ast.Attr:
		if n.Absolute {
			return ev.selected(f.root(), n.Key)
		}
		return ev.name(f, n.Key)
	case *ast.Select:
		return ev.selectFrom(ev.eval(n.X, f), n.Key)
	case *ast.Binary:
		return ev.binary(n, f)
	case *ast.Call:
		return ev.call(n, f)
	case *ast.Unary:
		return unary(n.Op, ev.eval(n.X, f))
	case *ast.Cond:
		return ev.conditional(n, f)
	case *ast.Index:
		return ev.subscript(ev.eval(n.X, f), ev.eval(n.Key, f))
	case *ast.List:
		return listOf(&list{elems: n.Elems, frame: f, host: ev.host})
	case *ast.Record:
		return adOf(&frame{ad: n, parent: f})
	case *ast.Literal:
		return literal(n)
	case *ast.Paren:
		return ev.node(n.X, f)
	}
	return errorValue
}

func literal(l *ast.Literal) Value {
	switch l.Kind {
	case ast.Error:
		return errorValue
	case ast.Boolean:
		return boolean(l.Int != 0)
	case ast.Integer:
		return integer(l.Int)
	case ast.Real:
		return realValue(l.Real)
	case ast.String:
		return textAt(&l.Text)
	case ast.AbsTime:
		return absTime(l.Int, int(l.Offset))
	case ast.RelTime:
		return realValue(l.Real) // not a relative time: as in the reference
	default:
		return undefined
	}
}

func (ev *evaluator) binary(n *ast.Binary, f *frame) Value {
	switch n.Op {
	case ast.And:
		return ev.and(n, f)
	case ast.Or:
		return ev.or(n, f)
	default:
		x := ev.eval(n.X, f)
		return operate(n.Op, x, ev.eval(n.Y, f))
	}
}

// operate applies a binary operator to two values.
func operate(op ast.Op, x, y Value) Value {
	if op == ast.Is {
		return identical(x, y)
	}
	if op == ast.Isnt {
		return negated(identical(x, y))
	}
	if v, missing := strict(x, y); missing {
		return v
	}
	switch op {
	case ast.Equal, ast.NotEqual, ast.Less, ast.LessEqual, ast.Greater, ast.GreaterEqual:
		return compare(op, x, y)
	case ast.Add, ast.Subtract, ast.Multiply, ast.Divide, ast.Modulo:
		return arithmetic(op, x, y)
	case ast.BitAnd, ast.BitOr, ast.BitXor, ast.ShiftLeft, ast.ShiftRight, ast.ShiftRightUnsigned:
		return bitwise(op, x, y)
	default:
		return errorValue
	}
}

// strict is what an operator that needs both its operands gives if one is missing: error before undefined.
func strict(x, y Value) (Value, bool) {
	switch {
	case x.kind == Error || y.kind == Error:
		return errorValue, true
	case x.kind == Undefined || y.kind == Undefined:
		return undefined, true
	default:
		return undefined, false
	}
}

// selectFrom is x.name. The selection from a list is the list of the selections from its elements.
func (ev *evaluator) selectFrom(x Value, key string) Value {
	switch x.kind {
	case Undefined:
		return undefined
	case Ad:
		return ev.selected(x.ref.(*frame), key)
	case List:
		l := x.ref.(*list)
		values := make([]Value, 0, l.len())
		for i := range l.len() {
			ev.depth++
			if ev.depth > maxDepth || !ev.spend(1) {
				ev.depth--
				return ev.fail()
			}
			values = append(values, ev.selectFrom(l.at(ev, i), key))
			ev.depth--
		}
		return listOf(&list{values: values})
	default:
		return errorValue
	}
}

// subscript is x[key]. Unlike a selection it does not look into the ads around x.
func (ev *evaluator) subscript(x, key Value) Value {
	if v, missing := strict(x, key); missing {
		return v
	}
	switch {
	case x.kind == List && key.kind == Integer:
		l, i := x.ref.(*list), int(int32(key.asInt())) // the reference cuts the index to 32 bits
		if i < 0 || i >= l.len() {
			return errorValue
		}
		return l.at(ev, i)
	case x.kind == Ad && key.kind == String:
		f := x.ref.(*frame)
		if e, ok := f.ad.Find(ast.Fold(key.str())); ok {
			return ev.follow(e, f)
		}
		return undefined
	default:
		return errorValue
	}
}
