package classad

import "github.com/condor-backfill/condor-backfill/classad/ast"

const (
	// maxFlatGrowth is the maximum number of nodes that definitions add when they replace names.
	maxFlatGrowth = 10_000
	// maxFlatSteps is the maximum number of steps for all evaluations of parts.
	maxFlatSteps = 1_000_000
	// maxFlatDepth is the maximum total height of nested trees that are being flattened.
	maxFlatDepth = ast.MaxHeight
	// maxFlatNesting is how deep brackets may nest in the result, so that its printed form can be
	// parsed.
	maxFlatNesting = 900
)

// Flatten evaluates as much of the expression as the ad my alone decides. Parts that depend on
// nothing else become constants, names that my has are replaced by their flattened definitions, and
// parts that depend on the other ad of a match, the clock or random numbers stay. The result has
// the same value as the expression in every [Scope] with this My that is not Strict, except that it
// may stay within the limits of evaluation where the expression exceeds them. The expression and
// the ad do not change.
//
// Lists and nested ads stay as they are written, because evaluation returns them unevaluated. A
// name stays if its definition is circular or would make the expression grow too much.
//
// HTCondor does the same before it compares one job with many slots.
func (e *Expr) Flatten(my *ClassAd) *Expr {
	f := &flattener{my: my, ad: my.attributes(), definitions: map[string]*definition{}, depth: e.tree.Height()}
	tree := f.flatten(e.tree).tree
	if tree == e.tree || tree.Height() > ast.MaxHeight || nesting(tree) > maxFlatNesting {
		return e
	}
	return &Expr{tree: tree}
}

// flattener flattens one expression. It looks only at what is evaluated in the ad itself, never
// into lists and nested ads, so that names mean the same everywhere.
type flattener struct {
	my                   *ClassAd
	ad                   *record
	definitions          map[string]*definition
	growth, steps, depth int
}

// flat is a flattened expression.
type flat struct {
	tree  ast.Expr
	value Value // if it is known
	known bool  // the ad alone decides the value, even if no constant can express it
}

// definition is the flattened definition of a name of the ad.
type definition struct {
	flat
	size int
	done bool // false while it is being flattened
}

func (f *flattener) flatten(e ast.Expr) flat {
	switch n := e.(type) {
	case *ast.Literal:
		return flat{n, literal(n), true}
	case *ast.Paren:
		return f.paren(n)
	case *ast.Attr:
		return f.attr(n)
	case *ast.Select:
		return f.selection(n)
	case *ast.Index:
		x, key := f.flatten(n.X), f.flatten(n.Key)
		if x.tree != n.X || key.tree != n.Key {
			n = ast.NewIndex(n.Pos(), fit(x.tree, tightest), key.tree)
		}
		return f.settle(n, x, key)
	case *ast.Unary:
		x := f.flatten(n.X)
		if x.tree != n.X {
			n = ast.NewUnary(n.Pos(), n.Op, fit(x.tree, unaryLevel))
		}
		return f.settle(n, x)
	case *ast.Binary:
		if n.Op == ast.And || n.Op == ast.Or {
			return f.logical(n)
		}
		return f.binary(n, f.flatten(n.X), f.flatten(n.Y))
	case *ast.Cond:
		if n.Then == nil {
			return f.elvis(n)
		}
		return f.cond(n)
	case *ast.Call:
		return f.call(n)
	default: // lists and nested ads
		return f.settle(n)
	}
}

// settle evaluates an expression if the values of all its parts are known. If the ad alone decides
// the value, it is known, too, and replaces the expression if a constant can express it.
func (f *flattener) settle(tree ast.Expr, parts ...flat) flat {
	for _, p := range parts {
		if !p.known {
			return flat{tree: tree}
		}
	}
	if f.steps > maxFlatSteps {
		return flat{tree: tree}
	}
	f.steps += treeSize(tree)
	m := newMatching(Scope{My: f.my})
	p := (&Expr{tree: tree}).program(m.functions)
	m.depth, m.steps = p.height, m.steps-p.weight
	v := p.code.eval(&m.evaluator, &m.left)
	f.steps += m.maxSteps - m.steps
	known := !m.outside && !m.missed && !m.failed
	m.finish(v)
	switch {
	case !known:
		return flat{tree: tree}
	case canBeWritten(v):
		return flat{v.tree(), v, true}
	default:
		return flat{tree, v, true}
	}
}

// constantFlat returns the flattened expression for a value.
func constantFlat(v Value) flat { return flat{v.tree(), v, true} }

func (f *flattener) paren(n *ast.Paren) flat {
	x := f.flatten(n.X)
	switch {
	case level(x.tree) == tightest:
		return x
	case x.tree == n.X:
		x.tree = n
	default:
		x.tree = ast.NewParen(n.Pos(), x.tree)
	}
	return x
}

func (f *flattener) attr(n *ast.Attr) flat {
	if n.Absolute {
		return flat{tree: n}
	}
	own := nameOf(n.Name, n.Key)
	if v, ok := f.ad.find(&own); ok {
		return f.use(n, &own, v)
	}
	if own.word == wordMy || own.word == wordSelf {
		return f.settle(n)
	}
	return flat{tree: n}
}

