package preempt

import (
	"math"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// least is the value of a rank that is no number, as under the stock negotiator: it counts less than
// any number.
const least = -math.MaxFloat64

// numberOf returns a value as a number; true is 1, false 0.
func numberOf(v classad.Value) (n float64, ok bool) {
	if truth, isBool := v.Bool(); isBool {
		if truth {
			return 1, true
		}
		return 0, true
	}
	n, ok = v.Number()
	return n, ok && n == n
}

// isFalse reports whether an expression is the constant false, or 0.
func isFalse(e *classad.Expr) bool {
	c, constant := e.Tree().(*ast.Literal)
	return constant && (c.Kind == ast.Boolean && c.Int == 0 || isConstant(e, 0))
}

// isConstant reports whether an expression is this very number.
func isConstant(e *classad.Expr, n float64) bool {
	c, constant := e.Tree().(*ast.Literal)
	return constant && (c.Kind == ast.Integer && float64(c.Int) == n || c.Kind == ast.Real && c.Real == n)
}

// constant returns the value of an expression that is a number.
func constant(e *classad.Expr) (n float64, ok bool) {
	c, literal := e.Tree().(*ast.Literal)
	if !literal {
		return 0, false
	}
	switch c.Kind {
	case ast.Integer:
		return float64(c.Int), true
	case ast.Real:
		return c.Real, true
	default:
		return 0, false
	}
}
