package classadtest

import (
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// tree writes a parse tree as an S-expression, which shows how operators bind.
func tree(e ast.Expr) string { return string(appendTree(nil, e)) }

func adTree(ad *classad.ClassAd) string {
	r := ast.NewRecord(0)
	for name, e := range ad.All() {
		r.Set(name, e.Tree())
	}
	return tree(r)
}

func appendTree(b []byte, e ast.Expr) []byte {
	switch n := e.(type) {
	case *ast.Literal:
		return ast.Append(b, n, ast.Canonical)
	case *ast.Attr:
		if n.Absolute {
			return appendNode(b, "root", n.Name, nil)
		}
		return appendNode(b, "attr", n.Name, nil)
	case *ast.Select:
		b = appendTree(append(b, "(. "...), n.X)
		return append(quote(append(b, ' '), n.Name), ')')
	case *ast.Index:
		return appendNode(b, "[]", "", n)
	case *ast.Unary:
		return appendNode(b, "u"+n.Op.String(), "", n)
	case *ast.Binary:
		return appendNode(b, n.Op.String(), "", n)
	case *ast.Cond:
		if n.Then == nil {
			return appendNode(b, "elvis", "", n)
		}
		return appendNode(b, "?:", "", n)
	case *ast.Call:
		return appendNode(b, "call", n.Name, n)
	case *ast.Paren:
		return appendNode(b, "paren", "", n)
	case *ast.List:
		return appendNode(b, "list", "", n)
	case *ast.Record:
		return appendRecord(b, n)
	}
	return b
}

// appendNode appends (kind "name" child child…); an empty name is left out.
func appendNode(b []byte, kind, name string, parent ast.Expr) []byte {
	b = append(append(b, '('), kind...)
	if name != "" || parent == nil {
		b = quote(append(b, ' '), name)
	}
	if parent != nil {
		for _, child := range ast.Children(parent) {
			b = appendTree(append(b, ' '), child)
		}
	}
	return append(b, ')')
}

func appendRecord(b []byte, r *ast.Record) []byte {
	b = append(b, "(ad"...)
	for _, a := range r.Canonical() {
		b = quote(append(b, " ("...), a.Name)
		b = append(appendTree(append(b, ' '), a.Value), ')')
	}
	return append(b, ')')
}

func quote(b []byte, s string) []byte { return ast.AppendString(b, s, ast.Canonical) }
