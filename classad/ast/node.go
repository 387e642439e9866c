// Package ast holds the tree of a ClassAd expression: one small immutable node type for every construct of the
// language, each knowing where it was written and how deep the tree below it is.
//
// Nodes are made by their New… functions only, which keep the height. Whoever builds trees refuses those higher than
// [MaxHeight], so that printing, walking and evaluating them may simply recurse.
package ast

// MaxHeight is the greatest height of a tree that a parser may hand out. It is far beyond anything written by hand or
// by HTCondor's tools and keeps a recursion over the whole tree within a few megabytes of stack.
const MaxHeight = 150_000

// Pos is the byte offset of a node in the text it was parsed from.
type Pos int32

// Expr is a node of the tree. The set of its types is closed: [Literal], [Attr], [Select], [Index], [Unary],
// [Binary], [Cond], [Call], [Paren], [List] and [Record].
//
//sumtype:decl
type Expr interface {
	// Pos says where the node begins; for operators it is the place of the operator.
	Pos() Pos
	// Height is the length of the longest path down to a leaf; a leaf has 1.
	Height() int
	sealed()
}

// node is what all nodes have in common.
type node struct {
	pos    Pos
	height int32
}

// Pos implements [Expr].
func (n *node) Pos() Pos { return n.pos }

// Height implements [Expr].
func (n *node) Height() int { return int(n.height) }

func above(pos Pos, children ...Expr) node {
	n := node{pos: pos, height: 1}
	for _, c := range children {
		n.raise(c)
	}
	return n
}

func (n *node) raise(child Expr) {
	n.height = max(n.height, int32(child.Height())+1)
}

// LiteralKind tells the kinds of constants apart.
type LiteralKind uint8

// The kinds of constants.
const (
	Undefined LiteralKind = iota
	Error
	Boolean
	Integer
	Real
	String
	AbsTime
	RelTime
)

// Literal is a constant. Integers, booleans (0 or 1) and the seconds since 1970 of an absolute time are in Int, reals
// and the seconds of a relative time in Real, strings in Text.
type Literal struct {
	node
	Kind   LiteralKind
	Offset int32 // of the time zone of an absolute time, in seconds east of Greenwich
	Int    int64
	Real   float64
	Text   string
}

// NewKeyword makes the constant undefined or error.
func NewKeyword(pos Pos, kind LiteralKind) *Literal {
	return &Literal{node: above(pos), Kind: kind}
}

// NewBool makes the constant true or false.
func NewBool(pos Pos, b bool) *Literal {
	l := &Literal{node: above(pos), Kind: Boolean}
	if b {
		l.Int = 1
	}
	return l
}

// NewInt makes an integer constant.
func NewInt(pos Pos, i int64) *Literal {
	return &Literal{node: above(pos), Kind: Integer, Int: i}
}

// NewReal makes a real constant.
func NewReal(pos Pos, r float64) *Literal {
	return &Literal{node: above(pos), Kind: Real, Real: r}
}

// NewString makes a string constant of these bytes.
func NewString(pos Pos, s string) *Literal {
	return &Literal{node: above(pos), Kind: String, Text: s}
}

// NewAbsTime makes an instant, in seconds since 1970, as a clock shows it that is offset seconds ahead of Greenwich.
func NewAbsTime(pos Pos, seconds int64, offset int32) *Literal {
	return &Literal{node: above(pos), Kind: AbsTime, Int: seconds, Offset: offset}
}

// NewRelTime makes a span of time.
func NewRelTime(pos Pos, seconds float64) *Literal {
	return &Literal{node: above(pos), Kind: RelTime, Real: seconds}
}

// Attr is a reference by name: a, or .a when Absolute, which asks the outermost ad only.
type Attr struct {
	node
	Name     string // as written
	Key      string // see [Fold]
	Absolute bool
}

// NewAttr makes a reference by name.
func NewAttr(pos Pos, name string, absolute bool) *Attr {
	return &Attr{node: above(pos), Name: name, Key: Fold(name), Absolute: absolute}
}

// Select is X.Name.
type Select struct {
	node
	X    Expr
	Name string
	Key  string // see [Fold]
}

// NewSelect makes x.name.
func NewSelect(pos Pos, x Expr, name string) *Select {
	return &Select{node: above(pos, x), X: x, Name: name, Key: Fold(name)}
}

// Index is X[Key].
type Index struct {
	node
	X, Key Expr
}

// NewIndex makes x[key].
func NewIndex(pos Pos, x, key Expr) *Index {
	return &Index{node: above(pos, x, key), X: x, Key: key}
}

// Unary is an operator before its operand.
type Unary struct {
	node
	Op Op
	X  Expr
}

// NewUnary makes op x.
func NewUnary(pos Pos, op Op, x Expr) *Unary {
	return &Unary{node: above(pos, x), Op: op, X: x}
}

// Binary is an operator between its operands.
type Binary struct {
	node
	Op   Op
	X, Y Expr
}

// NewBinary makes x op y.
func NewBinary(pos Pos, op Op, x, y Expr) *Binary {
	return &Binary{node: above(pos, x, y), Op: op, X: x, Y: y}
}

// Cond is If ? Then : Else, or If ?: Else when Then is nil.
type Cond struct {
	node
	If, Then, Else Expr
}

// NewCond makes a conditional; a nil then makes cond ?: otherwise.
func NewCond(pos Pos, cond, then, otherwise Expr) *Cond {
	c := &Cond{node: above(pos, cond, otherwise), If: cond, Then: then, Else: otherwise}
	if then != nil {
		c.raise(then)
	}
	return c
}

// Call is a function call. Whether there is such a function shows when it is evaluated.
type Call struct {
	node
	Name string // as written
	Key  string // see [Fold]
	Args []Expr
}

// NewCall makes name(args…).
func NewCall(pos Pos, name string, args []Expr) *Call {
	return &Call{node: above(pos, args...), Name: name, Key: Fold(name), Args: args}
}

// Paren is an expression in parentheses: they are kept because the printed form has exactly those that were written.
type Paren struct {
	node
	X Expr
}

// NewParen makes (x).
func NewParen(pos Pos, x Expr) *Paren {
	return &Paren{node: above(pos, x), X: x}
}

// List is { Elems… }.
type List struct {
	node
	Elems []Expr
}

// NewList makes { elems… }.
func NewList(pos Pos, elems []Expr) *List {
	return &List{node: above(pos, elems...), Elems: elems}
}

func (*Literal) sealed() {}
func (*Attr) sealed()    {}
func (*Select) sealed()  {}
func (*Index) sealed()   {}
func (*Unary) sealed()   {}
func (*Binary) sealed()  {}
func (*Cond) sealed()    {}
func (*Call) sealed()    {}
func (*Paren) sealed()   {}
func (*List) sealed()    {}
func (*Record) sealed()  {}
