package classad

import (
	"sync"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

const (
	// maxReferences is how deep references may nest: with x = y and y = z, z is two below x.
	// HTCondor has the same limit, which also ends circular references. Separate evaluations, see
	// [evaluator.apart], may nest as deep.
	maxReferences = 400
	// maxDepth is the maximum total height of the trees of nested references; it limits the stack.
	maxDepth = 300_000
	// defaultMaxSteps is the budget of an evaluation; see [Scope.MaxSteps].
	defaultMaxSteps = 2_000_000
)

// evaluator is one evaluation in progress. If it exceeds a limit it fails as a whole: everything
// from then on is error, and so is the result, whatever functions such as isError do. The
// exceptions are what HTCondor evaluates separately: subscripts and the ads of evalInEachContext.
type evaluator struct {
	functions  map[string]*Builtin
	host       *Host
	meter      *Meter // nil if nobody asks for the steps
	references int
	depth      int
	maxSteps   int
	steps      int // still available
	nested     int // the separate evaluations in progress, see apart
	failed     bool
	outside    bool // something outside of the expression's ad was asked for, besides
	missed     bool // a name that the ad lacks
	asked      *Outside
	steady     *Steady // the host's; nil if nobody asks
	strict     bool
	args       []Value // the arguments of all calls in progress, as a stack

	// Memory for the lists of an evaluation whose result is not a list or an ad.
	lists      [8]list
	usedLists  int
	values     [64]Value // for their elements
	usedValues int

	scratch []byte // for building text
}

// matching is an evaluator with the ads that it works on, in one piece of memory that is reused.
type matching struct {
	evaluator
	pairing
	leftRequirements, rightRequirements sought
	fetched                             Kind // see [record.fetch]
}

// matchings is the pool of unused matchings.
var matchings = sync.Pool{New: func() any {
	m := &matching{
		evaluator:         evaluator{functions: builtins},
		leftRequirements:  sought{name: newName("Requirements")},
		rightRequirements: sought{name: newName("Requirements")},
	}
	m.connect()
	return m
}}

// newMatching prepares an evaluation: the ad of the scope is the left ad of the matching, and the
// target is the right one.
func newMatching(s Scope) *matching {
	m := matchings.Get().(*matching)
	m.host, m.strict, m.maxSteps, m.meter, m.asked = s.Host, s.Strict, s.maxSteps(), s.Meter, s.Outside
	if m.steps = m.maxSteps; s.Host != nil {
		m.steady = s.Host.Steady
	}
	m.left.ad = s.My.attributes()
	if s.Target == nil {
		m.left.role, m.left.parent, m.left.theirs = plain, nil, nil
		return m
	}
	m.right.ad = s.Target.attributes()
	return m
}

// finish returns the result of the evaluation: v, or error if a limit was exceeded. It recycles the
// matching unless v is a list or an ad, which may refer to it; these cost more, therefore.
func (m *matching) finish(v Value) Value {
	if v.kind == List || v.kind == Ad {
		m.spend(stepsPerKept)
	}
	m.metered()
	if m.asked != nil {
		m.asked.More = m.asked.More || m.outside
	}
	if m.failed {
		v = errorValue
	}
	if v.kind != List && v.kind != Ad {
		m.recycle()
	}
	return v
}

func (m *matching) recycle() {
	m.reset()
	m.meter, m.asked, m.steady = nil, nil, nil
	if m.left.role != side {
		m.left.role, m.left.parent, m.left.theirs = side, &m.leftContext, &m.right
	}
	m.left.ad, m.right.ad, m.host = nil, nil, nil
	matchings.Put(m)
}

// reset prepares the evaluator for another evaluation.
func (ev *evaluator) reset() {
	ev.references, ev.depth, ev.steps, ev.nested = 0, 0, ev.maxSteps, 0
	ev.failed, ev.outside, ev.missed = false, false, false
	ev.args = ev.args[:0]
	ev.usedLists, ev.usedValues = 0, 0
}

func (ev *evaluator) fail() Value {
	ev.failed = true
	return errorValue
}

// reached is how deep references and trees were nested when a separate evaluation began.
type reached struct{ references, depth int }

// apart starts a separate evaluation, which [evaluator.together] ends. If it fails, its value is
// error, but the whole evaluation does not fail: a quirk of HTCondor.
func (ev *evaluator) apart() reached {
	if ev.nested++; ev.nested > maxReferences {
		ev.failed = true
	}
	return reached{ev.references, ev.depth}
}

// together ends the separate evaluation for which apart returned before, and returns its value: v,
// or error if it failed. The whole evaluation still fails if a limit was exceeded that HTCondor
// does not have.
func (ev *evaluator) together(before reached, v Value) Value {
	if ev.failed {
		ev.failed = ev.nested > maxReferences || ev.depth > maxDepth || ev.steps < 0
		v = errorValue
	}
	if !ev.failed {
		ev.references, ev.depth = before.references, before.depth
		ev.nested--
	}
	return v
}

// spend charges steps and reports whether the evaluation may go on.
func (ev *evaluator) spend(steps int) bool {
	if ev.steps -= steps; ev.steps < 0 {
		ev.failed = true
	}
	return !ev.failed
}

// affordsComparing charges steps for comparing two strings, up to the length of the shorter one,
// and reports whether they suffice. Comparing other values costs nothing.
func (ev *evaluator) affordsComparing(x, y Value) bool {
	if x.kind != String || y.kind != String {
		return true
	}
	return ev.spend(min(len(x.str()), len(y.str())) / bytesPerStep)
}

// affords charges steps for a walk through a tree and reports whether they suffice. A node costs
// price steps, plus deeper steps for each list and ad around it.
func (ev *evaluator) affords(e ast.Expr, price, deeper int) bool {
	if !ev.spend(price) {
		return false
	}
	switch n := e.(type) {
	case *ast.List:
		price += deeper
	case *ast.Record:
		if !ev.spend(stepsPerAttribute * n.Len()) {
			return false
		}
		price += deeper
	case *ast.Literal:
		return ev.spend(len(n.Text) / quotedBytesPerStep)
	default:
	}
	for _, child := range ast.Children(e) {
		if !ev.affords(child, price, deeper) {
			return false
		}
	}
	return true
}

// affordsText charges steps for converting a value to text and reports whether they suffice.
func (ev *evaluator) affordsText(v Value) bool {
	switch v.kind {
	case String:
		return ev.spend(len(v.str()) / bytesPerStep)
	case Ad:
		f := v.frame()
		if !ev.spend(stepsPerAttribute*f.len()) ||
			f.role == match && !ev.spend(stepsPerAttribute*(f.mine.ad.len()+f.theirs.ad.len())) {
			return false
		}
		ad := f.attributes()
		for i := range ad.len() {
			if !ev.affordsText(ad.at(i)) {
				return false
			}
		}
		return true
	case List:
		l := v.list()
		if l.written != nil {
			return ev.affords(l.written.tree, 1, 0)
		}
		for i := range l.values {
			if !ev.spend(1) || !ev.affordsText(l.values[i]) {
				return false
			}
		}
		return true
	case deferred:
		return ev.affords(v.expr().tree, 1, 0)
	default:
		return ev.spend(stepsPerNumber)
	}
}

// built charges steps for the length of a string that was built and returns it as a value; error if
// the steps do not suffice.
func (ev *evaluator) built(s string) Value {
	if !ev.spend(len(s) / bytesPerStep) {
		return errorValue
	}
	return text(s)
}

// keepScratch keeps the buffer of a text for building the next one, unless it is large.
func (ev *evaluator) keepScratch(b []byte) {
	const most = 4 << 10
	if cap(b) <= most {
		ev.scratch = b
	}
}

// newList returns a list as a value. Its memory is reused after the evaluation unless the result is
// a list or an ad.
func (ev *evaluator) newList(l list) Value {
	var kept *list
	if ev.usedLists < len(ev.lists) {
		kept = &ev.lists[ev.usedLists]
		ev.usedLists++
	} else {
		kept = new(list)
	}
	*kept = l
	return listOf(kept)
}

// room returns an empty slice with memory for about n elements of a new list.
func (ev *evaluator) room(n int) []Value {
	start := ev.usedValues
	if n > len(ev.values)-start {
		return make([]Value, 0, n)
	}
	ev.usedValues += n
	return ev.values[start:start:ev.usedValues]
}

// follow evaluates e, the definition of a name that was found in the ad f. If that exceeds a limit,
// the evaluation fails.
func (ev *evaluator) follow(e *Expr, f *frame) Value {
	p := ev.programOf(e)
	ev.references++
	ev.depth += p.height
	ev.steps -= p.weight
	if ev.references > maxReferences || ev.depth > maxDepth || ev.steps < 0 || ev.failed {
		ev.failed = true
		return errorValue
	}
	v := p.code.eval(ev, f)
	ev.depth -= p.height
	ev.references--
	return v
}

// Eval evaluates the expression. It always returns a value: every mistake within the language is
// the value error.
func (e *Expr) Eval(s Scope) Value {
	m := newMatching(s)
	p := m.programOf(e)
	if m.depth = p.height; !m.spend(p.weight) {
		return m.finish(errorValue)
	}
	return m.finish(p.code.eval(&m.evaluator, &m.left))
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

// strict returns error or undefined, in this order of preference, if an operand is that: this is
// then the result of every operator that needs both operands. The second result is false if neither
// is.
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

// selectFrom evaluates x.n. For a list x it returns the list of the selections from its elements,
// and looks up the names in these elements in f, where the selection stands: a quirk of HTCondor.
func (ev *evaluator) selectFrom(x Value, n *sought, f *frame) Value {
	switch x.kind {
	case Undefined:
		return undefined
	case Ad:
		return ev.selected(x.frame(), n)
	case List:
		l := x.list()
		if !ev.spend(stepsPerElement * l.len()) {
			return errorValue
		}
		values := ev.room(l.len())
		for i := range l.len() {
			ev.depth++
			if ev.depth > maxDepth || ev.failed {
				return ev.fail()
			}
			values = append(values, detached(ev.selectFrom(l.in(ev, i, f), n, f)))
			ev.depth--
		}
		return ev.newList(list{values: values})
	default:
		return errorValue
	}
}

// detached returns the value that a selection from a list takes over from an element. If it is an
// ad or a list, names in it are no longer found in the ads around it: a quirk of HTCondor.
func detached(v Value) Value {
	switch v.kind {
	case Ad:
		return adOf(&frame{ad: v.frame().ad})
	case List:
		l := *v.list()
		l.frame = &nowhere
		return listOf(&l)
	default:
		return v
	}
}

// subscript evaluates x[key]. Unlike a selection it does not search the ads around x.
func (ev *evaluator) subscript(x, key Value) Value {
	if v, missing := strict(x, key); missing || ev.failed {
		return v
	}
	switch {
	case x.kind == List && key.kind == Integer:
		l, i := x.list(), int(int32(key.asInt())) // HTCondor truncates the index to 32 bits
		if i < 0 || i >= l.len() {
			return errorValue
		}
		before := ev.apart()
		return ev.together(before, l.at(ev, i))
	case x.kind == Ad && key.kind == String:
		if !ev.spend(len(key.str()) / bytesPerStep) {
			return errorValue
		}
		f, n := x.frame(), newName(key.str())
		v, ok := f.ad.find(&n)
		if !ok {
			return undefined
		}
		before := ev.apart()
		ev.references = 0
		if v = ev.together(before, ev.use(v, f)); v.kind == Ad {
			v = adOf(&frame{ad: v.frame().ad, role: subscripted})
		}
		return v
	default:
		return errorValue
	}
}
