package classad

import (
	"cmp"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// compare compares numbers and booleans as numbers, strings ignoring case, and two times of the
// same kind. The result for other operands is error.
func compare(op ast.Op, x, y Value) Value {
	if x.kind == String && y.kind == String {
		switch op {
		case ast.Equal:
			return boolean(equalFold(x.str(), y.str()))
		case ast.NotEqual:
			return boolean(!equalFold(x.str(), y.str()))
		default:
		}
		return holds(op, compareFold(x.str(), y.str()), 0)
	}
	a, okA := numeric(x)
	b, okB := numeric(y)
	switch {
	case !okA || !okB:
		return compareTimes(op, x, y)
	case x.kind == Real || y.kind == Real:
		return holds(op, a, b)
	default:
		return holds(op, x.asInt(), y.asInt())
	}
}

func holds[T int | int64 | float64](op ast.Op, a, b T) Value {
	switch op {
	case ast.Equal:
		return boolean(a == b)
	case ast.NotEqual:
		return boolean(a != b)
	case ast.Less:
		return boolean(a < b)
	case ast.LessEqual:
		return boolean(a <= b)
	case ast.Greater:
		return boolean(a > b)
	case ast.GreaterEqual:
		return boolean(a >= b)
	default:
		return errorValue
	}
}

// identical returns the value of x =?= y: whether both have the same type and the same value,
// strings with case. Undefined and error are identical to themselves. For two lists or two ads it
// is error.
func identical(x, y Value) Value {
	if x.kind != y.kind {
		return boolean(false)
	}
	switch x.kind {
	case List, Ad:
		return errorValue
	case Real, RelTime:
		return boolean(x.asReal() == y.asReal())
	default:
		return boolean(x.bits == y.bits && x.str() == y.str())
	}
}

// compareFold compares two texts byte by byte, with ASCII letters in lower case, and returns what
// [cmp.Compare] does.
func compareFold(a, b string) int {
	for i := range min(len(a), len(b)) {
		if c, d := lower(a[i]), lower(b[i]); c != d {
			return cmp.Compare(c, d)
		}
	}
	return cmp.Compare(len(a), len(b))
}

// equalFold reports whether two texts are equal ignoring the case of ASCII letters.
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	if a == b {
		return true
	}
	return compareFold(a, b) == 0
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}
