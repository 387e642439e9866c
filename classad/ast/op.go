package ast

// Op is a unary or binary operator.
type Op uint8

// The operators. Is and Isnt are =?= and =!=, which may also be written is and isnt.
const (
	NoOp Op = iota
	Or
	And
	BitOr
	BitXor
	BitAnd
	Equal
	NotEqual
	Is
	Isnt
	Less
	LessEqual
	Greater
	GreaterEqual
	ShiftLeft
	ShiftRight
	ShiftRightUnsigned
	Add
	Subtract
	Multiply
	Divide
	Modulo
	Not
	Complement
)

// operators is indexed by Op. A precedence of 0 means that the operator is not binary.
var operators = [...]struct {
	symbol     string
	precedence int
}{
	NoOp:               {"", 0},
	Or:                 {"||", 1},
	And:                {"&&", 2},
	BitOr:              {"|", 3},
	BitXor:             {"^", 4},
	BitAnd:             {"&", 5},
	Equal:              {"==", 6},
	NotEqual:           {"!=", 6},
	Is:                 {"=?=", 6},
	Isnt:               {"=!=", 6},
	Less:               {"<", 7},
	LessEqual:          {"<=", 7},
	Greater:            {">", 7},
	GreaterEqual:       {">=", 7},
	ShiftLeft:          {"<<", 8},
	ShiftRight:         {">>", 8},
	ShiftRightUnsigned: {">>>", 8},
	Add:                {"+", 9},
	Subtract:           {"-", 9},
	Multiply:           {"*", 10},
	Divide:             {"/", 10},
	Modulo:             {"%", 10},
	Not:                {"!", 0},
	Complement:         {"~", 0},
}

// String returns the operator as it is written in lines "name = expression".
func (o Op) String() string { return operators[o].symbol }

// Precedence returns how tightly a binary operator binds: higher is tighter, and 0 means that it is
// not binary. All binary operators associate to the left.
func (o Op) Precedence() int { return operators[o].precedence }

// bySymbol is never changed.
var bySymbol = func() map[string]Op {
	m := make(map[string]Op, len(operators))
	for op := Or; int(op) < len(operators); op++ {
		m[operators[op].symbol] = op
	}
	return m
}()

// OpOf returns the operator with this symbol, or [NoOp] if there is none.
func OpOf(symbol string) Op { return bySymbol[symbol] }
