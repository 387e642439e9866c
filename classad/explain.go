package classad

import (
	"iter"
	"slices"
	"strings"
	"unicode"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// Clauses returns the operands of the && at the top of the expression, in order and without
// parentheses around them; without && it returns the expression itself. The expression is true if
// and only if all clauses are.
func (e *Expr) Clauses() []*Expr {
	var clauses []*Expr
	for _, part := range operands(e.tree, ast.And) {
		clauses = append(clauses, &Expr{tree: part})
	}
	return clauses
}

// operands returns the operands of a chain of an operator, in order, without parentheses around
// them.
func operands(e ast.Expr, op ast.Op) []ast.Expr {
	var all []ast.Expr
	pending := []ast.Expr{e}
	for len(pending) > 0 {
		next := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		next = ast.Bare(next)
		if x, ok := next.(*ast.Binary); ok && x.Op == op {
			pending = append(pending, x.Y, x.X)
			continue
		}
		all = append(all, next)
	}
	return all
}

// Explanation says why an expression is true, or why it is not.
type Explanation struct {
	// Name is the attribute of the own ad whose definition is explained, if the expression is a
	// name.
	Name string `json:"name,omitempty"`
	// Through are the further names, if that definition is only a name, and so on: the expression is
	// the definition of the last one.
	Through []string `json:"through,omitempty"`
	// Expr is the expression as text; a very long one is cut.
	Expr string `json:"expr"`
	// Value is the value in the canonical form.
	Value string `json:"value"`
	// Holds says whether the value counts as true in a match.
	Holds bool `json:"holds"`
	// Culprit says that this part keeps the whole from being true. Only parts without parts of
	// their own are marked.
	Culprit bool `json:"culprit,omitempty"`
	// Join says how the parts are joined: "all" must be true, or "any" of them.
	Join string `json:"join,omitempty"`
	// Compared is the comparison with the values of both sides, such as 5 < 3, if the part is one and
	// is false.
	Compared string `json:"compared,omitempty"`
	// Parts are the operands of && or ||. They are left out if they say no more than Uses, or if
	// there are too many.
	Parts []*Explanation `json:"parts,omitempty"`
	// Uses are the names in an expression without parts.
	Uses []Use `json:"uses,omitempty"`
}

// Use is a name in an expression with its value there.
type Use struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Note says why the value is undefined or error.
	Note string `json:"note,omitempty"`
}

const (
	// mostParts and mostUses limit an explanation, and mostNested limits chains of names that are
	// defined by one another.
	mostParts  = 500
	mostUses   = 12
	mostNested = 20
	// longestPart, longestValue and longestSide limit the shown bytes of an expression, of a value and
	// of a value in a comparison.
	longestPart  = 1000
	longestValue = 200
	longestSide  = 60
)

// Explain explains why the expression is true or not: it evaluates each operand of && or || by
// itself, follows names that stand for expressions in the own ad, and marks the parts that keep the
// whole from being true. A part draws the random numbers that it draws in the whole. The size of the
// explanation is limited.
func (e *Expr) Explain(s Scope) *Explanation {
	x := &explainer{scope: s, ad: s.My.attributes()}
	x.scope.Meter = nil // all parts count as one evaluation
	x.scope.Host = x.draws.remember(s.Host)
	root := x.explain(e.tree)
	s.Meter.count(s.maxSteps(), s.maxSteps()-x.steps)
	root.blame()
	return root
}

// Explain explains why an attribute of the ad is true or not, with target as the other side of a
// match and without a [Host]; see [Scope.Explain].
func (ad *ClassAd) Explain(name string, target *ClassAd) *Explanation {
	return Scope{My: ad, Target: target}.Explain(name)
}

// Explain explains why an attribute of the ad My is true or not; see [Expr.Explain]. For a [Match]
// that attribute is Requirements.
func (s Scope) Explain(name string) *Explanation {
	own, n := &Expr{tree: ast.NewAttr(0, name, false)}, newName(name)
	if _, ok := s.My.attributes().find(&n); !ok { // the other ad may have it
		own.tree = ast.NewSelect(0, ast.NewAttr(0, "MY", false), name)
	}
	return own.Explain(s)
}

// explainer makes one explanation.
type explainer struct {
	scope  Scope
	ad     *record
	parts  int
	steps  int
	draws  draws
	active []string // the names whose definitions are being explained
}

