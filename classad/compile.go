package classad

import (
	"slices"
	"sync/atomic"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// program is the code of a whole expression with its costs.
type program struct {
	code   code
	height int                     // its nesting depth
	weight int                     // its number of nodes
	traced atomic.Pointer[program] // the same for a [Steady], once it was asked for
}

// program returns the compiled expression, and compiles it first if necessary. Several goroutines
// may do so at the same time, with the same result.
func (e *Expr) program(functions map[string]*Builtin) *program {
	if p := e.compiled.Load(); p != nil {
		return p
	}
	c := compiler{functions: functions}
	p := &program{code: c.compile(e.tree), height: e.tree.Height()}
	p.weight = c.weight
	e.compiled.Store(p)
	return p
}

type compiler struct {
	functions map[string]*Builtin
	weight    int
	traces    bool // for a [Steady]
}

func (c *compiler) compile(e ast.Expr) code {
	if c.traces {
		return traced(c.plain(e))
	}
	return c.plain(e)
}

func (c *compiler) plain(e ast.Expr) code {
	c.weight++
	if e, ok := e.(*ast.Attr); ok {
		c.weight += len(e.Name) / bytesPerStep
	}
	switch n := e.(type) {
	case *ast.Literal:
		return &constantCode{literal(n)}
	case *ast.Paren:
		return c.plain(n.X)
	case *ast.Attr:
		if n.Absolute {
			return &rootCode{soughtAs(n.Name, n.Key)}
		}
		return &attrCode{soughtAs(n.Name, n.Key)}
	case *ast.Select:
		return c.selection(n)
	case *ast.Index:
		return &indexCode{c.compile(n.X), c.compile(n.Key)}
	case *ast.Unary:
		return constant(&unaryCode{n.Op, c.compile(n.X)})
	case *ast.Binary:
		return c.binary(n)
	case *ast.Cond:
		if n.Then == nil {
			return &elvisCode{c.compile(n.If), c.compile(n.Else)}
		}
		return &condCode{c.compile(n.If), c.compile(n.Then), c.compile(n.Else)}
	case *ast.Call:
		return c.call(n)
	case *ast.List:
		return &listCode{elems: c.all(n.Elems), tree: n}
	case *ast.Record:
		c.weight += n.Len()
		return &recordCode{recordOf(n)}
	}
	return &constantCode{errorValue}
}

func (c *compiler) all(exprs []ast.Expr) []code {
	codes := make([]code, len(exprs))
	for i, e := range exprs {
		codes[i] = c.compile(e)
	}
	return codes
}

func (c *compiler) selection(n *ast.Select) code {
	c.weight += len(n.Name) / bytesPerStep
	x := c.compile(n.X)
	if a, ok := x.(*attrCode); ok && a.name.word.isScope() {
		return &scopedCode{selectCode{x, soughtAs(n.Name, n.Key)}, a.name.word}
	}
	return &selectCode{x, soughtAs(n.Name, n.Key)}
}

func (c *compiler) binary(n *ast.Binary) code {
	switch n.Op {
	case ast.And:
		return &andCode{c.operands(n)}
	case ast.Or:
		return &orCode{c.operands(n)}
	default:
	}
	x, y := c.compile(n.X), c.compile(n.Y)
	switch n.Op {
	case ast.Is, ast.Isnt:
		return &isCode{x, y, n.Op == ast.Isnt}
	case ast.Equal, ast.NotEqual, ast.Less, ast.LessEqual, ast.Greater, ast.GreaterEqual:
		return &compareCode{n.Op, x, y}
	default:
		return constant(&binaryCode{n.Op, x, y})
	}
}

// operands compiles the operands of && or ||, and of the same operator to the left of it. The
// operators to the left weigh as if they were compiled alone.
func (c *compiler) operands(n *ast.Binary) []code {
	reversed := []code{c.compile(n.Y)}
	x := n.X
	for {
		left, ok := x.(*ast.Binary)
		if !ok || left.Op != n.Op {
			break
		}
		c.weight++
		reversed = append(reversed, c.compile(left.Y))
		x = left.X
	}
	reversed = append(reversed, c.compile(x))
	slices.Reverse(reversed)
	return reversed
}

// constant returns the value of an operator with constant operands, such as 15 * 60, as code, so
// that it is computed only once. It returns other code unchanged.
func constant(c code) code {
	isConstant := func(c code) bool { _, ok := c.(*constantCode); return ok }
	switch n := c.(type) {
	case *unaryCode:
		if isConstant(n.x) {
			return &constantCode{n.eval(nil, nil)}
		}
	case *binaryCode:
		if isConstant(n.x) && isConstant(n.y) {
			return &constantCode{n.eval(nil, nil)}
		}
	}
	return c
}

func (c *compiler) call(n *ast.Call) code {
	b := c.functions[n.Key]
	if b == nil || !b.takes(n) {
		return &constantCode{errorValue}
	}
	code := &callCode{builtin: b.spelled(n.Name), exprs: n.Args}
	if len(n.Args) > 0 {
		before := c.weight
		code.args = append(code.args, c.compile(n.Args[0]))
		code.first = c.weight - before
		code.args = append(code.args, c.all(n.Args[1:])...)
	}
	return code
}
