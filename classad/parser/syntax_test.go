package parser_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/classad/parser"
)

// The printed form of an expression in the four syntaxes; empty where it is an error.
func TestSyntax(t *testing.T) {
	for text, want := range map[string]struct{ brackets, lines, strict, strictLines string }{
		`0012`:   {"", "", "12", "12"},
		`-0012`:  {"-12", "-12", "-12", "-12"},
		`- 0012`: {"", "", " -12", " -12"},
		`0019`:   {"", "", "", ""},
		`-0019`:  {"", "", "", ""},
		`0019.5`: {
			"1.950000000000000E+01", "1.950000000000000E+01", "1.950000000000000E+01",
			"1.950000000000000E+01",
		},
		`0xAb`:        {"", "", "0", "0"},
		`-0XaB`:       {"0", "0", "0", "0"},
		`0xg`:         {"", "", "", ""},
		`0x1.8`:       {"", "", "", ""},
		`2K`:          {"", "", "", ""},
		`f(a; b)`:     {"f(a,b)", "f(a,b)", "", ""},
		`f([a = 1;])`: {"f([ a = 1 ])", "f([ a = 1 ])", "f([ a = 1 ])", "f([ a = 1 ])"},
		`"\x\n"`:      {`"x\n"`, `"\\x\\n"`, `"x\n"`, `"\\x\\n"`},
		`"a" "b"`:     {`"ab"`, "", `"ab"`, ""},
	} {
		for s, want := range map[parser.Syntax]string{
			{}: want.brackets, {Lines: true}: want.lines, {Strict: true}: want.strict,
			{Lines: true, Strict: true}: want.strictLines,
		} {
			e, err := s.Expr(text)
			if want == "" {
				require.Error(t, err, "%s in %+v", text, s)
				continue
			}
			require.NoError(t, err, "%s in %+v", text, s)
			require.Equal(t, want, string(ast.Append(nil, e, ast.Canonical)), "%s in %+v", text, s)
		}
	}
	r, err := parser.Syntax{Strict: true}.Ad(`[ a = 007 ]`)
	require.NoError(t, err)
	require.Equal(t, `[ a = 7 ]`, string(ast.Append(nil, r, ast.Canonical)))
	e, end, err := parser.Syntax{}.Prefix(`1 2`)
	require.NoError(t, err)
	require.Equal(t, 2, end, "the rest begins there")
	require.Equal(t, `1`, string(ast.Append(nil, e, ast.Canonical)))
	require.Equal(t, 2, end, "where the rest begins")
}
