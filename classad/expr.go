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
