package classad

import (
	"math"
	"strconv"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// longestFlatText is the maximum length of a string that replaces an expression.
const longestFlatText = 1 << 10

// canBeWritten reports whether a constant can express the value, even after it was printed and
// parsed again.
func canBeWritten(v Value) bool {
	switch v.kind {
	case Undefined, Error, Boolean, Integer:
		return true
	case Real:
		r := v.asReal()
		again, err := strconv.ParseFloat(string(ast.AppendReal(nil, r, ast.Canonical)), 64)
		return err == nil && math.Float64bits(again) == math.Float64bits(r)
	case String:
		return len(v.str()) <= longestFlatText
	default:
		return false
	}
}

// isLogical reports whether the value of an expression is certainly a boolean, undefined or error.
func isLogical(e ast.Expr) bool {
	switch n := e.(type) {
	case *ast.Paren:
		return isLogical(n.X)
	case *ast.Unary:
		return n.Op == ast.Not
	case *ast.Binary:
		return n.Op.Precedence() <= ast.And.Precedence() ||
			ast.Equal.Precedence() <= n.Op.Precedence() && n.Op.Precedence() <= ast.Less.Precedence()
	case *ast.Cond:
		return isLogical(n.Else) && (n.Then == nil && isLogical(n.If) || n.Then != nil && isLogical(n.Then))
	case *ast.Literal:
		return n.Kind == ast.Boolean || n.Kind == ast.Undefined || n.Kind == ast.Error
	default:
		return false
	}
}

// The levels of constructs that bind tighter than all binary operators.
var (
	unaryLevel = ast.Multiply.Precedence() + 1
	tightest   = unaryLevel + 1
)

// level returns how tightly the outermost part of an expression binds; higher is tighter.
func level(e ast.Expr) int {
	switch n := e.(type) {
	case *ast.Cond:
		return 0
	case *ast.Binary:
		return n.Op.Precedence()
	case *ast.Unary:
		return unaryLevel
	default:
		return tightest
	}
}

// fit adds parentheses around an expression that binds less tightly than the level loosest.
func fit(e ast.Expr, loosest int) ast.Expr {
	if level(e) < loosest {
		return ast.NewParen(e.Pos(), e)
	}
	return e
}

// treeSize returns the number of nodes of a tree.
func treeSize(e ast.Expr) int {
	n := 1
	for _, child := range ast.Children(e) {
		n += treeSize(child)
	}
	return n
}

// nesting returns how deep the brackets of the printed form nest.
func nesting(e ast.Expr) int {
	deepest := 0
	for _, child := range ast.Children(e) {
		deepest = max(deepest, nesting(child))
	}
	switch e.(type) {
	case *ast.Paren, *ast.Call, *ast.List, *ast.Record, *ast.Index:
		return deepest + 1
	default:
		return deepest
	}
}
