package classad

import (
	"math"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// Steady finds out how long the results of evaluations stay the same while nothing but the clock
// goes on: see [Host.Steady]. One Steady may see several evaluations at the same instant.
//
// It follows time() and CurrentTime through sums, products with and quotients and remainders by whole
// numbers, up to the comparisons that they end in, and solves these for the time. Anything else that
// the clock goes into, such as formatTime, counts as other in the next second.
type Steady struct {
	// Until is an instant, in seconds since 1970, before which no result changes; math.MaxInt64: none
	// ever does. It is never too late, and may be too early.
	Until int64
	// Unsolved says that Until is the next second for want of anything better.
	Unsolved bool
	// Drawn says that a random number went into a result, which may be another the next time.
	Drawn bool

	asked int // how often the clock was read
	now   int64
	last  course // of the value that was computed last
}

// NewSteady returns a Steady that has seen no evaluation.
func NewSteady() *Steady { return &Steady{Until: math.MaxInt64} }

// course is how a number changes as the clock goes on: in s seconds it is
//
//	offset + factor * ((num + s*slope) / den)
//
// with whole numbers and / rounding to zero; with den 1, offset is 0 and factor 1. The zero course is
// that of a value that does not change.
type course struct{ offset, factor, num, slope, den int64 }

func (c course) still() bool { return c.slope == 0 }

// linear returns the course of a number that changes by slope each second.
func linear(num, slope int64) course { return course{0, 1, num, slope, 1} }

// mostExact bounds the numbers of courses, so that their products and sums do not overflow.
const mostExact = 1 << 40

// isExact reports whether a course is within the bounds.
func (c course) isExact() bool {
	for _, n := range []int64{c.offset, c.factor, c.num, c.slope} {
		if n > mostExact || n < -mostExact {
			return false
		}
	}
	return c.den <= 1<<20
}

// read says that the clock was read, and shows now.
func (s *Steady) read(now int64) {
	s.asked++
	s.now, s.last = now, linear(now, 1)
}

// take returns the course of the value that was computed last, and counts the next one as still.
func (s *Steady) take() (c course) {
	c, s.last = s.last, course{}
	return c
}

// give says what the course of the value is that is returned now. Beyond the bounds it counts as
// other in the next second.
func (s *Steady) give(c course) {
	if s.last = c; !c.isExact() {
		s.unsolved()
		s.last = course{}
	}
}

// soon says that a result may change in so many seconds.
func (s *Steady) soon(seconds int64) { s.Until = min(s.Until, s.now+max(1, seconds)) }

// unsolved says that it is not known when a result changes.
func (s *Steady) unsolved() {
	s.Unsolved = true
	s.soon(1)
}

// consume says that something depends on a value of this course in a way that is not followed.
func (s *Steady) consume(c course) {
	switch {
	case c.still():
	case c.den == 1:
		s.unsolved()
	default:
		s.reach(c, c.num/c.den)
		s.reach(c, c.num/c.den+1)
	}
}

// reach says that a result changes when the quotient of the course comes to q, or falls below it.
func (s *Steady) reach(c course, q int64) {
	threshold := q * c.den // num/den >= q if num is at least this
	if q <= 0 {
		threshold = (q-1)*c.den + 1
	}
	switch gap := threshold - c.num; {
	case c.slope > 0 && gap > 0:
		s.soon((gap + c.slope - 1) / c.slope)
	case c.slope < 0 && gap <= 0:
		s.soon(-gap/-c.slope + 1)
	}
}

// cross says that a comparison of a number of this course with k depends on it.
func (s *Steady) cross(c course, k float64) {
	quotient := (k - float64(c.offset)) / float64(c.factor)
	q := math.Floor(quotient)
	if !(math.Abs(q) < mostExact) { // not reached in this age of the world
		return
	}
	if q == quotient {
		s.reach(c, int64(q))
	}
	s.reach(c, int64(q)+1)
}

// plus returns the course of x + n.
func (c course) plus(n int64) course {
	if c.den == 1 {
		return linear(c.num+n, c.slope)
	}
	c.offset += n
	return c
}

// times returns the course of x * n.
func (c course) times(n int64) course {
	if c.den == 1 {
		return linear(c.num*n, c.slope*n)
	}
	c.offset, c.factor = c.offset*n, c.factor*n
	return c
}

// dividedBy returns the course of x / n; false if it has none.
func (c course) dividedBy(n int64) (course, bool) {
	if n == 0 || c.offset != 0 || c.factor != 1 {
		return course{}, false
	}
	switch {
	case n == -1 && c.den == 1:
		return linear(-c.num, -c.slope), true
	case n < 0:
		return course{0, -1, c.num, c.slope, c.den * -n}, true
	}
	return course{0, 1, c.num, c.slope, c.den * n}, true
}

// modulo returns the course of x % n, and in how many seconds that starts again; false if it has none.
func (c course) modulo(n int64) (left course, seconds int64, ok bool) {
	if n <= 0 || c.offset != 0 || c.factor != 1 || c.num < 0 || c.slope < 0 || n > mostExact/c.den {
		return course{}, 0, false
	}
	n *= c.den
	left = c
	left.num %= n
	return left, (n - left.num + c.slope - 1) / c.slope, true
}

// combine gives the course of the result of a binary operator, other than a comparison, whose operands
// have these values and courses.
func (s *Steady) combine(op ast.Op, x, y Value, cx, cy course) {
	whole := x.kind == Integer && y.kind == Integer
	switch {
	case cx.still() && cy.still():
	case whole && cx.isExact() && cy.isExact() && s.follows(op, x, y, cx, cy):
	default:
		s.consume(cx)
		s.consume(cy)
	}
}

// follows does so if the result has a course.
func (s *Steady) follows(op ast.Op, x, y Value, cx, cy course) bool {
	switch {
	case op == ast.Add && cy.still() && within(y):
		s.give(cx.plus(y.asInt()))
	case op == ast.Add && cx.still() && within(x):
		s.give(cy.plus(x.asInt()))
	case op == ast.Add && cx.den == 1 && cy.den == 1:
		s.give(linear(cx.num+cy.num, cx.slope+cy.slope))
	case op == ast.Subtract && cy.still() && within(y):
		s.give(cx.plus(-y.asInt()))
	case op == ast.Subtract && cx.still() && within(x):
		s.give(cy.times(-1).plus(x.asInt()))
	case op == ast.Subtract && cx.den == 1 && cy.den == 1:
		s.give(linear(cx.num-cy.num, cx.slope-cy.slope))
	case op == ast.Multiply && cy.still() && small(y):
		s.give(cx.times(y.asInt()))
	case op == ast.Multiply && cx.still() && small(x):
		s.give(cy.times(x.asInt()))
	case op == ast.Divide && cy.still() && small(y):
		c, ok := cx.dividedBy(y.asInt())
		s.give(c)
		return ok
	case op == ast.Modulo && cy.still() && within(y):
		c, seconds, ok := cx.modulo(y.asInt())
		if ok {
			s.soon(seconds)
			s.give(c)
		}
		return ok
	default:
		return false
	}
	return true
}

// within and small report whether a number may be added to a course, or multiply it.
func within(v Value) bool { return v.asInt() <= mostExact && v.asInt() >= -mostExact }
func small(v Value) bool  { return v.asInt() <= 1<<20 && v.asInt() >= -1<<20 }

// compared says that the result is that of comparing two values of these courses.
func (s *Steady) compared(x, y Value, cx, cy course) {
	switch {
	case cx.still() && cy.still(), x.isMissing(), y.isMissing():
	case !x.isNumeric() || !y.isNumeric():
		s.consume(cx)
		s.consume(cy)
	case cy.still() && cx.isExact():
		s.cross(cx, numberOf(y))
	case cx.still() && cy.isExact():
		s.cross(cy, numberOf(x))
	case cx.den == 1 && cy.den == 1 && cx.isExact() && cy.isExact():
		s.cross(linear(cx.num-cy.num, cx.slope-cy.slope), 0)
	default:
		s.consume(cx)
		s.consume(cy)
	}
}

// tracing returns the program of an expression that tells its evaluator's Steady of courses.
func (p *program) tracing(e *Expr, functions map[string]*Builtin) *program {
	if t := p.traced.Load(); t != nil {
		return t
	}
	c := compiler{functions: functions, traces: true}
	t := &program{code: c.compile(e.tree), height: p.height, weight: p.weight}
	p.traced.Store(t)
	return t
}

// isNumeric reports whether comparisons take a value for a number.
func (v Value) isNumeric() bool { return v.kind == Integer || v.kind == Real || v.kind == Boolean }

// programOf returns the program of an expression.
func (ev *evaluator) programOf(e *Expr) *program {
	p := e.program(ev.functions)
	if ev.steady != nil {
		return p.tracing(e, ev.functions)
	}
	return p
}

// traced returns code that does the same and tells the evaluator's Steady of it. The operands of the
// code do so already. Whoever needs the course of an operand takes it right after evaluating that, and
// leaves the last course still before: constants and names that stand for constants say nothing.
func traced(c code) code {
	switch n := c.(type) {
	case *unaryCode:
		return &tracedUnary{*n}
	case *binaryCode:
		return &tracedBinary{*n}
	case *compareCode:
		return &tracedCompare{*n}
	case *isCode:
		return &tracedIs{*n}
	case *andCode:
		return &andCode{allSettled(n.operands)}
	case *orCode:
		return &orCode{allSettled(n.operands)}
	case *condCode:
		return &condCode{settled{n.cond}, n.then, n.otherwise}
	case *elvisCode:
		return &elvisCode{settled{n.x}, settled{n.y}}
	case *indexCode:
		return &indexCode{settled{n.x}, settled{n.key}}
	case *callCode:
		if n.builtin.Name == choosing {
			n.args[0] = settled{n.args[0]}
		}
		return &tracedCall{n}
	default:
		return c
	}
}

// course evaluates an operand and returns its course.
func (s *Steady) course(c code, ev *evaluator, f *frame) (Value, course) {
	s.last = course{}
	v := c.eval(ev, f)
	return v, s.take()
}

// settled is an operand whose course is not followed any further.
type settled struct{ x code }

func allSettled(operands []code) []code {
	all := make([]code, len(operands))
	for i, x := range operands {
		all[i] = settled{x}
	}
	return all
}

func (c settled) eval(ev *evaluator, f *frame) Value {
	v, cx := ev.steady.course(c.x, ev, f)
	ev.steady.consume(cx)
	return v
}

type tracedUnary struct{ unaryCode }

func (c *tracedUnary) eval(ev *evaluator, f *frame) Value {
	x, cx := ev.steady.course(c.x, ev, f)
	switch {
	case c.op == ast.Subtract && x.kind == Integer && !cx.still():
		ev.steady.give(cx.times(-1))
	case c.op == ast.Add:
		ev.steady.give(cx)
	default:
		ev.steady.consume(cx)
	}
	return unary(c.op, x)
}

type tracedBinary struct{ binaryCode }

func (c *tracedBinary) eval(ev *evaluator, f *frame) Value {
	x, cx := ev.steady.course(c.x, ev, f)
	y, cy := ev.steady.course(c.y, ev, f)
	ev.steady.combine(c.op, x, y, cx, cy)
	return operate(c.op, x, y)
}

type tracedCompare struct{ compareCode }

func (c *tracedCompare) eval(ev *evaluator, f *frame) Value {
	x, cx := ev.steady.course(c.x, ev, f)
	y, cy := ev.steady.course(c.y, ev, f)
	ev.steady.compared(x, y, cx, cy)
	return c.of(ev, x, y)
}

type tracedIs struct{ isCode }

func (c *tracedIs) eval(ev *evaluator, f *frame) Value {
	x, cx := ev.steady.course(c.x, ev, f)
	y, cy := ev.steady.course(c.y, ev, f)
	ev.steady.compared(x, y, cx, cy)
	return c.of(ev, x, y)
}

// choosing is the function that is like a conditional.
const choosing = "ifThenElse"

// tracedCall is a call. Only time itself has a course; whatever else reads the clock may give another
// value in the next second, but for ifThenElse, whose parts tell of themselves.
type tracedCall struct{ *callCode }

func (c *tracedCall) eval(ev *evaluator, f *frame) Value {
	s := ev.steady
	asked := s.asked
	s.last = course{}
	v := c.callCode.eval(ev, f)
	switch last := s.take(); {
	case s.asked == asked:
	case c.builtin.Name == "time":
		s.give(last)
	case c.builtin.Name == choosing:
		s.consume(last)
	default:
		s.unsolved()
	}
	return v
}
