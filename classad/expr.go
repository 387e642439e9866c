package classad

import (
	"sync/atomic"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// Expr is a parsed expression. It never changes and may be used by many goroutines at once.
type Expr struct {
	tree     ast.Expr
	compiled atomic.Pointer[program] // made at the first evaluation
}

// Tree returns the parsed form, for programs that look into expressions.
func (e *Expr) Tree() ast.Expr { return e.tree }

// String returns the canonical printed form, which parses to the same expression.
func (e *Expr) String() string { return string(ast.Append(nil, e.tree, ast.Canonical)) }

// Start returns the printed form if it has at most so many bytes, else its beginning and "…". An
// expression of any size takes no longer than these bytes and its depth do.
func (e *Expr) Start(most int) string {
	return shortened(string(ast.AppendStart(nil, e.tree, most)), most)
}