// eval evaluates a part. All parts share the steps of one evaluation.
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

// exhausted reports whether the explanation has reached its limits.
func (x *explainer) exhausted() bool { return x.parts > mostParts || x.steps > x.scope.maxSteps()/2 }

func (x *explainer) explain(e ast.Expr) *Explanation {
	e = ast.Bare(e)
	x.parts++
	start := x.draws.next
	v := x.eval(e)
	defer x.draws.rewind(x.draws.next) // what follows draws what it draws in the whole
	x.draws.rewind(start)
	part := &Explanation{Value: shortened(v.String(), longestValue), Holds: v.IsTrue()}
	if n, tree, ok := x.definition(e); ok {
		part.Name = n.text
		x.active = append(x.active, n.key)
		x.divide(part, ast.Bare(tree))
		x.active = x.active[:len(x.active)-1]
		return part
	}
	x.divide(part, e)
	return part
}

// divide sets the text of an explanation, and either its parts, the operands of && or ||, or its
// uses.
func (x *explainer) divide(part *Explanation, e ast.Expr) {
	text := string(ast.Append(nil, e, ast.Line))
	x.steps += len(text) // its evaluation took about as many
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
	if n, tree, ok := x.definition(e); ok && !x.exhausted() { // the definition may be a name, too
		part.Through = append(part.Through, n.text)
		x.active = append(x.active, n.key)
		x.divide(part, ast.Bare(tree))
		x.active = x.active[:len(x.active)-1]
		return
	}
	start := x.draws.next
	x.compare(part, e)
	x.draws.rewind(start)
	x.uses(part, e)
}

// compare sets the comparison with the values of both sides, of a part that is false.
func (x *explainer) compare(part *Explanation, e ast.Expr) {
	n, ok := e.(*ast.Binary)
	if !ok || n.Op < ast.Equal || n.Op > ast.GreaterEqual || part.Value != boolean(false).String() || x.exhausted() {
		return
	}
	left := shortened(x.eval(n.X).String(), longestSide)
	part.Compared = left + " " + n.Op.String() + " " + shortened(x.eval(n.Y).String(), longestSide)
}

// definition returns the name that e consists of and its definition in the own ad. It returns false
// if e is no such name, if it is already being explained, and if names nest too deep.
func (x *explainer) definition(e ast.Expr) (*name, ast.Expr, bool) {
	n := x.ownName(e)
	if n == nil || len(x.active) >= mostNested || slices.Contains(x.active, n.key) {
		return nil, nil, false
	}
	i := x.ad.shape.find(n)
	if i < 0 || Private(n.text) {
		return nil, nil, false
	}
	return &x.ad.shape.names[i], x.ad.at(i).tree(), true
}

// ownName returns the name in a, MY.a and self.a, else nil.
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

// scopeOf returns what an expression before a dot stands for: [wordMy] for the own ad, [wordTarget]
// for the other one, else [ordinary].
func (x *explainer) scopeOf(e ast.Expr) word {
	n, ok := ast.Bare(e).(*ast.Attr)
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

// blame marks the innermost parts because of which this part is not true.
func (part *Explanation) blame() {
	if part.Holds {
		return
	}
	part.Culprit = len(part.Parts) == 0
	for _, p := range part.Parts {
		p.blame()
	}
}

// All iterates over the explanation and all parts in it, with their depth, which is 0 for the
// whole. A part comes before its own parts.
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

// draws are the random numbers of an explanation, of which each part draws those that it draws in the
// whole.
type draws struct {
	drawn []float64
	next  int // the index in drawn of the next one
}

// remember returns a host that draws from d, and new random numbers from the given one.
func (d *draws) remember(host *Host) *Host {
	if host == nil || host.Random == nil {
		return host
	}
	remembering := *host
	remembering.Random = func() float64 {
		if d.next == len(d.drawn) {
			d.drawn = append(d.drawn, host.Random())
		}
		d.next++
		return d.drawn[d.next-1]
	}
	return &remembering
}

func (d *draws) rewind(to int) { d.next = to }

// shortened returns the first bytes of a text, in one line without what would move a terminal's
// cursor.
func shortened(text string, longest int) string {
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		default:
			return unicode.ReplacementChar
		}
	}, text)
}
