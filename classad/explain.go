package classad

import (
	"iter"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// Clauses are the parts of an expression that && joins, in order, without the parentheses around them; the expression
// itself if there is no &&. All of them true is the same as the expression true.
func (e *Expr) Clauses() []*Expr {
	var clauses []*Expr
	for _, part := range operands(e.tree, ast.And) {
		clauses = append(clauses, &Expr{tree: part})
	}
	return clauses
}

// operands are what an operator joins, in order, without the parentheses around them.
func operands(e ast.Expr, op ast.Op) []ast.Expr {
	var all []ast.Expr
	pending := []ast.Expr{e}
	for len(pending) > 0 {
		next := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		next = unwrapped(next)
		if x, ok := next.(*ast.Binary); ok && x.Op == op {
			pending = append(pending, x.Y, x.X)
			continue
		}
		all = append(all, next)
	}
	return all
}

// unwrapped is an expression without the parentheses around it.
func unwrapped(e ast.Expr) ast.Expr {
	for {
		p, ok := e.(*ast.Paren)
		if !ok {
			return e
		}
		e = p.X
	}
}

// Explanation says why an expression is true, or why it is not.
type Explanation struct {
	// Name is the attribute of the own ad that stands for the expression, if a name does.
	Name string `json:"name,omitempty"`
	// Expr is the expression as text; of a very long one the beginning.
	Expr string `json:"expr"`
	// Value is the value in the canonical form.
	Value string `json:"value"`
	// Holds tells whether the value counts as true in a match.
	Holds bool `json:"holds"`
	// Culprit marks a part without parts that keeps the whole from being true.
	Culprit bool `json:"culprit,omitempty"`
	// Join says what the parts are: "all" have to be true, or "any" of them.
	Join string `json:"join,omitempty"`
	// Parts are what && or || joins. There are none if that says no more than Uses, or if it would be too much.
	Parts []*Explanation `json:"parts,omitempty"`
	// Uses are the names in an expression without parts.
	Uses []Use `json:"uses,omitempty"`
}

// Use is a name in an expression with the value that it has there.
type Use struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Note says why the value is undefined or error.
	Note string `json:"note,omitempty"`
}

const (
	// mostParts and mostUses bound an explanation, and mostNested the names in it that stand for one another.
	mostParts  = 500
	mostUses   = 12
	mostNested = 20
	// longestPart and longestValue are how many bytes are shown of an expression and a value.
	longestPart  = 1000
	longestValue = 200
)

// Explain tells why the expression is true or not: it evaluates every part that && or || joins by itself, looks
// into the names that stand for expressions in the own ad, and marks the parts that keep the whole from being true. It
// is bounded however large the expression is and however its names refer to one another.
func (e *Expr) Explain(s Scope) *Explanation {
	x := &explainer{scope: s, ad: s.My.attributes()}
	root := x.explain(e.tree)
	root.blame()
	return root
}

// Explain tells why an attribute of the ad is true or not, with target as the other side of a match, as [Expr.Explain]
// does. What a [Match] depends on is Requirements.
func (ad *ClassAd) Explain(name string, target *ClassAd) *Explanation {
	own := &Expr{tree: ast.NewAttr(0, name, false)}
	if _, ok := ad.Lookup(name); !ok { // the other ad may have it
		own.tree = ast.NewSelect(0, ast.NewAttr(0, "MY", false), name)
	}
	return own.Explain(Scope{My: ad, Target: target})
}

// explainer makes one explanation.
type explainer struct {
	scope  Scope
	ad     *record
	parts  int
	steps  int
	active []string // the names whose definitions are being explained
}

// eval evaluates a part. All parts together have the steps of one evaluation.
func (x *explainer) eval(e ast.Expr) Value {
	m := newMatching(x.scope)
	p := (&Expr{tree: e}).program(m.functions)
	if m.depth = p.height; !m.spend(x.steps + p.weight) {
		return m.finish(errorValue)
	}
	v := p.code.eval(&m.evaluator, &m.left)
	x.steps = m.maxSteps - m.steps
	return m.finish(v)
}

