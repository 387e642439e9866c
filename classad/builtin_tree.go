package classad

import (
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// The functions that look at the definition of an attribute and not at its value.
var treeBuiltins = []Builtin{
	{
		Name: "unparse", MinArgs: 1, MaxArgs: 1, Lazy: true, fn: unparse,
		Doc:     "Gives the text of an attribute of the ad in which the call stands, not evaluated; empty if it has none.",
		Example: `[ a = b + 1; text = unparse(a) ].text is "b + 1"`,
	},
	{
		Name: "unresolved", MinArgs: 1, MaxArgs: 2, Lazy: true, fn: unresolved,
		Doc: "Lists the attributes that an attribute refers to and that are not found, or tells whether a pattern is found " +
			"in one of them.",
		Example: `[ a = b + TARGET.c; names = unresolved(a) ].names is "b,c"`,
	},
}

func isReference(e ast.Expr) bool {
	switch e.(type) {
	case *ast.Attr, *ast.Select:
		return true
	default:
		return false
	}
}

// unparse looks up the printed form of its argument as a name, which finds nothing for MY.a and for names in quotes, as
// in the reference.
func unparse(c call) Value {
	if !isReference(c.exprs[0]) {
		return errorValue
	}
	e, ok := c.attribute(string(ast.Append(nil, c.exprs[0], ast.Canonical)))
	if !ok {
		return text("")
	}
	if !c.affords(e, 1) {
		return errorValue
	}
	return c.ev.built(string(ast.Append(nil, e, ast.Pretty)))
}

// affords pays for printing an expression, the more the deeper it is indented.
func (c call) affords(e ast.Expr, price int) bool {
	if !c.ev.spend(price) {
		return false
	}
	switch e.(type) {
	case *ast.List, *ast.Record:
		price++
	default:
	}
	for _, child := range ast.Children(e) {
		if !c.affords(child, price) {
			return false
		}
	}
	return true
}

// unresolved searches the names without regard to case.
func unresolved(c call) Value {
	if !isReference(c.exprs[0]) {
		return errorValue
	}
	found, ok := c.definitionOf(c.exprs[0])
	if !ok {
		return undefined
	}
	var re matcher
	if len(c.exprs) == 2 {
		pattern := c.eval(1)
		if pattern.kind != String {
			return c.ev.fail()
		}
		if re = c.pattern(pattern.str(), "i", 0); re == nil {
			return errorValue
		}
	}
	w := missingNames{ev: c.ev, names: map[string]string{}}
	if !w.walk(found.expr, found.frame) {
		clear(w.names)
	}
	names := slices.Collect(maps.Values(w.names))
	slices.SortFunc(names, compareFold)
	const scope = "target."
	for i, name := range names {
		if len(name) >= len(scope) && ast.Fold(name[:len(scope)]) == scope {
			names[i] = name[len(scope):]
		}
	}
	if re == nil {
		return c.ev.built(strings.Join(names, ","))
	}
	return boolean(slices.ContainsFunc(names, func(name string) bool {
		m, err := re.find(name, 0, notEmpty)
		return err == nil && m != nil
	}))
}

// definitionOf is what a reference leads to from where the call stands.
func (c call) definitionOf(e ast.Expr) (definition, bool) {
	switch n := e.(type) {
	case *ast.Attr:
		if n.Absolute {
			return c.ev.lookup(c.frame.root(), n.Key)
		}
		found, ok := c.ev.lookup(c.frame, n.Key)
		if other := c.frame.opposite(); !ok && other != nil {
			return c.ev.lookup(other, n.Key)
		}
		return found, ok
	case *ast.Select:
		if f, ok := c.ev.eval(n.X, c.frame).ref.(*frame); ok {
			return c.ev.lookup(f, n.Key)
		}
	default:
	}
	return definition{}, false
}

// missingNames collects, as a name with what stands before it, the references of an expression that lead nowhere. Unlike
// [Expr.Refs] it evaluates what stands before a dot, and so finds what the other ad of a match has.
type missingNames struct {
	ev    *evaluator
	names map[string]string // by the folded name, as first written
}

func (w *missingNames) add(name string) {
	if key := ast.Fold(name); w.names[key] == "" {
		w.names[key] = name
	}
}

// walk goes through an expression that is evaluated in f and through all it refers to. It is false if that cannot be
// done: a circle, or something before a dot that is neither an ad nor undefined.
func (w *missingNames) walk(e ast.Expr, f *frame) bool {
	if !w.ev.spend(1) {
		return false
	}
	switch n := e.(type) {
	case *ast.Literal:
		return true
	case *ast.Attr:
		start := f
		if n.Absolute {
			start = f.root()
		}
		return w.follow(n.Name, n.Key, start)
	case *ast.Select:
		x := w.ev.eval(n.X, f)
		if x.kind == Undefined {
			w.add(string(ast.Append(nil, n.X, ast.Canonical)) + "." + n.Name)
			return !w.ev.failed
		}
		start, isAd := x.ref.(*frame)
		return isAd && w.follow(n.Name, n.Key, start)
	case *ast.Call, *ast.List, *ast.Record:
		return w.deeper(func() bool { return w.walkAll(e, f) })
	default:
		return w.walkAll(e, f)
	}
}

func (w *missingNames) walkAll(e ast.Expr, f *frame) bool {
	for _, child := range ast.Children(e) {
		if !w.walk(child, f) {
			return false
		}
	}
	return true
}

func (w *missingNames) follow(name, key string, start *frame) bool {
	found, ok := w.ev.lookup(start, key)
	if !ok {
		w.add(name)
		return true
	}
	return w.deeper(func() bool { return w.walk(found.expr, found.frame) })
}

// deeper counts the references that are followed, which are nested no deeper than in evaluation.
func (w *missingNames) deeper(walk func() bool) bool {
	if w.ev.references >= maxReferences {
		return false
	}
	w.ev.references++
	ok := walk()
	w.ev.references--
	return ok
}
