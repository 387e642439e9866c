package classad

import (
	"slices"
	"sync/atomic"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// Missing says what a function makes of arguments that are undefined or error.
type Missing uint8

const (
	// MissingPasses gives error if an argument is error, else undefined if one is undefined.
	MissingPasses Missing = iota
	// MissingFails gives error in both cases.
	MissingFails
	// UndefinedFirst gives undefined if an argument is undefined, else error if one is error.
	UndefinedFirst
	// MissingAllowed leaves it to the function.
	MissingAllowed
)

// anyNumber as MaxArgs means that there is no limit.
const anyNumber = -1

// Builtin describes a function of the language. Names are compared ignoring case.
type Builtin struct {
	Name             string
	MinArgs, MaxArgs int // MaxArgs is -1 if there is no limit; another number of arguments is error
	Missing          Missing
	Lazy             bool   // it evaluates its arguments itself, or not
	Condor           bool   // HTCondor adds it to the language: in strict mode it is unknown
	Context          bool   // its value depends on more than those of its arguments: names, the host or a zone
	Exact            bool   // it is known by this spelling only: a defect of the reference on which matches depend
	Doc              string // one sentence
	Example          string // an expression that is true

	fn func(call) Value
}

// Builtins are the functions of the language, by name.
func Builtins() []Builtin {
	all := slices.Concat(typeBuiltins, listBuiltins, stringBuiltins, stringListBuiltins, mathBuiltins, contextBuiltins,
		otherBuiltins, timeBuiltins, regexpBuiltins, stringListNumberBuiltins, environmentBuiltins, hostBuiltins, treeBuiltins)
	slices.SortFunc(all, func(a, b Builtin) int { return compareFold(a.Name, b.Name) })
	return all
}

// builtins is never changed. Evaluators refer to it through a field, which also keeps Go from seeing a circle of
// functions that call functions by name.
var builtins = byName(Builtins())

func byName(all []Builtin) map[string]*Builtin {
	m := make(map[string]*Builtin, len(all))
	for i := range all {
		m[ast.Fold(all[i].Name)] = &all[i]
	}
	return m
}

// takes tells whether the function can be called in this way.
func (b *Builtin) takes(n *ast.Call) bool {
	return len(n.Args) >= b.MinArgs && (b.MaxArgs == anyNumber || len(n.Args) <= b.MaxArgs)
}

// spelled is what the function is under this name.
func (b *Builtin) spelled(name string) *Builtin {
	if !b.Exact || name == b.Name {
		return b
	}
	other := *b
	other.fn = func(call) Value { return errorValue }
	return &other
}

// callCode is a call of a function that exists, with a number of arguments that it takes.
type callCode struct {
	builtin *Builtin
	args    []code
	exprs   []ast.Expr
	memo    memo
}

// memo is what a call has made of its last argument that was worth keeping.
type memo struct{ last atomic.Pointer[memory] }

type memory struct {
	key   memoKey
	value any
}

// memoKey is the argument, and what else the value depends on.
type memoKey struct{ argument, options string }

func (m *memo) get(key memoKey) any {
	if last := m.last.Load(); last != nil && last.key == key {
		return last.value
	}
	return nil
}

func (m *memo) put(key memoKey, value any) { m.last.Store(&memory{key, value}) }

// eval implements code.
func (n *callCode) eval(ev *evaluator, f *frame) Value {
	if ev.failed || ev.strict && n.builtin.Condor {
		return errorValue
	}
	c := call{ev: ev, frame: f, code: n}
	ev.outside = ev.outside || n.builtin.Context
	if n.builtin.Lazy {
		return n.builtin.fn(c)
	}
	base := len(ev.args)
	for _, a := range n.args {
		v := a.eval(ev, f)
		ev.args = append(ev.args, v)
	}
	c.args = ev.args[base:]
	v, missing := n.builtin.Missing.of(c.args)
	if !missing {
		v = n.builtin.fn(c)
	}
	ev.args = ev.args[:base]
	return v
}

// call is a function call under way.
type call struct {
	ev    *evaluator
	frame *frame
	code  *callCode
	args  []Value // nil for a lazy function
}

// eval evaluates an argument of a lazy function.
func (c call) eval(i int) Value { return c.code.args[i].eval(c.ev, c.frame) }

// text converts an argument, as textOf does, and pays for it. When that cannot be paid, the text is empty and the
// evaluation has failed.
func (c call) text(i int) string { return c.ev.textOf(c.args[i]) }

// each evaluates the elements of a list, one after the other, until yield has enough. It is false if v is not a list. As
// in the reference names in the elements are looked up where the call stands, wherever the list does.
func (c call) each(v Value, yield func(Value) bool) bool {
	l := v.list()
	if l == nil {
		return false
	}
	for i := range l.len() {
		if !c.ev.spend(1) || !yield(l.in(c.ev, i, c.frame)) {
			break
		}
	}
	return true
}

// of gives the result if it is decided by an argument that is missing.
func (m Missing) of(args []Value) (Value, bool) {
	if m == MissingAllowed {
		return undefined, false
	}
	errors, undefineds := 0, 0
	for _, a := range args {
		switch a.kind {
		case Error:
			errors++
		case Undefined:
			undefineds++
		default:
		}
	}
	switch {
	case errors+undefineds == 0:
		return undefined, false
	case m == MissingFails, errors > 0 && (m != UndefinedFirst || undefineds == 0):
		return errorValue, true
	default:
		return undefined, true
	}
}
