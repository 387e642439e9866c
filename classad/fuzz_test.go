package classad_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

var seeds = []string{
	``, `1`, `-1`, `- 1`, `--1`, `1.5e-3`, `"a\tb\101" "c"`, `'odd name'`, `..a`, `a..b`, `a ? b : c )`, `a ?: b ?: c`,
	`!~-+x`, `f(a, b; c)`, `{ 1, { 2 }, [ a = 1 ] }[1].x`, `[ a = b; b = a ].a`, `x =?= undefined || y isnt error`,
	`a < b << c + d * e`, `eval("eval(\"1\")")`, `((((((((`, `[[[[`, `a?a?a?`, `"\0"`, `"\777"`, "\x00", `1/* */+//`,
	`strcat(x, x)`, `0 .A`, `a.'b c'`, `{ [ a = 1 ], [ b = 2 ] }.a`, `substr("abc", -9223372036854775807, -2)`,
	`regexp("(", "x")`,
	`quantize(7, { 0, 0.0 })`, `pow(2, 1e308)`, `int("0x")`, `real("-inf")`, `join({ undefined }, "")`,
	`parent.root.MY`, `0x1F.a`, `-0xZZ`,
}

func FuzzParseExpr(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := classad.ParseExpr(text)
		if err != nil {
			var syntax *classad.SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.NotPanics(t, func() { _ = syntax.Error() })
			return
		}
		if joins(e.String()) {
			return
		}
		// Each printing joins one minus to the number that it was written apart from: "- - 0", "-
		// -0", "-0", "0".
		for range strings.Count(text, "-") {
			e = reparse(t, e.String())
		}
		require.Equal(t, e.String(), reparse(t, e.String()).String())
	})
}

// selection matches a printed selection from a number.
var selection = regexp.MustCompile(`\b[0-9]+\.[A-Za-z_]`)

// joins reports whether a printed form may not parse: names are printed without a blank after an
// integer that they are selected from.
func joins(printed string) bool { return selection.MatchString(printed) }

func reparse(t *testing.T, text string) *classad.Expr {
	t.Helper()
	e, err := classad.ParseExpr(text)
	require.NoError(t, err, text)
	return e
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add("[ a = " + s + " ]")
		f.Add("a = " + s + "\n\nb = 1\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		if ad, err := classad.Parse(text); err == nil && !joins(ad.String()) {
			again, err := classad.Parse(ad.String())
			require.NoError(t, err, ad.String())
			require.Equal(t, ad.Len(), again.Len())
		}
		_, _ = classad.ParseOld(text)
		count := 0
		for ad, err := range classad.ReadAds(strings.NewReader(text), "fuzz") {
			require.NotEqual(t, ad == nil, err == nil)
			count++
		}
		require.LessOrEqual(t, count, len(text)+1)
	})
}

func FuzzEval(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, s, `TARGET.a`)
	}
	f.Fuzz(func(_ *testing.T, expr, a, b string) {
		e, err := classad.ParseExpr(expr)
		if err != nil {
			return
		}
		my, target := classad.New(), classad.New()
		_, _, _ = my.SetExpr("a", a), my.SetExpr("Requirements", b), target.SetExpr("a", b)
		_ = e.Eval(classad.Scope{My: my, Target: target}).String()
		_ = classad.Match(my, target)
		_, _, _ = e.Refs(my)
	})
}
