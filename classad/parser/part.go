package parser

import "github.com/condor-backfill/condor-backfill/classad/ast"

// Part parses an expression that was cut out of an ad in brackets: unlike [Expr] it takes nothing behind a conditional.
func Part(src string) (ast.Expr, error) {
	g := brackets()
	tokens, err := g.tokens(src)
	if err != nil {
		return nil, err
	}
	e, err := g.expression(tokens)
	if err != nil {
		return nil, err
	}
	if next := tokens.Peek(); !next.EOF() {
		return nil, unexpected(next, "an operator or the end")
	}
	return e, nil
}
