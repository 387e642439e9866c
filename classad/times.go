package classad

import (
	"cmp"
	"math"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// timeArithmetic is arithmetic on operands that are not both numbers: a relative time may be added
// to and subtracted from a time, and multiplied and divided by a number; two absolute times may be
// subtracted. Absolute times change in whole seconds.
func timeArithmetic(op ast.Op, x, y Value) Value {
	switch {
	case x.kind == RelTime && y.kind == RelTime:
		if op == ast.Add {
			return relTime(x.asReal() + y.asReal())
		}
		if op == ast.Subtract {
			return relTime(x.asReal() - y.asReal())
		}
	case x.kind == RelTime && (y.kind == Integer || y.kind == Real):
		n, _ := y.Number()
		if op == ast.Multiply {
			return relTime(x.asReal() * n)
		}
		if op == ast.Divide {
			return relTime(x.asReal() / n)
		}
	case y.kind == RelTime && (x.kind == Integer || x.kind == Real) && op == ast.Multiply:
		return timeArithmetic(op, y, x)
	case x.kind == AbsTime && y.kind == RelTime && op == ast.Add:
		return moved(x, int64(secondsOf(y)))
	case x.kind == AbsTime && y.kind == RelTime && op == ast.Subtract:
		return moved(x, -int64(secondsOf(y)))
	case x.kind == RelTime && y.kind == AbsTime && op == ast.Add:
		return moved(y, int64(secondsOf(x)))
	case x.kind == AbsTime && y.kind == AbsTime && op == ast.Subtract:
		return relTime(secondsOf(x) - secondsOf(y))
	}
	return errorValue
}

func moved(t Value, shift int64) Value {
	seconds, offset := t.asAbsTime()
	return absTime(seconds+shift, offset)
}

// compareTimes compares two times of the same kind, absolute ones by the instant only. The result
// for other operands is error.
func compareTimes(op ast.Op, x, y Value) Value {
	switch {
	case x.kind == AbsTime && y.kind == AbsTime:
		a, _ := x.asAbsTime()
		b, _ := y.asAbsTime()
		return holds(op, cmp.Compare(a, b), 0)
	case x.kind == RelTime && y.kind == RelTime:
		return holds(op, x.asReal(), y.asReal())
	default:
		return errorValue
	}
}

// secondsOf returns a time in whole seconds. As in HTCondor, those of a relative time have 32 bits.
func secondsOf(v Value) float64 {
	if v.kind == AbsTime {
		seconds, _ := v.asAbsTime()
		return float64(seconds)
	}
	return float64(cutReal(v.asReal()))
}

// cutReal converts a real number as HTCondor stores it in an int: without its fraction. Values out
// of range, which are undefined behaviour in HTCondor, become the nearest int, and NaN 0.
func cutReal(r float64) int32 {
	switch {
	case math.IsNaN(r):
		return 0
	case r >= math.MaxInt32:
		return math.MaxInt32
	case r <= math.MinInt32:
		return math.MinInt32
	default:
		return int32(r)
	}
}

// cutNumber converts an integer or a real as HTCondor stores it in an int: of an integer the last
// 32 bits are kept. The second result is false for other kinds.
func cutNumber(v Value) (int32, bool) {
	switch v.kind {
	case Integer:
		return int32(v.asInt()), true
	case Real:
		return cutReal(v.asReal()), true
	default:
		return 0, false
	}
}

// appendTime appends the text of a time, without the call of absTime or relTime around it.
func appendTime(b []byte, v Value) []byte {
	if v.kind == AbsTime {
		seconds, offset := v.asAbsTime()
		return ast.AppendAbsTime(b, seconds, offset)
	}
	return ast.AppendRelTime(b, secondsOf(v))
}
