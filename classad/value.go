package classad

import (
	"math"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// Kind is the type of a [Value].
type Kind uint8

// The kinds of values.
const (
	Undefined Kind = iota
	Error
	Boolean
	Integer
	Real
	String
	List
	Ad
	AbsTime
	RelTime
)

var kindNames = [...]string{
	Undefined: "undefined", Error: "error", Boolean: "boolean", Integer: "integer", Real: "real", String: "string",
	List: "list", Ad: "classad", AbsTime: "abstime", RelTime: "reltime",
}

// String is the name of the kind, in lower case.
func (k Kind) String() string { return kindNames[k] }

// Value is what an expression evaluates to. The zero Value is undefined. Values are passed by value and need no memory
// of their own unless they are computed strings, lists or ads. Lists and ads hold expressions that were not evaluated
// yet, together with the place where their names are looked up.
//
// A Value is four words, the most that Go keeps in registers; with the string inside, evaluation takes twice as long.
type Value struct {
	kind Kind
	bits uint64 // boolean, integer, the bits of a real or relative time, or the two parts of an absolute time
	ref  any    // *string, *list or *frame, the ad in its place
}

var (
	undefined  = Value{}
	errorValue = Value{kind: Error}
)

func boolean(b bool) Value {
	v := Value{kind: Boolean}
	if b {
		v.bits = 1
	}
	return v
}

func integer(i int64) Value     { return Value{kind: Integer, bits: uint64(i)} }
func realValue(r float64) Value { return Value{kind: Real, bits: math.Float64bits(r)} }
func text(s string) Value       { return textAt(&s) }
func textAt(s *string) Value    { return Value{kind: String, ref: s} }
func listOf(l *list) Value      { return Value{kind: List, ref: l} }
func adOf(f *frame) Value       { return Value{kind: Ad, ref: f} }

// Kind tells the type.
func (v Value) Kind() Kind { return v.kind }

// An absolute time keeps the offset of its zone in the last bits and its seconds in the others.
const (
	offsetBits = 20
	maxOffset  = 1<<(offsetBits-1) - 1
	maxInstant = 1<<(63-offsetBits) - 1 // in the year 280,000
)

// absTime is an instant in seconds since 1970, as a clock shows it that is offset seconds ahead of Greenwich. What is
// out of range becomes the nearest that is not.
func absTime(seconds int64, offset int) Value {
	seconds = min(max(seconds, -maxInstant), maxInstant)
	offset = min(max(offset, -maxOffset), maxOffset)
	return Value{kind: AbsTime, bits: uint64(seconds<<offsetBits | int64(offset)&(1<<offsetBits-1))}
}

func relTime(seconds float64) Value { return Value{kind: RelTime, bits: math.Float64bits(seconds)} }

func listOfValues(values []Value) Value { return listOf(&list{values: values}) }

// adOfValues is an ad of scalars.
func adOfValues(names []string, values []Value) Value {
	r := ast.NewRecord(0)
	for i, name := range names {
		r.Set(name, values[i].literal())
	}
	return adOf(&frame{ad: r})
}

func (v Value) isMissing() bool { return v.kind == Undefined || v.kind == Error }

// asInt, asReal and asAbsTime read the bits of a value whose kind is known, asReal those of a relative time too; str is
// empty for anything that is not a string.
func (v Value) asInt() int64    { return int64(v.bits) }
func (v Value) asReal() float64 { return math.Float64frombits(v.bits) }

func (v Value) asAbsTime() (seconds int64, offset int) {
	const unused = 64 - offsetBits
	return int64(v.bits) >> offsetBits, int(int64(v.bits<<unused) >> unused)
}

func (v Value) str() string {
	if s, ok := v.ref.(*string); ok {
		return *s
	}
	return ""
}

// IsTrue tells whether the value counts as true in a match: the boolean true or a number that is not zero.
func (v Value) IsTrue() bool { return truthOf(v) == yes }

// Int gives an integer. Reals and booleans are not integers; see [Value.Number].
func (v Value) Int() (int64, bool) {
	if v.kind != Integer {
		return 0, false
	}
	return v.asInt(), true
}

// Number gives an integer or a real.
func (v Value) Number() (float64, bool) {
	switch v.kind {
	case Integer:
		return float64(v.asInt()), true
	case Real:
		return v.asReal(), true
	default:
		return 0, false
	}
}

// Bool gives a boolean. Numbers are not booleans; see [Value.IsTrue].
func (v Value) Bool() (value, ok bool) {
	return v.bits != 0 && v.kind == Boolean, v.kind == Boolean
}

// Text gives the bytes of a string.
func (v Value) Text() (string, bool) { return v.str(), v.kind == String }

// Items evaluates the elements of a list, in the scope in which the list was written.
func (v Value) Items() ([]Value, bool) {
	l, ok := v.ref.(*list)
	if !ok {
		return nil, false
	}
	items := make([]Value, l.len())
	for i := range items {
		items[i] = newEvaluator(l.host).run(func(ev *evaluator) Value { return l.at(ev, i) })
	}
	return items, true
}

// Ad gives a copy of an ad. Its expressions keep their text and lose the ads around them.
func (v Value) Ad() (*ClassAd, bool) {
	f, ok := v.ref.(*frame)
	if !ok {
		return nil, false
	}
	return &ClassAd{attrs: *f.ad.Clone()}, true
}

// String is the canonical printed form: integers in decimal, reals as %1.15E, strings in quotes, the contents of lists
// and ads as unevaluated expressions.
func (v Value) String() string { return string(v.append(nil)) }

func (v Value) append(b []byte) []byte {
	switch v.kind {
	case List:
		return v.ref.(*list).append(b)
	case Ad:
		return ast.Append(b, v.ref.(*frame).ad, ast.Canonical)
	default:
		return ast.Append(b, v.literal(), ast.Canonical)
	}
}

// literal is the constant of a scalar.
func (v Value) literal() *ast.Literal {
	switch v.kind {
	case Error:
		return ast.NewKeyword(0, ast.Error)
	case Boolean:
		return ast.NewBool(0, v.bits != 0)
	case Integer:
		return ast.NewInt(0, v.asInt())
	case Real:
		return ast.NewReal(0, v.asReal())
	case String:
		return ast.NewString(0, v.str())
	case AbsTime:
		seconds, offset := v.asAbsTime()
		return ast.NewAbsTime(0, seconds, int32(offset))
	case RelTime:
		return ast.NewRelTime(0, v.asReal())
	default:
		return ast.NewKeyword(0, ast.Undefined)
	}
}

// list is the content of a list value: expressions with the place where they are evaluated, or finished values.
type list struct {
	elems  []ast.Expr
	frame  *frame
	host   *host
	values []Value
}

func (l *list) len() int { return len(l.elems) + len(l.values) }

func (l *list) at(ev *evaluator, i int) Value {
	if l.values != nil {
		return l.values[i]
	}
	return ev.eval(l.elems[i], l.frame)
}

func (l *list) append(b []byte) []byte {
	b = append(b, "{ "...)
	for i := range l.len() {
		if i > 0 {
			b = append(b, ',')
		}
		if l.values != nil {
			b = l.values[i].append(b)
		} else {
			b = ast.Append(b, l.elems[i], ast.Canonical)
		}
	}
	return append(b, " }"...)
}
