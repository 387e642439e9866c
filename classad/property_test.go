package classad_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad"
)

// expressions generates texts of expressions in their printed form.
func expressions() *rapid.Generator[string] {
	names := rapid.SampledFrom([]string{"a", "B", "_c1", "MY.a", "TARGET.b", ".a", "'odd name'", "n.x", `TARGET.'x\033[2J y'`, "n.'is'", "Requirements"})
	leaf := rapid.OneOf(
		names,
		rapid.Map(rapid.Int64(), func(i int64) string { return strconv.FormatInt(i, 10) }),
		rapid.Map(rapid.StringMatching(`[ -!#-\[\]-~]{0,8}`), func(s string) string { return `"` + s + `"` }),
		rapid.SampledFrom([]string{
			"true", "false", "undefined", "error", "1.500000000000000E+00", "0.0",
			"{  }", "[  ]",
		}),
	)
	operators := rapid.SampledFrom([]string{
		"||", "&&", "|", "^", "&", "==", "!=", "is", "isnt", "<", "<=", ">", ">=", "<<", ">>", ">>>", "+",
		"-", "*", "/", "%",
	})
	expr := rapid.Deferred(func() *rapid.Generator[string] { return leaf })
	for range 3 {
		inner := expr
		expr = rapid.OneOf(
			leaf,
			rapid.Custom(func(t *rapid.T) string {
				return inner.Draw(t, "x") + " " + operators.Draw(t, "op") + " " + inner.Draw(t, "y")
			}),
			rapid.Custom(func(t *rapid.T) string { return "(" + inner.Draw(t, "x") + ")" }),
			rapid.Custom(func(t *rapid.T) string { return " !(" + inner.Draw(t, "x") + ")" }),
			rapid.Custom(func(t *rapid.T) string {
				return "(" + inner.Draw(t, "c") + ") ? " + leaf.Draw(t, "x") + " : " + leaf.Draw(t, "y")
			}),
			rapid.Custom(func(t *rapid.T) string {
				return "{ " + inner.Draw(t, "x") + "," + inner.Draw(t, "y") + " }"
			}),
			rapid.Custom(func(t *rapid.T) string { return "[ x = " + inner.Draw(t, "x") + " ]" }),
			rapid.Custom(func(t *rapid.T) string {
				return "strcat(" + inner.Draw(t, "x") + "," + leaf.Draw(t, "y") + ")"
			}),
		)
	}
	return expr
}

func ads() *rapid.Generator[*classad.ClassAd] {
	return rapid.Custom(func(t *rapid.T) *classad.ClassAd {
		ad := classad.New()
		for _, name := range []string{"Requirements", "a", "b", "n", "Rank"} {
			if rapid.Bool().Draw(t, "has "+name) {
				require.NoError(t, ad.SetExpr(name, expressions().Draw(t, name)))
			}
		}
		return ad
	})
}

// A printed expression parses to the same expression.
func TestPrintedFormIsCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := expressions().Draw(t, "text")
		e, err := classad.ParseExpr(text)
		require.NoError(t, err)
		require.Equal(t, text, e.String())
	})
}

// An ad survives both printed forms.
func TestAdsSurvivePrinting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ad := ads().Draw(t, "ad")
		again, err := classad.Parse(ad.String())
		require.NoError(t, err)
		require.Equal(t, ad.String(), again.String())
		again, err = classad.ParseOld(ad.Format(classad.Lines))
		require.NoError(t, err)
		require.Equal(t, ad.String(), again.String())
	})
}

// A match does not depend on which ad is on the left, is the conjunction of both halves, and
// changes neither ad.
func TestMatchIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left, right := ads().Draw(t, "left"), ads().Draw(t, "right")
		before := left.String() + right.String()
		match := classad.Match(left, right)
		require.Equal(t, match, classad.Match(right, left))
		require.Equal(t, match, classad.Accepts(left, right) && classad.Accepts(right, left))
		require.Equal(t, before, left.String()+right.String())
	})
}

// Evaluation depends on nothing but its arguments.
func TestEvaluationIsDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := classad.MustParseExpr(expressions().Draw(t, "text"))
		scope := classad.Scope{My: ads().Draw(t, "my"), Target: ads().Draw(t, "target")}
		first := e.Eval(scope).String()
		require.Equal(t, first, e.Eval(scope).String())
	})
}
