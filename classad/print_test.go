package classad_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// Ads are printed without making trees of them, and the order of their attributes is kept with
// their shape: the text is that of the tree, in its order, also after attributes were added and
// removed.
func TestAdsPrintAsTheirTrees(t *testing.T) {
	names := rapid.SampledFrom([]string{
		"a", "B", "ab", "aB", "Cpus", "cpus", "Is", "parent", "TRUE", "undefined", "undefine", "it's", "a b", "_1",
		"1a", "é", "", "Requirements", "Rank",
	})
	rapid.Check(t, func(t *rapid.T) {
		ad, p := classad.New(), &classad.Parser{}
		change := func() {
			name := names.Draw(t, "name")
			switch rapid.IntRange(0, 6).Draw(t, "kind") {
			case 0:
				ad.Delete(name)
			case 1:
				ad.SetReal(name, rapid.Float64().Draw(t, "real"))
			case 2:
				ad.SetString(name, rapid.StringOf(rapid.RuneFrom([]rune("ab\"\\'\n\x01~é"))).Draw(t, "string"))
			case 3:
				require.NoError(t, ad.SetExpr(name, `absTime("2020-01-02T03:04:05+01:00")`))
			case 4:
				require.NoError(t, ad.SetExpr(name, `relTime("1+00:00:01.5")`))
			default:
				require.NoError(t, ad.SetExpr(name, expressions().Draw(t, "expression")))
			}
		}
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			change()
			requirePrintedTree(t, ad)
			if parsed, err := p.Parse(ad.String()); err == nil && rapid.Bool().Draw(t, "parsed") {
				ad = parsed // its shape is that of others
				requirePrintedTree(t, ad)
			}
		}
	})
}

// requirePrintedTree compares an ad's printed forms with those of its tree.
func requirePrintedTree(t require.TestingT, ad *classad.ClassAd) {
	tree, attributes := ast.NewRecord(0), map[string]ast.Expr{}
	for name, e := range ad.All() {
		tree.Set(name, e.Tree())
		attributes[name] = e.Tree()
	}
	require.Equal(t, string(ast.Append(nil, tree, ast.Canonical)), ad.Format(classad.Brackets))
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		lines.WriteString(name + " = " + string(ast.Append(nil, attributes[name], ast.Line)) + "\n")
	}
	require.Equal(t, lines.String(), ad.Format(classad.Lines))
}
