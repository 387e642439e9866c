package classad

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// ErrReferences says that not all references of an expression can be followed: one is circular,
// more than 400 are nested, something is selected from a value that is neither an ad nor undefined,
// or it takes too many steps to tell which ad something is selected from.
var ErrReferences = errors.New("references lead in a circle, too far or into what is no ad")

// maxRefSteps is the limit for all evaluations of what is before a dot, usually TARGET, which takes
// one step.
const maxRefSteps = 10 * FewSteps

// Refs returns the attributes that the expression refers to if it stands in the ad my: internal
// ones, which the ad has, including what their own expressions refer to, and external ones, which
// another ad would have to supply. Both are sorted ignoring case. HTCondor computes the significant
// attributes of jobs from them.
//
// Names after TARGET and other are external, and so are all names that the ad does not have, with
// or without MY. Strings that eval evaluates are not analysed. The error is nil or [ErrReferences];
// the names that were found are returned in both cases.
func (e *Expr) Refs(my *ClassAd) (internal, external []string, err error) {
	return Scope{My: my, MaxSteps: maxRefSteps}.refs(e, false)
}

// Refs returns the attributes that an expression refers to if it stands in the ad My, as
// [Expr.Refs] does, but following references takes steps, too: at most MaxSteps, which Meter
// counts. If more are needed, the error is [ErrReferences]. What one ad refers to can be quadratic
// in its size.
func (s Scope) Refs(e *Expr) (internal, external []string, err error) { return s.refs(e, true) }

// refs is Refs; paid says that following references takes steps.
func (s Scope) refs(e *Expr, paid bool) (internal, external []string, err error) {
	if _, constant := e.tree.(*ast.Literal); constant { // true of most attributes
		return nil, nil, nil
	}
	s.Target, s.Host = nil, &someTime
	m := newMatching(s)
	in := &references{ev: &m.evaluator, paid: paid}
	out := &references{ev: &m.evaluator, paid: paid, external: true}
	in.collect(e.tree, &m.left)
	if paid && m.steps >= 0 {
		m.failed = false // an evaluation for in, which out makes anew
	}
	out.collect(e.tree, &m.left)
	m.metered()
	m.recycle()
	if in.failed || out.failed {
		err = ErrReferences
	}
	return in.sorted(), out.sorted(), err
}

// someTime makes CurrentTime a number; its value does not matter.
var someTime = Host{Now: func() int64 { return 0 }}

// references collects names as HTCondor does, including its notion of internal and external: the
// two are collected separately and in different ways.
type references struct {
	ev       *evaluator
	root     *frame
	at       *frame // the ad of the expression being walked
	external bool
	paid     bool              // walking is charged to the evaluation
	names    map[string]string // as written, by the folded form
	state    map[place]visit
	trees    map[*record]*ast.Record
	nested   int // the number of definitions being followed
	depth    int // the total height of their trees
	failed   bool
}

// place is a definition with the ad in which its names are looked up.
type place struct {
	tree    ast.Expr
	ad      *record
	inScope bool
}

// visit is how far a definition was followed.
type visit uint8

const (
	visiting visit = iota + 1
	visited
)

func (r *references) collect(e ast.Expr, f *frame) {
	r.root, r.at, r.names, r.state, r.trees = f, f, map[string]string{}, map[place]visit{}, map[*record]*ast.Record{}
	r.follow(e, false)
}

// tree returns an ad as a tree, for the same ad always the same tree, so that a [place] identifies
// it.
func (r *references) tree(ad *record) *ast.Record {
	t := r.trees[ad]
	if t == nil {
		t = ad.tree()
		r.trees[ad] = t
	}
	return t
}

func (r *references) sorted() []string {
	names := slices.SortedFunc(maps.Values(r.names), compareFold)
	if !r.external {
		return names
	}
	short := references{names: map[string]string{}}
	for _, name := range names {
		short.add(firstName(name))
	}
	return short.sorted()
}

func (r *references) add(name string) {
	if r.paid && !r.ev.spend(stepsPerReference+len(name)/quotedBytesPerStep) {
		r.failed = true
		return
	}
	key := ast.Fold(name)
	if _, ok := r.names[key]; !ok {
		r.names[key] = name
	}
}

// follow collects the references of a definition, but only once for each [place]. inScope means
// that the definition stands before a dot, where an ad is only searched for a name and its
// attributes do not count as references. A circular definition, or too deep nesting, sets r.failed.
func (r *references) follow(e ast.Expr, inScope bool) {
	if r.paid && !r.ev.spend(stepsPerReference) {
		r.failed = true
		return
	}
	at := place{e, r.at.ad, inScope}
	if r.state[at] == visited {
		return
	}
	if r.state[at] == visiting || r.nested > maxReferences || r.depth+e.Height() > maxDepth {
		r.failed = true
		return
	}
	r.state[at] = visiting
	r.nested++
	r.depth += e.Height()
	r.walk(e, inScope)
	r.depth -= e.Height()
	r.nested--
	r.state[at] = visited
}

