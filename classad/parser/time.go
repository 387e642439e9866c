package parser

import (
	"github.com/alecthomas/participle/v2/lexer"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// timeConstant returns the constant for a call of absTime or relTime with one literal string, or
// nil for other calls. A string that is not a time is a syntax error, not an error of evaluation.
func timeConstant(name *lexer.Token, args []ast.Expr) (ast.Expr, error) {
	key := ast.Fold(name.Value)
	if key != "abstime" && key != "reltime" || len(args) != 1 {
		return nil, nil
	}
	l, ok := args[0].(*ast.Literal)
	if !ok || l.Kind != ast.String {
		return nil, nil
	}
	if key == "abstime" {
		if seconds, offset, ok := ast.ParseAbsTime(l.Text); ok {
			return ast.NewAbsTime(position(name), seconds, int32(offset)), nil
		}
	} else if seconds, ok := ast.ParseRelTime(l.Text); ok {
		return ast.NewRelTime(position(name), seconds), nil
	}
	return nil, errorAt(position(name), "malformed time in "+name.Value)
}
