package classad

import (
	"math"
	"strconv"
	"unsafe"

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

	// deferred marks an unevaluated expression in a record. No evaluation returns it.
	deferred
)

var kindNames = [...]string{
	Undefined: "undefined", Error: "error", Boolean: "boolean", Integer: "integer", Real: "real", String: "string",
	List: "list", Ad: "classad", AbsTime: "abstime", RelTime: "reltime", deferred: "deferred",
}

// String returns the name of the kind, in lower case.
func (k Kind) String() string { return kindNames[k] }

// Value is the result of evaluating an expression. The zero Value is undefined. Values are passed
// by value and need no further memory unless they are computed strings, lists or ads. Lists and ads
// hold unevaluated expressions together with the place where their names are looked up.
//
// A Value is three words, so that Go keeps it in registers and an ad of 175 attributes stays small.
// This takes an untyped pointer, which only this file uses: kind says what it points to.
type Value struct {
	ref  unsafe.Pointer // the first byte of a string; a list, frame or Expr
	bits uint64         // a boolean, an integer, the bits of a real, the length of a string or a packed instant
	kind Kind
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
func relTime(r float64) Value   { return Value{kind: RelTime, bits: math.Float64bits(r)} }
func listOf(l *list) Value      { return Value{kind: List, ref: unsafe.Pointer(l)} }
func adOf(f *frame) Value       { return Value{kind: Ad, ref: unsafe.Pointer(f)} }

func text(s string) Value {
	return Value{kind: String, ref: unsafe.Pointer(unsafe.StringData(s)), bits: uint64(len(s))}
}

func deferredTo(e *Expr) Value { return Value{kind: deferred, ref: unsafe.Pointer(e)} }

// An absolute time has the offset of its zone in the last bits and its seconds in the others.
const (
	offsetBits = 20
	maxOffset  = 1<<(offsetBits-1) - 1
	maxInstant = 1<<(63-offsetBits) - 1 // in the year 280,000
)

// absTime returns an instant in seconds since 1970 with the offset of its zone in seconds east of
// Greenwich. Values out of range become the nearest in range.
func absTime(seconds int64, offset int) Value {
	seconds = min(max(seconds, -maxInstant), maxInstant)
	offset = min(max(offset, -maxOffset), maxOffset)
	return Value{kind: AbsTime, bits: uint64(seconds<<offsetBits | int64(offset)&(1<<offsetBits-1))}
}

func (v Value) asAbsTime() (seconds int64, offset int) {
	const shift = 64 - offsetBits
	return int64(v.bits) >> offsetBits, int(int64(v.bits<<shift) >> shift)
}

// Kind returns the type.
func (v Value) Kind() Kind { return v.kind }

func (v Value) isMissing() bool { return v.kind == Undefined || v.kind == Error }

// asInt and asReal read the bits of a value whose kind is known; the accessors below return the
// zero value for other kinds.
func (v Value) asInt() int64    { return int64(v.bits) }
func (v Value) asReal() float64 { return math.Float64frombits(v.bits) }

func (v Value) str() string {
	if v.kind != String {
		return ""
	}
	return unsafe.String((*byte)(v.ref), int(v.bits))
}

func (v Value) list() *list {
	if v.kind != List {
		return nil
	}
	return (*list)(v.ref)
}

func (v Value) frame() *frame {
	if v.kind != Ad {
		return nil
	}
	return (*frame)(v.ref)
}

func (v Value) expr() *Expr {
	if v.kind != deferred {
		return nil
	}
	return (*Expr)(v.ref)
}

// IsTrue reports whether the value counts as true in a match: the boolean true or a number other
// than zero.
func (v Value) IsTrue() bool { return truthOf(v) == yes }

// Int returns the value of an integer. The second result is false for other kinds, reals and
// booleans included; see [Value.Number].
func (v Value) Int() (int64, bool) {
	if v.kind != Integer {
		return 0, false
	}
	return v.asInt(), true
}

// Number returns the value of an integer or a real; false for other kinds.
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

// Bool returns the value of a boolean. ok is false for other kinds, numbers included; see
// [Value.IsTrue].
func (v Value) Bool() (value, ok bool) {
	return v.bits != 0 && v.kind == Boolean, v.kind == Boolean
}

// Text returns the bytes of a string; false for other kinds.
func (v Value) Text() (string, bool) { return v.str(), v.kind == String }

// Items evaluates the elements of a list in the scope in which the list was written; false for
// other kinds. All elements share the steps of one evaluation; when these are used up, the rest is
// error.
func (v Value) Items() ([]Value, bool) {
	l := v.list()
	if l == nil {
		return nil, false
	}
	items, steps := make([]Value, l.len()), 0
	scope := Scope{Host: l.host, Strict: l.strict, MaxSteps: l.maxSteps}
	for i := range items {
		m := newMatching(scope)
		m.spend(steps)
		v := l.at(&m.evaluator, i)
		steps = m.maxSteps - m.steps
		items[i] = m.finish(v)
	}
	l.meter.count(scope.maxSteps(), scope.maxSteps()-steps)
	return items, true
}

// Ad returns a copy of an ad; false for other kinds. The expressions keep their text, but their
// names are no longer looked up in the ads around the original.
func (v Value) Ad() (*ClassAd, bool) {
	f := v.frame()
	if f == nil {
		return nil, false
	}
	return &ClassAd{record: f.attributes().clone()}, true
}

// String returns the canonical printed form: integers in decimal, reals as %1.15E, strings in
// quotes, the contents of lists and ads as unevaluated expressions.
func (v Value) String() string { return string(v.append(nil, ast.Canonical)) }

// append appends the printed form in the style [ast.Canonical] or [ast.Line].
func (v Value) append(b []byte, style ast.Style) []byte {
	switch v.kind {
	case List:
		return v.list().append(b, style)
	case Boolean:
		return strconv.AppendBool(b, v.bits != 0)
	case Integer:
		return strconv.AppendInt(b, v.asInt(), 10)
	case Real:
		return ast.AppendReal(b, v.asReal(), style)
	case String:
		return ast.AppendString(b, v.str(), style)
	default:
		return ast.Append(b, v.tree(), style)
	}
}

// tree returns the value as an expression. Values that were computed inside lists become constants.
func (v Value) tree() ast.Expr {
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
	case List:
		return v.list().tree()
	case Ad:
		return v.frame().attributes().tree()
	case deferred:
		return v.expr().tree
	default:
		return ast.NewKeyword(0, ast.Undefined)
	}
}