// exhausted tells that the explanation is large enough.
func (x *explainer) exhausted() bool { return x.parts > mostParts || x.steps > x.scope.maxSteps()/2 }

func (x *explainer) explain(e ast.Expr) *Explanation {
	e = unwrapped(e)
	x.parts++
	v := x.eval(e)
	part := &Explanation{Value: shortened(v.String(), longestValue), Holds: v.IsTrue()}
	if n, tree, ok := x.definition(e); ok {
		part.Name = n.text
		x.active = append(x.active, n.key)
		x.divide(part, unwrapped(tree))
		x.active = x.active[:len(x.active)-1]
		return part
	}
	x.divide(part, e)
	return part
}

// divide gives an explanation its parts or uses.
func (x *explainer) divide(part *Explanation, e ast.Expr) {
	text := string(ast.Append(nil, e, ast.Line))
	x.steps += len(text) // evaluating took about as much
	part.Expr = shortened(text, longestPart)
	if n, ok := e.(*ast.Binary); ok && (n.Op == ast.And || n.Op == ast.Or) && !x.exhausted() {
		part.Join = "all"
		if n.Op == ast.Or {
			part.Join = "any"
		}
		for _, operand := range operands(e, n.Op) {
			if x.exhausted() {
				break
			}
			part.Parts = append(part.Parts, x.explain(operand))
		}
		return
	}
	if n, tree, ok := x.definition(e); ok && !x.exhausted() { // a name for a name
		x.active = append(x.active, n.key)
		x.divide(part, unwrapped(tree))
		x.active = x.active[:len(x.active)-1]
		return
	}
	x.uses(part, e)
}

// definition gives the expression of the own ad for which a name stands, unless that is being explained.
func (x *explainer) definition(e ast.Expr) (*name, ast.Expr, bool) {
	n := x.ownName(e)
	if n == nil || len(x.active) >= mostNested || slices.Contains(x.active, n.key) {
		return nil, nil, false
	}
	i := x.ad.shape.find(n)
	if i < 0 {
		return nil, nil, false
	}
	return &x.ad.shape.names[i], x.ad.at(i).tree(), true
}

// ownName is the name in a, MY.a and self.a.
func (x *explainer) ownName(e ast.Expr) *name {
	switch n := e.(type) {
	case *ast.Attr:
		if !n.Absolute {
			own := nameOf(n.Name, n.Key)
			return &own
		}
	case *ast.Select:
		if x.scopeOf(n.X) == wordMy {
			own := nameOf(n.Name, n.Key)
			return &own
		}
	default:
	}
	return nil
}

// scopeOf tells whether an expression before a dot means the own ad or the other one.
func (x *explainer) scopeOf(e ast.Expr) word {
	n, ok := unwrapped(e).(*ast.Attr)
	if !ok || n.Absolute {
		return ordinary
	}
	scope := nameOf(n.Name, n.Key)
	if _, hidden := x.ad.find(&scope); hidden || !scope.word.isScope() {
		return ordinary
	}
	if scope.word == wordTarget {
		return wordTarget
	}
	return wordMy
}

// blame marks the parts without parts because of which this part is not true.
func (part *Explanation) blame() {
	if part.Holds {
		return
	}
	part.Culprit = len(part.Parts) == 0
	for _, p := range part.Parts {
		p.blame()
	}
}

// All goes through the explanation and everything in it, a part before its own parts, with the depths.
func (part *Explanation) All() iter.Seq2[int, *Explanation] {
	return func(yield func(int, *Explanation) bool) { part.walk(0, yield) }
}

func (part *Explanation) walk(depth int, yield func(int, *Explanation) bool) bool {
	if !yield(depth, part) {
		return false
	}
	for _, p := range part.Parts {
		if !p.walk(depth+1, yield) {
			return false
		}
	}
	return true
}

func shortened(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}