// use returns what replaces ref, a reference to the attribute n of the ad: its value v or, if v is
// an expression, its flattened definition. If that is circular, nests too deep or is too large, ref
// stays.
func (f *flattener) use(ref ast.Expr, n *name, v Value) flat {
	if v.kind != deferred {
		if !canBeWritten(v) {
			return flat{ref, v, true}
		}
		return constantFlat(v)
	}
	d := f.definition(n.key, v.expr().tree)
	if d == nil {
		return flat{tree: ref}
	}
	if _, isConstant := d.tree.(*ast.Literal); isConstant {
		return d.flat
	}
	if f.growth+d.size > maxFlatGrowth {
		return flat{ref, d.value, d.known}
	}
	f.growth += d.size
	return d.flat
}

// definition flattens the definition of a name once. It returns nil for a name within its own
// definition, and if trees nest too deep.
func (f *flattener) definition(key string, tree ast.Expr) *definition {
	if d := f.definitions[key]; d != nil {
		if !d.done {
			return nil
		}
		return d
	}
	if f.depth+tree.Height() > maxFlatDepth {
		return nil
	}
	d := &definition{}
	f.definitions[key] = d
	f.depth += tree.Height()
	d.flat = f.flatten(tree)
	f.depth -= tree.Height()
	d.size, d.done = treeSize(d.tree), true
	return d
}

func (f *flattener) selection(n *ast.Select) flat {
	x := f.flatten(n.X)
	if f.isOwnScope(x.tree) {
		own := nameOf(n.Name, n.Key)
		if v, ok := f.ad.find(&own); ok {
			return f.use(n, &own, v)
		}
	}
	if x.tree != n.X {
		n = ast.NewSelect(n.Pos(), fit(x.tree, tightest), n.Name)
	}
	return f.settle(n, x)
}

// isOwnScope reports whether an expression is MY or self and no attribute of the ad has that name.
func (f *flattener) isOwnScope(e ast.Expr) bool {
	n, ok := e.(*ast.Attr)
	if !ok || n.Absolute {
		return false
	}
	scope := nameOf(n.Name, n.Key)
	_, hidden := f.ad.find(&scope)
	return !hidden && (scope.word == wordMy || scope.word == wordSelf)
}

// binary combines the flattened operands of an operator other than && and ||.
func (f *flattener) binary(n *ast.Binary, x, y flat) flat {
	if n.Op != ast.Is && n.Op != ast.Isnt && (x.is(Error) || y.is(Error)) {
		return constantFlat(errorValue)
	}
	return f.settle(rebuilt(n, x, y), x, y)
}

func (x flat) is(kind Kind) bool { return x.known && x.value.kind == kind }

func rebuilt(n *ast.Binary, x, y flat) *ast.Binary {
	if x.tree == n.X && y.tree == n.Y {
		return n
	}
	tightness := n.Op.Precedence()
	return ast.NewBinary(n.Pos(), n.Op, fit(x.tree, tightness), fit(y.tree, tightness+1))
}

// logical flattens && and ||. It drops an operand that decides nothing only if the other is
// certainly a boolean, because the operators turn numbers into booleans and strings into errors.
func (f *flattener) logical(n *ast.Binary) flat {
	neutral, decisive := yes, no
	if n.Op == ast.Or {
		neutral, decisive = no, yes
	}
	x := f.flatten(n.X)
	if t := truthOf(x.value); x.known && (t == decisive || t == invalid) {
		return constantFlat(t.value())
	}
	y := f.flatten(n.Y)
	switch {
	case x.known && truthOf(x.value) == neutral && isLogical(y.tree):
		return y
	case y.known && truthOf(y.value) == neutral && isLogical(x.tree):
		return x
	default:
		return f.settle(rebuilt(n, x, y), x, y)
	}
}

func (f *flattener) elvis(n *ast.Cond) flat {
	x := f.flatten(n.If)
	switch {
	case x.is(Undefined):
		return f.flatten(n.Else)
	case x.known:
		return x
	}
	y := f.flatten(n.Else)
	if x.tree != n.If || y.tree != n.Else {
		n = ast.NewCond(n.Pos(), fit(x.tree, ast.Or.Precedence()), nil, y.tree)
	}
	return flat{tree: n}
}

func (f *flattener) cond(n *ast.Cond) flat {
	x := f.flatten(n.If)
	if x.known {
		return f.branch(x, n.Then, n.Else)
	}
	then, otherwise := f.flatten(n.Then), f.flatten(n.Else)
	if x.tree != n.If || then.tree != n.Then || otherwise.tree != n.Else {
		n = ast.NewCond(n.Pos(), fit(x.tree, ast.Or.Precedence()), then.tree, otherwise.tree)
	}
	return flat{tree: n}
}

// branch flattens the branch that a condition with a known value selects. If it selects none, the
// result is undefined or error.
func (f *flattener) branch(cond flat, then, otherwise ast.Expr) flat {
	switch t := truthOf(cond.value); t {
	case yes:
		return f.flatten(then)
	case no:
		return f.flatten(otherwise)
	default:
		return constantFlat(t.value())
	}
}

func (f *flattener) call(n *ast.Call) flat {
	b := builtins[n.Key]
	if b == nil || !b.takes(n) || b.Context {
		return flat{tree: n}
	}
	chooses := b.Lazy && n.Key == "ifthenelse"
	if b.Lazy && !chooses {
		return flat{tree: n}
	}
	args := make([]flat, len(n.Args))
	trees := make([]ast.Expr, len(n.Args))
	changed := false
	for i, a := range n.Args {
		args[i] = f.flatten(a)
		if trees[i] = args[i].tree; chooses && i == 0 && args[0].known {
			return f.branch(args[0], n.Args[1], n.Args[2])
		}
		changed = changed || trees[i] != a
	}
	if changed {
		n = ast.NewCall(n.Pos(), n.Name, trees)
	}
	return f.settle(n, args...)
}
