package classad

import (
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/classad/internal/pcre"
)

// The functions that look at the definition of an attribute instead of its value.
var treeBuiltins = []Builtin{
	{
		Name: "unparse", MinArgs: 1, MaxArgs: 1, Context: true, Lazy: true, fn: unparse,
		Doc: "Gives the text of an attribute of the ad in which the call stands, not evaluated; empty " +
			"if it has none.",
		Example: `[ a = b + 1; text = unparse(a) ].text is "b + 1"`,
	},
	{
		Name: "unresolved", MinArgs: 1, MaxArgs: 2, Context: true, Lazy: true, fn: unresolved,
		Doc: "Lists the attributes that an attribute refers to and that are not found, or tells whether a pattern is " +
			"found in one of them.",
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

// unparse looks up the printed form of its argument as a name, so that MY.a and quoted names are
// not found, as in HTCondor.
func unparse(c call) Value {
	if !isReference(c.code.exprs[0]) {
		return errorValue
	}
	if !c.ev.affords(c.code.exprs[0], 1, 1) {
		return errorValue
	}
	n := newName(string(ast.Append(nil, c.code.exprs[0], ast.Canonical)))
	v, ok := c.frame.ad.find(&n)
	if !ok {
		return text("")
	}
	e := v.tree()
	if !c.ev.affords(e, 1, 1) {
		return errorValue
	}
	return c.ev.built(string(ast.Append(nil, e, ast.Pretty)))
}

// unresolved ignores case when it matches the pattern with names.
func unresolved(c call) Value {
	if !isReference(c.code.exprs[0]) {
		return errorValue
	}
	found, in, ok := c.definition(0)
	if !ok {
		return undefined
	}
	var re pattern
	if len(c.code.exprs) == 2 {
		p := c.eval(1)
		if p.kind != String {
			return c.ev.fail()
		}
		if re, ok = c.pattern(p.str(), "i"); !ok {
			return errorValue
		}
	}
	refs := &references{ev: c.ev, external: true, paid: true}
	refs.collect(found.tree(), in)
	if refs.failed {
		clear(refs.names)
	}
	names := slices.SortedFunc(maps.Values(refs.names), compareFold)
	const scope = "target."
	for i, name := range names {
		if len(name) >= len(scope) && ast.Fold(name[:len(scope)]) == scope {
			names[i] = name[len(scope):]
		}
	}
	if len(c.code.exprs) == 1 {
		return c.ev.built(strings.Join(names, ","))
	}
	return boolean(slices.ContainsFunc(names, func(name string) bool { return re.find(name, 0, pcre.NotEmpty) != nil }))
}
