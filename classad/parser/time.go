package parser

import (
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// timeConstant makes absTime("…") and relTime("…") with nothing but a string constants, as the reference does when it
// parses. It gives nil for every other call.
func timeConstant(name *lexer.Token, args []ast.Expr) (ast.Expr, error) {
	if len(args) != 1 || len(name.Value) != len("absTime") {
		return nil, nil
	}
	text, ok := args[0].(*ast.Literal)
	if !ok || text.Kind != ast.String {
		return nil, nil
	}
	switch strings.ToLower(name.Value) {
	case "abstime":
		if seconds, offset, ok := ast.ParseAbsTime(text.Text); ok {
			return ast.NewAbsTime(position(name), seconds, int32(offset)), nil
		}
	case "reltime":
		if seconds, ok := ast.ParseRelTime(text.Text); ok {
			return ast.NewRelTime(position(name), seconds), nil
		}
	default:
		return nil, nil
	}
	return nil, errorAt(text.Pos(), "malformed time")
}
