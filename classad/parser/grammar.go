// Package parser turns the text of ClassAds into trees.
//
// Three parts divide the work: a hand-written lexer (lexer.go), participle for everything in brackets with a separator
// (this file) and one precedence-climbing function for expressions (expr.go). They call each other: participle hands
// every expression to the third, which hands every ad, list and argument list back.
package parser

import (
	"sync"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// record is an ad; semicolons may be repeated and stand first, but not alone.
type record struct {
	Pos   lexer.Position
	Attrs []attribute `parser:"'[':Punct ( ';':Punct* @@ (?= ';':Punct | ']':Punct ) ';':Punct* )* ']':Punct"`
}

type attribute struct {
	Pos   lexer.Position
	Name  string   `parser:"@(Ident | Quoted) '=':Punct"`
	Value ast.Expr `parser:"@@"`
}

// list is a list; a comma at its end is an error.
type list struct {
	Elems []ast.Expr `parser:"'{':Punct ( @@ ( ',':Punct @@ )* )? '}':Punct"`
}

// arguments may be separated by semicolons too, as in the reference.
type arguments struct {
	Args []ast.Expr `parser:"'(':Punct ( @@ ( ( ',':Punct | ';':Punct ) @@ )* )? ')':Punct"`
}

// What may follow in the three productions, for error messages.
const (
	inRecord    = `an attribute, ";" or "]"`
	inList      = `an expression, "," or "}"`
	inArguments = `an expression, "," or ")"`
)

// Syntax is a way of writing expressions. The zero value is that of ads in brackets, as HTCondor's programs read them.
type Syntax struct {
	Lines  bool // the right side of a line: strings know no escape but \"
	Strict bool // the language without HTCondor's habits: integers may begin with 0, arguments have commas between them
}

// grammar is the set of parsers for one syntax. It does not change after it was built.
type grammar struct {
	lexer     definition
	record    *participle.Parser[record]
	list      *participle.Parser[list]
	arguments *participle.Parser[arguments]
}

// grammars are those of bracket ads and of lines, and both in strict mode.
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
	g.list = participle.MustBuild[list](options...)
	g.arguments = participle.MustBuild[arguments](options...)
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

// Part parses an expression that was cut out of an ad: unlike [Syntax.Expr] it takes nothing behind a conditional.
func (s Syntax) Part(src string) (ast.Expr, error) { return s.grammar().whole(src, true) }

// Prefix parses the expression at the start of the text and ignores what follows, as the reference does when it reads
// lines and XML. Errors are of type [*Error].
func (s Syntax) Prefix(src string) (ast.Expr, error) {
	g := s.grammar()
	tokens, err := g.tokens(src)
	if err != nil {
		return nil, err
	}
	return g.expression(tokens)
}

// Ad parses the text of one ad in brackets. Errors are of type [*Error].
func Ad(src string) (*ast.Record, error) { return Syntax{}.Ad(src) }

// Expr parses an expression as it stands in an ad in brackets. Errors are of type [*Error].
func Expr(src string) (ast.Expr, error) { return Syntax{}.Expr(src) }

// LineExpr parses an expression as it stands on the right side of a line. Errors are of type [*Error].
func LineExpr(src string) (ast.Expr, error) { return Syntax{Lines: true}.Expr(src) }

// LinePrefix is [Syntax.Prefix] for the right side of a line.
func LinePrefix(src string) (ast.Expr, error) { return Syntax{Lines: true}.Prefix(src) }

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
		return e, nil // the reference does not look at what follows a conditional
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
