package classadtest

import (
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// tree writes a parse tree as an S-expression, which shows what binds to what.
func tree(e ast.Expr) string {
	switch n := e.(type) {
	case *ast.Literal:
		return string(ast.Append(nil, n, ast.Canonical))
	case *ast.Attr:
		if n.Absolute {
			return node("root", quote(n.Name))
		}
		return node("attr", quote(n.Name))
	case *ast.Select:
		return node(".", tree(n.X), quote(n.Name))
	case *ast.Index:
		return node("[]", trees(n)...)
	case *ast.Unary:
		return node("u"+n.Op.String(), trees(n)...)
	case *ast.Binary:
		return node(n.Op.String(), trees(n)...)
	case *ast.Cond:
		if n.Then == nil {
			return node("elvis", trees(n)...)
		}
		return node("?:", trees(n)...)
	case *ast.Call:
		return node("call", append([]string{quote(n.Name)}, trees(n)...)...)
	case *ast.Paren:
		return node("paren", trees(n)...)
	case *ast.List:
		return node("list", trees(n)...)
	case *ast.Record:
		return recordTree(n)
	}
	return ""
}

func trees(e ast.Expr) []string {
	var parts []string
	for _, child := range ast.Children(e) {
		parts = append(parts, tree(child))
	}
	return parts
}

func recordTree(r *ast.Record) string {
	var parts []string
	for _, a := range r.Canonical() {
		parts = append(parts, node(quote(a.Name), tree(a.Value)))
	}
	return node("ad", parts...)
}

func adTree(ad *classad.ClassAd) string {
	e, err := classad.ParseExpr(ad.String())
	if err != nil {
		return err.Error()
	}
	return tree(e.Tree())
}

func pretty(ad *classad.ClassAd) string {
	e, err := classad.ParseExpr(ad.String())
	if err != nil {
		return err.Error()
	}
	return string(ast.Append(nil, e.Tree(), ast.Pretty))
}

func node(name string, parts ...string) string {
	return "(" + strings.Join(append([]string{name}, parts...), " ") + ")"
}

func quote(s string) string { return string(ast.AppendString(nil, s, ast.Canonical)) }
