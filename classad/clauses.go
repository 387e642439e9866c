package classad

import "github.com/condor-backfill/condor-backfill/classad/ast"

// Clauses are the parts of an expression that && joins, in order, without the
// parentheses around them; the expression itself if there is no &&. All of them
// true is the same as the expression true.
func (e *Expr) Clauses() []*Expr {
	var clauses []*Expr
	pending := []ast.Expr{e.tree}
	for len(pending) > 0 {
		next := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		switch x := next.(type) {
		case *ast.Paren:
			pending = append(pending, x.X)
		case *ast.Binary:
			if x.Op == ast.And {
				pending = append(pending, x.Y, x.X)
				continue
			}
			clauses = append(clauses, &Expr{tree: next})
		default:
			clauses = append(clauses, &Expr{tree: next})
		}
	}
	return clauses
}
