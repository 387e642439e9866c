package classad

import (
	"slices"
	"sync/atomic"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// Missing says how a function treats arguments that are undefined or error.
type Missing uint8

const (
	// MissingPasses means that the result is error if an argument is error, else undefined if one
	// is undefined.
	MissingPasses Missing = iota
	// MissingFails means that the result is error in both cases.
	MissingFails
	// UndefinedFirst means that the result is undefined if an argument is undefined, else error if
	// one is error.
	UndefinedFirst
	// MissingAllowed means that the function itself decides.
	MissingAllowed
)

// anyNumber as MaxArgs means that there is no limit.
const anyNumber = -1

// Builtin describes a function of the language. Names are compared ignoring case.
type Builtin struct {
	Name             string
	MinArgs, MaxArgs int // MaxArgs is -1 if there is no limit; another number of arguments is error
	Missing          Missing
	Lazy             bool   // it decides itself which arguments to evaluate
	Condor           bool   // HTCondor adds it to the language; it does not exist in strict mode
	Context          bool   // its value depends on more than its arguments: names, the host or a time zone
	Exact            bool   // any other spelling gives error: a defect of HTCondor on which matches depend
	Doc              string // one sentence
	Example          string // an expression that is true

	fn func(call) Value
}

// Builtins returns the functions of the language, by name.
func Builtins() []Builtin {
	all := slices.Concat(typeBuiltins, listBuiltins, stringBuiltins, stringListBuiltins, mathBuiltins, contextBuiltins,
		otherBuiltins, timeBuiltins, regexpBuiltins, stringListNumberBuiltins, environmentBuiltins,
		hostBuiltins, treeBuiltins)
	slices.SortFunc(all, func(a, b Builtin) int { return compareFold(a.Name, b.Name) })
	return all
}

// builtins is never changed. Evaluators refer to it through a field, because Go would otherwise see
// an initialization cycle of functions that call functions by name.
var builtins = byName(Builtins())

func byName(all []Builtin) map[string]*Builtin {
	m := make(map[string]*Builtin, len(all))
	for i := range all {
		m[ast.Fold(all[i].Name)] = &all[i]
	}
	return m
}

// takes reports whether the function accepts the number of arguments of the call.
func (b *Builtin) takes(n *ast.Call) bool {
	return len(n.Args) >= b.MinArgs && (b.MaxArgs == anyNumber || len(n.Args) <= b.MaxArgs)
}

// spelled returns the function to call under this spelling: the function itself, or one that always
// returns error if the spelling must be exact and is not.
func (b *Builtin) spelled(name string) *Builtin {
	if !b.Exact || name == b.Name {
		return b
	}
	other := *b
	other.fn = func(call) Value { return errorValue }
	return &other
}

// callCode is a call of an existing function with a number of arguments that it accepts.
type callCode struct {
	builtin *Builtin
	args    []code
	first   int // the weight of the first argument, which some functions evaluate many times
	exprs   []ast.Expr
	memo    memo
}

// memo caches one result of a call, such as a compiled pattern, for its last argument.
type memo struct{ last atomic.Pointer[memory] }

type memory struct {
	key   memoKey
	value any
}

// memoKey is everything that the cached value depends on.
type memoKey struct{ argument, options string }

func (m *memo) get(key memoKey) any {
	if last := m.last.Load(); last != nil && last.key == key {
		return last.value
	}
	return nil
}

func (m *memo) put(key memoKey, value any) { m.last.Store(&memory{key, value}) }

// eval implements [code].
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

// call is a function call in progress.
type call struct {
	ev    *evaluator
	frame *frame
	code  *callCode
	args  []Value // nil for a lazy function
}

// eval evaluates an argument of a lazy function.
func (c call) eval(i int) Value { return c.code.args[i].eval(c.ev, c.frame) }

// text converts an argument as textOf does and charges steps for it. If the steps do not suffice,
// the evaluation fails and the text is empty.
func (c call) text(i int) string { return c.ev.textOf(c.args[i]) }

// each calls yield with the value of one element of a list after the other, until yield returns
// false or the steps run out. It returns false if v is not a list. As in HTCondor, names in the
// elements are looked up in the ad of the call, wherever the list was written.
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

// of returns the result of a call if undefined or error arguments decide it, else false.
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
