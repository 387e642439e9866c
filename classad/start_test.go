package classad_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// TestStart prints the beginnings of expressions of all kinds.
func TestStart(t *testing.T) {
	texts := []string{
		`a && b || !c =?= "x\n\"y" && -3.5 < d[2].e`, `[ a = 1; B = { 1, 2, "three", undefined }; 'c d' = error ]`,
		`ifThenElse(a ? b : c, member("x", { "y" }), a ?: (b))`, `"` + strings.Repeat("long ", 500) + `"`,
		`absTime("2020-01-01T00:00:00") + relTime("1:00")`, strings.Repeat("(", 50) + "1" + strings.Repeat(")", 50),
	}
	rapid.Check(t, func(rt *rapid.T) {
		e, err := classad.ParseExpr(rapid.SampledFrom(texts).Draw(rt, "text"))
		require.NoError(rt, err)
		whole, most := e.String(), rapid.IntRange(1, 3000).Draw(rt, "most")
		if len(whole) <= most {
			require.Equal(rt, whole, e.Start(most))
		} else {
			require.Equal(rt, strings.ToValidUTF8(whole[:most], "")+"…", e.Start(most))
		}
	})
}

// TestStartIsCheap prints the beginning of a large expression into little memory.
func TestStartIsCheap(t *testing.T) {
	for _, text := range []string{
		"{ " + strings.Repeat(`"x", `, 200_000) + `1 }`, `"` + strings.Repeat(`\n`, 500_000) + `"`,
		"f(" + strings.Repeat("a.b, ", 200_000) + "c)", strings.Repeat(`("x" == y) && `, 1000) + "z",
	} {
		e, err := classad.ParseExpr(text)
		require.NoError(t, err)
		require.Len(t, e.Start(100), 100+len("…"))
		require.Less(t, cap(ast.AppendStart(nil, e.Tree(), 100)), 10_000, "%.20s", text)
	}
}

// TestExplanationsCanBePrinted explains ads that would move a terminal's cursor.
func TestExplanationsCanBePrinted(t *testing.T) {
	job, err := classad.ParseOld("A = \"x\x1b[2J\"\nRequirements = TARGET.Name == \"\x1b[31m\tred\" && A == TARGET.A\n")
	require.NoError(t, err)
	slot, err := classad.ParseOld("Name = \"\x07\x1b]0;title\x07\"\nA = \"\x1b[0m\u009b\"\n")
	require.NoError(t, err)
	for _, part := range job.Explain("Requirements", slot).All() {
		texts := []string{part.Name, part.Expr, part.Value}
		for _, u := range part.Uses {
			texts = append(texts, u.Name, u.Value, u.Note)
		}
		for _, text := range texts {
			require.Equal(t, -1, strings.IndexFunc(text, unicode.IsControl), "%q", text)
		}
	}
}
