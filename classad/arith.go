package classad

import (
	"math"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// unary applies an operator before its operand.
func unary(op ast.Op, x Value) Value {
	if op == ast.Not {
		return negated(x)
	}
	if x.isMissing() {
		return x
	}
	switch {
	case op == ast.Complement && x.kind == Integer:
		return integer(^x.asInt())
	case op == ast.Add && (x.kind == Integer || x.kind == Real):
		return x
	case op == ast.Subtract && x.kind == Integer:
		return integer(-x.asInt())
	case op == ast.Add && x.kind == RelTime:
		return x
	case op == ast.Subtract && x.kind == RelTime:
		return relTime(-x.asReal())
	case op == ast.Subtract && x.kind == Real:
		return realValue(-x.asReal())
	default:
		return errorValue
	}
}

// arithmetic applies + - * / % to numbers and booleans, which count as 0 and 1. The result is an
// integer unless an operand is real. Other operands may be times, see [timeArithmetic].
func arithmetic(op ast.Op, x, y Value) Value {
	a, okA := numeric(x)
	b, okB := numeric(y)
	switch {
	case !okA || !okB:
		return timeArithmetic(op, x, y)
	case x.kind == Real || y.kind == Real:
		return realArithmetic(op, a, b)
	default:
		return intArithmetic(op, x.asInt(), y.asInt())
	}
}

// numeric returns a number or a boolean as a real; false for other values.
func numeric(v Value) (float64, bool) {
	if v.kind == Boolean {
		return float64(v.asInt()), true
	}
	return v.Number()
}

// intArithmetic wraps around on overflow, except that the most negative number divided by -1 is the
// greatest number.
func intArithmetic(op ast.Op, a, b int64) Value {
	switch op {
	case ast.Add:
		return integer(a + b)
	case ast.Subtract:
		return integer(a - b)
	case ast.Multiply:
		return integer(a * b)
	case ast.Divide:
		switch {
		case b == 0:
			return errorValue
		case a == math.MinInt64 && b == -1:
			return integer(math.MaxInt64)
		}
		return integer(a / b)
	case ast.Modulo:
		if b == 0 {
			return errorValue
		}
		return integer(a % b)
	default:
		return errorValue
	}
}

// realArithmetic applies + - * / to reals; % gives error. A result that is positive infinity
// becomes error, but negative infinity and NaN stay: a quirk of HTCondor.
func realArithmetic(op ast.Op, a, b float64) Value {
	var r float64
	switch op {
	case ast.Add:
		r = a + b
	case ast.Subtract:
		r = a - b
	case ast.Multiply:
		r = a * b
	case ast.Divide:
		r = a / b
	default:
		return errorValue // % needs integers
	}
	if math.IsInf(r, 1) {
		return errorValue
	}
	return realValue(r)
}

// bitwise applies bit operators to integers; other operands give error. Shift counts are taken
// modulo 64; in HTCondor larger ones are undefined behaviour.
func bitwise(op ast.Op, x, y Value) Value {
	if x.kind != Integer || y.kind != Integer {
		return errorValue
	}
	a, b, count := x.asInt(), y.asInt(), uint64(y.asInt())%64
	switch op {
	case ast.BitAnd:
		return integer(a & b)
	case ast.BitOr:
		return integer(a | b)
	case ast.BitXor:
		return integer(a ^ b)
	case ast.ShiftLeft:
		return integer(a << count)
	case ast.ShiftRight:
		return integer(a >> count)
	case ast.ShiftRightUnsigned:
		return integer(int64(uint64(a) >> count))
	default:
		return errorValue
	}
}