// literal returns the value of a constant.
func literal(l *ast.Literal) Value {
	switch l.Kind {
	case ast.Error:
		return errorValue
	case ast.Boolean:
		return boolean(l.Int != 0)
	case ast.Integer:
		return integer(l.Int)
	case ast.Real:
		return realValue(l.Real)
	case ast.String:
		return text(l.Text)
	case ast.AbsTime:
		return absTime(l.Int, int(l.Offset))
	case ast.RelTime:
		return realValue(l.Real) // not a relative time: as in HTCondor
	default:
		return undefined
	}
}

// list is the content of a list value: expressions with the place where they are evaluated, or
// computed values.
type list struct {
	written  *listCode // nil for computed values
	values   []Value
	frame    *frame
	host     *Host
	meter    *Meter
	strict   bool
	maxSteps int
}

// adOfValues returns an ad with these names and values, which must not be lists or ads.
func adOfValues(names []string, values []Value) Value {
	var ad record
	for i, name := range names {
		ad.set(newName(name), values[i])
	}
	return adOf(&frame{ad: &ad})
}

// listOfValues returns a list of computed values.
func listOfValues(values []Value) Value { return listOf(&list{values: values}) }

func (l *list) len() int {
	if l.written != nil {
		return len(l.written.elems)
	}
	return len(l.values)
}

func (l *list) at(ev *evaluator, i int) Value { return l.in(ev, i, l.frame) }

// in evaluates element i with its names looked up in the ad f. An element that is itself a list or
// an ad is evaluated in the ad in which l was written instead.
func (l *list) in(ev *evaluator, i int, f *frame) Value {
	if l.written == nil {
		return l.values[i]
	}
	switch l.written.elems[i].(type) {
	case *listCode, *recordCode:
		f = l.frame
	}
	// Taking an element does not count as a reference, so a list that contains itself would never
	// end.
	height := l.written.tree.Elems[i].Height()
	if ev.depth += height; ev.depth > maxDepth || ev.failed {
		return ev.fail()
	}
	v := l.written.elems[i].eval(ev, f)
	ev.depth -= height
	return v
}

func (l *list) append(b []byte, style ast.Style) []byte {
	if l.written != nil {
		return ast.Append(b, l.written.tree, style)
	}
	b = append(b, "{ "...)
	for i, v := range l.values {
		if i > 0 {
			b = append(b, ',')
		}
		b = v.append(b, style)
	}
	return append(b, " }"...)
}

func (l *list) tree() ast.Expr {
	if l.written != nil {
		return l.written.tree
	}
	elems := make([]ast.Expr, len(l.values))
	for i, v := range l.values {
		elems[i] = v.tree()
	}
	return ast.NewList(0, elems)
}
