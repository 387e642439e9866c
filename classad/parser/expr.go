package parser

import (
	"math"
	"slices"
	"strconv"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// expression parses a conditional, or an expression of operators that bind tighter. Constructs that
// may repeat without brackets are parsed in loops, so that the depth of the recursion is limited by
// the brackets, which the lexer counts.
func (g *grammar) expression(tokens *lexer.PeekingLexer) (ast.Expr, error) {
	type branch struct {
		pos        ast.Pos
		cond, then ast.Expr
	}
	var branches []branch
	e, err := g.binary(tokens, 1)
	for err == nil && isPunct(tokens.Peek(), "?") {
		b := branch{pos: position(tokens.Next()), cond: e}
		if !isPunct(tokens.Peek(), ":") {
			if b.then, err = g.expression(tokens); err != nil {
				return nil, err
			}
		}
		if err = expect(tokens, ":"); err != nil {
			return nil, err
		}
		if branches = append(branches, b); len(branches) > maxNesting {
			return nil, errorAt(b.pos, tooDeep)
		}
		e, err = g.binary(tokens, 1)
	}
	if err != nil {
		return nil, err
	}
	for _, b := range slices.Backward(branches) {
		e = ast.NewCond(b.pos, b.cond, b.then, e)
	}
	return limited(e)
}

// binary parses an expression of binary operators whose precedence is loosest or higher.
func (g *grammar) binary(tokens *lexer.PeekingLexer, loosest int) (ast.Expr, error) {
	x, err := g.unary(tokens)
	if err != nil {
		return nil, err
	}
	for {
		t := tokens.Peek()
		op := ast.NoOp
		if t.Type == punct {
			op = ast.OpOf(t.Value)
		}
		if op.Precedence() < loosest {
			return x, nil
		}
		tokens.Next()
		y, err := g.binary(tokens, op.Precedence()+1)
		if err != nil {
			return nil, err
		}
		if x, err = limited(ast.NewBinary(position(t), op, x, y)); err != nil {
			return nil, err
		}
	}
}

// unary parses any number of prefix operators and their operand. A minus directly before a number
// is part of the number.
func (g *grammar) unary(tokens *lexer.PeekingLexer) (ast.Expr, error) {
	var operators []*lexer.Token
	for isPunct(tokens.Peek(), "-", "+", "!", "~") {
		operators = append(operators, tokens.Next())
	}
	var sign *lexer.Token
	if last := len(operators) - 1; last >= 0 && touches(operators[last], tokens.Peek()) {
		sign, operators = operators[last], operators[:last]
	}
	x, err := g.operand(tokens, sign)
	for i := len(operators) - 1; i >= 0 && err == nil; i-- {
		x, err = limited(ast.NewUnary(position(operators[i]), ast.OpOf(operators[i].Value), x))
	}
	return x, err
}

func leadingZero(t *lexer.Token) bool {
	return t.Type == integer && len(t.Value) > 1 && t.Value[0] == '0'
}

func touches(op, next *lexer.Token) bool {
	return op.Value == "-" && (next.Type == integer || next.Type == floating) && next.Pos.Offset == op.Pos.Offset+1
}

// operand parses a constant, name, call or bracket with the selections and subscripts after it.
// sign is the minus directly before a number, or nil.
func (g *grammar) operand(tokens *lexer.PeekingLexer, sign *lexer.Token) (ast.Expr, error) {
	x, err := g.primary(tokens, sign)
	for err == nil {
		t := tokens.Peek()
		switch {
		case isPunct(t, "."):
			tokens.Next()
			name := tokens.Peek()
			if name.Type != ident && name.Type != quoted {
				return nil, unexpected(name, "a name")
			}
			x, err = limited(ast.NewSelect(position(t), x, tokens.Next().Value))
		case isPunct(t, "["):
			tokens.Next()
			var key ast.Expr
			if key, err = g.expression(tokens); err != nil {
				return nil, err
			}
			if err = expect(tokens, "]"); err == nil {
				x, err = limited(ast.NewIndex(position(t), x, key))
			}
		default:
			return x, nil
		}
	}
	return nil, err
}

func (g *grammar) primary(tokens *lexer.PeekingLexer, sign *lexer.Token) (ast.Expr, error) {
	t := tokens.Peek()
	switch t.Type {
	case keyword, integer, floating, text:
		tokens.Next()
		if sign == nil && !g.lexer.Strict && leadingZero(t) {
			// -017 is accepted, as in HTCondor
			return nil, errorAt(position(t), "integer "+t.Value+" begins with 0")
		}
		return literal(t, sign), nil
	case ident, quoted:
		tokens.Next()
		if isPunct(tokens.Peek(), "(") {
			args, err := g.elements(tokens, ")", inArguments)
			if err != nil {
				return nil, err
			}
			if constant, err := timeConstant(t, args); constant != nil || err != nil {
				return constant, err
			}
			return limited(ast.NewCall(position(t), t.Value, args))
		}
		return ast.NewAttr(position(t), t.Value, false), nil
	case punct:
		return g.bracketed(tokens)
	default:
		return nil, unexpected(t, "an expression")
	}
}

func (g *grammar) bracketed(tokens *lexer.PeekingLexer) (ast.Expr, error) {
	t := tokens.Peek()
	switch t.Value {
	case "(":
		tokens.Next()
		x, err := g.expression(tokens)
		if err != nil {
			return nil, err
		}
		if err := expect(tokens, ")"); err != nil {
			return nil, err
		}
		return limited(ast.NewParen(position(t), x))
	case "{":
		elems, err := g.elements(tokens, "}", inList)
		if err != nil {
			return nil, err
		}
		return limited(ast.NewList(position(t), elems))
	case "[":
		r, err := g.record.ParseFromLexer(tokens, participle.AllowTrailing(true))
		if err != nil {
			return nil, located(err, inRecord)
		}
		return r.build()
	case ".":
		tokens.Next()
		name := tokens.Peek()
		if name.Type != ident && name.Type != quoted {
			return nil, unexpected(name, "a name")
		}
		return ast.NewAttr(position(t), tokens.Next().Value, true), nil
	default:
		return nil, unexpected(t, "an expression")
	}
}

// elements parses the elements of a list or the arguments of a call, with the brackets around them.
// A comma at the end is an error. As in HTCondor, semicolons may separate arguments, too.
func (g *grammar) elements(tokens *lexer.PeekingLexer, end, expected string) (all []ast.Expr, err error) {
	tokens.Next()
	first := tokens.Peek()
	if isPunct(first, end) {
		tokens.Next()
		return nil, nil
	}
	for {
		e, err := g.expression(tokens)
		if err != nil {
			if tokens.Peek() == first {
				return nil, unexpected(first, expected)
			}
			return nil, err
		}
		all = append(all, e)
		switch t := tokens.Peek(); {
		case isPunct(t, end):
			tokens.Next()
			return all, nil
		case isPunct(t, ","), end == ")" && isPunct(t, ";"):
			tokens.Next()
		default:
			return nil, unexpected(t, expected)
		}
	}
}

// literal makes a constant of a token, with the minus before it unless sign is nil. As in HTCondor,
// a hexadecimal integer or one beyond 64 bits is 0, and a real out of range is infinite.
func literal(t, sign *lexer.Token) ast.Expr {
	pos, digits := position(t), t.Value
	if sign != nil {
		pos, digits = position(sign), "-"+digits
	}
	switch t.Type {
	default:
		return constant(pos, t.Value)
	case integer:
		i, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			i = 0
		}
		return ast.NewInt(pos, i)
	case floating:
		r, err := ast.ParseReal(digits)
		if err != nil && !math.IsInf(r, 0) {
			r = 0
		}
		return ast.NewReal(pos, r)
	case text:
		return ast.NewString(pos, t.Value)
	}
}

// constant returns the literal of a keyword.
func constant(pos ast.Pos, word string) ast.Expr {
	switch word {
	case "true", "false":
		return ast.NewBool(pos, word == "true")
	case "error":
		return ast.NewKeyword(pos, ast.Error)
	default:
		return ast.NewKeyword(pos, ast.Undefined)
	}
}

// limited returns the tree, or an error if it is too high.
func limited(e ast.Expr) (ast.Expr, error) {
	if e.Height() > ast.MaxHeight {
		return nil, errorAt(e.Pos(), tooDeep)
	}
	return e, nil
}

func expect(tokens *lexer.PeekingLexer, symbol string) error {
	if t := tokens.Peek(); !isPunct(t, symbol) {
		return unexpected(t, strconv.Quote(symbol))
	}
	tokens.Next()
	return nil
}

func isPunct(t *lexer.Token, symbols ...string) bool {
	if t.Type != punct {
		return false
	}
	return slices.Contains(symbols, t.Value)
}

func position(t *lexer.Token) ast.Pos { return ast.Pos(t.Pos.Offset) }
