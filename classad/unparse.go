package classad

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// String is the canonical bracket form "[ a = 1; bb = x + 1 ]": short names first, then by name ignoring case.
func (ad *ClassAd) String() string { return string(ast.Append(nil, ad.tree(), ast.Canonical)) }

// Long is the line form: "name = expression" and a line feed for each attribute, by name ignoring case.
func (ad *ClassAd) Long() string {
	sorted := slices.SortedFunc(slices.Values(ad.tree().Attributes()), func(a, b ast.Attribute) int {
		return cmp.Compare(a.Key, b.Key)
	})
	var b []byte
	for _, a := range sorted {
		b = append(append(b, a.Name...), " = "...)
		b = append(ast.Append(b, a.Value, ast.Line), '\n')
	}
	return string(b)
}
