// Package ast holds the syntax tree of a ClassAd expression: one small immutable node type for
// every construct of the language. Each node knows its position in the text and the height of the
// tree below it.
//
// Nodes are made only by the New… functions, which compute the height. Code that builds trees must
// refuse those higher than [MaxHeight], so that printing, walking and evaluating them may recurse.
package ast

// MaxHeight is the maximum height of a tree that a parser may return. It is far beyond anything
// written by hand or by HTCondor's tools, and limits the stack of a recursion over the whole tree
// to a few megabytes.
const MaxHeight = 150_000

// Pos is the byte offset of a node in the text it was parsed from.
type Pos int32

// Expr is a node of the tree. The set of its types is closed: [Literal], [Attr], [Select], [Index],
// [Unary], [Binary], [Cond], [Call], [Paren], [List] and [Record].
//
//sumtype:decl
type Expr interface {
	// Pos returns the offset at which the node begins; for operators, that of the operator.
	Pos() Pos
	// Height returns the length of the longest path down to a leaf; a leaf has 1.
	Height() int
	sealed()
}

// node is the common part of all nodes.
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

// LiteralKind is the type of a constant.
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

// Literal is a constant. Int holds integers, booleans (0 or 1) and absolute times (seconds since
// 1970); Real holds reals and relative times (seconds); Text holds strings.
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

// NewAbsTime makes an instant, given in seconds since 1970, with the offset of its time zone in
// seconds east of Greenwich.
func NewAbsTime(pos Pos, seconds int64, offset int32) *Literal {
	return &Literal{node: above(pos), Kind: AbsTime, Int: seconds, Offset: offset}
}

// NewRelTime makes a span of time.
func NewRelTime(pos Pos, seconds float64) *Literal {
	return &Literal{node: above(pos), Kind: RelTime, Real: seconds}
}

// Attr is a reference by name: a, or .a if Absolute, which is looked up only in the outermost ad.
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

// Call is a function call. Whether the function exists is checked when it is evaluated.
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

// Paren is an expression in parentheses, which are kept so that the printed form has exactly those
// that were written.
type Paren struct {
	node
	X Expr
}

// NewParen makes (x).
func NewParen(pos Pos, x Expr) *Paren {
	return &Paren{node: above(pos, x), X: x}
}

// Bare returns an expression without the parentheses around it.
func Bare(e Expr) Expr {
	for {
		p, ok := e.(*Paren)
		if !ok {
			return e
		}
		e = p.X
	}
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
