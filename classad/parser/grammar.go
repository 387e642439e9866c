// Package parser turns the text of ClassAds into trees.
//
// It has three parts: a hand-written lexer (lexer.go), participle, a parser library, for ads in
// brackets (this file), and one precedence-climbing function for expressions (expr.go). Participle
// calls that function for every expression, and the function calls participle for every ad.
package parser

import (
	"sync"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// record is an ad. Semicolons may be repeated and come before the first attribute, but an ad of
// semicolons alone is an error.
type record struct {
	Pos   lexer.Position
	Attrs []attribute `parser:"'[':Punct ( ';':Punct* @@ (?= ';':Punct | ']':Punct ) ';':Punct* )* ']':Punct"`
}

type attribute struct {
	Pos   lexer.Position
	Name  string   `parser:"@(Ident | Quoted) '=':Punct"`
	Value ast.Expr `parser:"@@"`
}

// What may follow in ads, lists and calls, for error messages.
const (
	inRecord    = `an attribute, ";" or "]"`
	inList      = `an expression, "," or "}"`
	inArguments = `an expression, "," or ")"`
)

// Syntax is a variant of the syntax of expressions. The zero value is that of bracket ads as
// HTCondor's programs read them.
type Syntax struct {
	Lines  bool // the right side of a line: \" is the only escape in strings
	Strict bool // without HTCondor's additions: integers may begin with 0, only commas separate arguments
}

// grammar is the set of parsers for one syntax. It does not change after it was built.
type grammar struct {
	lexer  definition
	record *participle.Parser[record]
}

// grammars makes, at the first use, the grammars of bracket ads and of lines, each normal and
// strict.
var grammars = [...]func() *grammar{
	sync.OnceValue(func() *grammar { return newGrammar(definition{}) }),
	sync.OnceValue(func() *grammar { return newGrammar(definition{Lines: true}) }),
	sync.OnceValue(func() *grammar { return newGrammar(definition{Strict: true}) }),
	sync.OnceValue(func() *grammar { return newGrammar(definition{Lines: true, Strict: true}) }),
}

func (s Syntax) grammar() *grammar {
	i := 0
	if s.Lines {
		i++
	}
	if s.Strict {
		i += 2
	}
	return grammars[i]()
}

func newGrammar(lex definition) *grammar {
	g := &grammar{lexer: lex}
	options := []participle.Option{participle.Lexer(lex), participle.ParseTypeWith(g.expression)}
	g.record = participle.MustBuild[record](options...)
	return g
}

// Ad parses the text of one ad in brackets. Errors are of type [*Error].
func (s Syntax) Ad(src string) (*ast.Record, error) {
	r, err := s.grammar().record.ParseString("", src)
	if err != nil {
		return nil, located(err, inRecord)
	}
	return r.build()
}

// Expr parses an expression. Errors are of type [*Error].
func (s Syntax) Expr(src string) (ast.Expr, error) { return s.grammar().whole(src, false) }

// Part parses an expression that was cut out of an ad. Unlike [Syntax.Expr], which ignores what
// follows a conditional, it refuses that. Errors are of type [*Error].
func (s Syntax) Part(src string) (ast.Expr, error) { return s.grammar().whole(src, true) }

// Prefix parses the expression at the start of the text and ignores what follows, as HTCondor does
// for lines and XML. It returns where that begins as well. Errors are of type [*Error].
func (s Syntax) Prefix(src string) (e ast.Expr, end int, err error) {
	g := s.grammar()
	tokens, err := g.tokens(src)
	if err != nil {
		return nil, 0, err
	}
	if e, err = g.expression(tokens); err != nil {
		return nil, 0, err
	}
	if next := tokens.Peek(); !next.EOF() {
		return e, next.Pos.Offset, nil
	}
	return e, len(src), nil
}

// Ad parses the text of one ad in brackets. Errors are of type [*Error].
func Ad(src string) (*ast.Record, error) { return Syntax{}.Ad(src) }

// Expr parses an expression in the syntax of bracket ads. Errors are of type [*Error].
func Expr(src string) (ast.Expr, error) { return Syntax{}.Expr(src) }

// LineExpr parses an expression in the syntax of the right side of a line. Errors are of type
// [*Error].
func LineExpr(src string) (ast.Expr, error) { return Syntax{Lines: true}.Expr(src) }

// LinePrefix is [Syntax.Prefix] for the right side of a line.
func LinePrefix(src string) (ast.Expr, error) {
	e, _, err := Syntax{Lines: true}.Prefix(src)
	return e, err
}

func (g *grammar) tokens(src string) (*lexer.PeekingLexer, error) {
	lex, err := g.lexer.LexString("", src)
	if err != nil {
		return nil, err
	}
	return lexer.Upgrade(lex)
}

func (g *grammar) whole(src string, part bool) (ast.Expr, error) {
	tokens, err := g.tokens(src)
	if err != nil {
		return nil, err
	}
	e, err := g.expression(tokens)
	if err != nil {
		return nil, err
	}
	if _, ok := e.(*ast.Cond); ok && !part {
		return e, nil // HTCondor ignores what follows a conditional
	}
	if next := tokens.Peek(); !next.EOF() {
		return nil, unexpected(next, "an operator or the end")
	}
	return e, nil
}

func (r *record) build() (*ast.Record, error) {
	out := ast.NewRecord(ast.Pos(r.Pos.Offset))
	for _, a := range r.Attrs {
		if a.Name == "" {
			return nil, errorAt(ast.Pos(a.Pos.Offset), "attribute without a name")
		}
		out.Set(a.Name, a.Value)
	}
	if out.Height() > ast.MaxHeight {
		return nil, errorAt(out.Pos(), tooDeep)
	}
	return out, nil
}
