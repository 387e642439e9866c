package classad

import "github.com/condor-backfill/condor-backfill/classad/ast"

// code is an expression prepared for evaluation: names are hashed, functions looked up, constants
// computed, and common forms have types of their own. Code never changes.
type code interface {
	// eval evaluates the expression as one that stands in the ad f.
	eval(ev *evaluator, f *frame) Value
}

type constantCode struct{ value Value }

func (c *constantCode) eval(*evaluator, *frame) Value { return c.value }

// attrCode is a name without MY or another ad before it.
type attrCode struct{ name sought }

func (c *attrCode) eval(ev *evaluator, f *frame) Value { return ev.name(f, &c.name) }

// rootCode is .name, which is looked up in the outermost ad.
type rootCode struct{ name sought }

func (c *rootCode) eval(ev *evaluator, f *frame) Value {
	ev.outside = true
	return ev.selected(ev.outermost(f), &c.name)
}

type selectCode struct {
	x    code
	name sought
}

func (c *selectCode) eval(ev *evaluator, f *frame) Value {
	return ev.selectFrom(c.x.eval(ev, f), &c.name, f)
}

// scopedCode is a name after MY, self, TARGET or other, the most frequent selections. They are
// evaluated without making a [Value] of the ad before the dot.
type scopedCode struct {
	selectCode
	scope word
}

func (c *scopedCode) eval(ev *evaluator, f *frame) Value {
	if f.role == side && !f.ad.shape.hidesScopes() {
		in := f
		if c.scope == wordTarget {
			in = f.theirs
		}
		if v, ok := in.ad.seek(&c.name); ok {
			return ev.use(v, in)
		}
		if c.name.word == ordinary {
			return undefined
		}
	}
	return c.selectCode.eval(ev, f)
}

type indexCode struct{ x, key code }

func (c *indexCode) eval(ev *evaluator, f *frame) Value {
	x := c.x.eval(ev, f)
	return ev.subscript(x, c.key.eval(ev, f))
}

type unaryCode struct {
	op ast.Op
	x  code
}

func (c *unaryCode) eval(ev *evaluator, f *frame) Value { return unary(c.op, c.x.eval(ev, f)) }

// binaryCode is an operator that evaluates both of its operands.
type binaryCode struct {
	op   ast.Op
	x, y code
}

func (c *binaryCode) eval(ev *evaluator, f *frame) Value {
	x := c.x.eval(ev, f)
	return operate(c.op, x, c.y.eval(ev, f))
}

// compareCode is ==, <, and similar comparisons.
type compareCode struct {
	op   ast.Op
	x, y code
}

func (c *compareCode) eval(ev *evaluator, f *frame) Value {
	x := c.x.eval(ev, f)
	y := c.y.eval(ev, f)
	if x.kind == Integer && y.kind == Integer {
		return holds(c.op, x.asInt(), y.asInt())
	}
	return c.of(ev, x, y)
}

// of compares two values.
func (c *compareCode) of(ev *evaluator, x, y Value) Value {
	if v, missing := strict(x, y); missing {
		return v
	}
	if !ev.affordsComparing(x, y) {
		return errorValue
	}
	return compare(c.op, x, y)
}

// isCode is =?=, or =!= if negate is set.
type isCode struct {
	x, y   code
	negate bool
}

func (c *isCode) eval(ev *evaluator, f *frame) Value {
	x := c.x.eval(ev, f)
	return c.of(ev, x, c.y.eval(ev, f))
}

// of compares two values.
func (c *isCode) of(ev *evaluator, x, y Value) Value {
	if !ev.affordsComparing(x, y) {
		return errorValue
	}
	v := identical(x, y)
	if c.negate {
		return negated(v)
	}
	return v
}

// andCode is x && y, and also x && y && z and so on, which are read from the left. The result
// depends on the left side first:
//
//	x \ y      false  true       undefined  error
//	false      false  false      false      false      (y is not evaluated)
//	true       false  true       undefined  error
//	undefined  false  undefined  undefined  error
//	error      error  error      error      error      (y is evaluated, because that may fail)
type andCode struct{ operands []code }

func (c *andCode) eval(ev *evaluator, f *frame) Value { return junction(c.operands, no, ev, f) }

// orCode is x || y: the table of andCode with false and true exchanged.
type orCode struct{ operands []code }

func (c *orCode) eval(ev *evaluator, f *frame) Value { return junction(c.operands, yes, ev, f) }

// junction evaluates operands from left to right until one has the value that decides.
func junction(operands []code, decisive truth, ev *evaluator, f *frame) Value {
	x := yes
	if decisive == yes {
		x = no
	}
	for _, operand := range operands {
		y := truthOf(operand.eval(ev, f))
		if x != invalid && (x != unknown || y == decisive || y == invalid) {
			x = y
		}
		if x == decisive {
			break
		}
	}
	return x.value()
}

// condCode is a ? b : c. If the condition is neither true nor false, both branches are evaluated,
// as in HTCondor, only because that may fail the evaluation.
type condCode struct{ cond, then, otherwise code }

func (c *condCode) eval(ev *evaluator, f *frame) Value {
	switch t := truthOf(c.cond.eval(ev, f)); t {
	case yes:
		return c.then.eval(ev, f)
	case no:
		return c.otherwise.eval(ev, f)
	default:
		c.then.eval(ev, f)
		c.otherwise.eval(ev, f)
		return t.value()
	}
}

// elvisCode is a ?: b, which is b if a is undefined, else a. Unless a is false or 0, b is evaluated
// in any case, because that may fail the evaluation: a quirk of HTCondor.
type elvisCode struct{ x, y code }

func (c *elvisCode) eval(ev *evaluator, f *frame) Value {
	x := c.x.eval(ev, f)
	if truthOf(x) == no {
		return x
	}
	if y := c.y.eval(ev, f); x.kind == Undefined {
		return y
	}
	return x
}

type listCode struct {
	elems []code
	tree  *ast.List
}

func (c *listCode) eval(ev *evaluator, f *frame) Value {
	return ev.newList(list{
		written: c, frame: f, host: ev.host, meter: ev.meter, strict: ev.strict, maxSteps: ev.maxSteps,
	})
}

type recordCode struct{ ad record }

func (c *recordCode) eval(_ *evaluator, f *frame) Value { return adOf(&frame{ad: &c.ad, parent: f}) }