// walk collects the references of an expression.
func (r *references) walk(e ast.Expr, inScope bool) {
	if r.failed = r.failed || r.paid && !r.ev.spend(6); r.failed {
		return
	}
	switch n := e.(type) {
	case *ast.Attr:
		start := r.at
		if n.Absolute {
			start = r.ev.outermost(r.root)
		}
		r.resolve(nameOf(n.Name, n.Key), start, inScope)
	case *ast.Select:
		if start := r.scope(n); start != nil {
			r.resolve(nameOf(n.Name, n.Key), start, inScope)
		}
	case *ast.Record:
		if !inScope || r.external {
			for _, a := range n.Attributes() {
				r.walk(a.Value, inScope)
			}
		}
	case *ast.Literal:
	default:
		children := ast.Children(e)
		if r.paid {
			r.ev.spend(len(children))
		}
		for _, child := range children {
			r.walk(child, inScope)
		}
	}
}

// scope returns the ad before the dot of a selection, in which the name after the dot is looked up.
// It returns nil if that part is undefined, so that the whole selection is an external reference,
// and if it is anything else than an ad, which sets r.failed.
func (r *references) scope(n *ast.Select) *frame {
	if !r.external {
		r.walk(n.X, true)
	}
	v := (&Expr{tree: n.X}).in(r.ev, r.at)
	switch {
	case r.ev.failed || v.kind != Undefined && v.kind != Ad:
		r.failed = true
	case v.kind == Ad && r.nested == 1 && isRecord(n.X):
		return &frame{ad: v.frame().ad} // HTCondor evaluates an ad within the expression separately from my
	case v.kind == Ad:
		return v.frame()
	case r.external:
		r.add(string(ast.Append(nil, n, ast.Canonical)))
	}
	return nil
}

func isRecord(e ast.Expr) bool {
	_, ok := ast.Bare(e).(*ast.Record)
	return ok
}

// in evaluates the expression in the ad f and charges its steps.
func (e *Expr) in(ev *evaluator, f *frame) Value {
	p := e.program(ev.functions)
	if !ev.spend(p.weight) {
		return errorValue
	}
	return p.code.eval(ev, f)
}

// firstName returns the name that HTCondor reports for an external name, which may be a selection
// such as TARGET.a.b: without TARGET or another scope at its start, the part before the next dot or
// bracket counts, here a.
func firstName(selection string) string {
	for _, scope := range []string{"target.", "other.", ".left.", ".right.", "."} {
		if len(selection) > len(scope) && equalFold(selection[:len(scope)], scope) {
			selection = selection[len(scope):]
			break
		}
	}
	if end := strings.IndexAny(selection, ".["); end >= 0 {
		selection = selection[:end]
	}
	return selection
}

// resolve looks up a name in f and the ads around it, and collects it and what its definition
// refers to. If it is not found while internal names are collected, r.at stays at the outermost ad,
// so that what is walked next counts as standing there, as in HTCondor.
func (r *references) resolve(n name, f *frame, inScope bool) {
	before := r.at
	for ; f != nil && (!r.paid || r.ev.spend(1)); f = f.parent {
		r.at = f
		v, ok := f.ad.find(&n)
		switch {
		case !ok:
			v, ok = r.special(&n, f, inScope)
		case f == r.root && !r.external:
			r.add(n.text)
		}
		if !ok {
			continue
		}
		if v.kind == deferred {
			r.follow(v.expr().tree, inScope)
		}
		r.at = before
		return
	}
	if r.external {
		r.add(n.text)
		r.at = before
	}
}

// special resolves a word of the language. MY, root and others that stand for an ad refer to all
// attributes of that ad, as if they stood in f; CurrentTime refers to nothing. ok is false for
// other names, and for parent if no ad is around f.
func (r *references) special(n *name, f *frame, inScope bool) (found Value, ok bool) {
	ad := f
	switch n.word {
	case wordMy, wordSelf:
	case wordRoot:
		ad = r.ev.outermost(r.root)
	case wordParent:
		ad = f.parent
	case wordCurrentTime:
		return undefined, true
	default:
		return undefined, false
	}
	if ad == nil {
		return undefined, false
	}
	if inScope && !r.external {
		return undefined, true // walk would leave its attributes out
	}
	if r.paid && !r.ev.spend(stepsPerElement*ad.ad.len()) {
		r.failed = true
		return undefined, true
	}
	return deferredTo(&Expr{tree: r.tree(ad.ad)}), true
}
