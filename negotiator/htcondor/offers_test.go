package htcondor

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// The slots that are asked for by name are those, however they are written.
func TestAmong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[sS]lot[1-9]_?[0-9]?@[a-cA-CÄä_."\\-]{1,3}[a-c]`)
		names := rapid.SliceOfN(name, 1, 60).Draw(t, "names")
		small := make([]string, len(names))
		for i, n := range names {
			small[i] = ast.Fold(n)
		}
		slices.Sort(small)
		query, err := classad.ParseOld("Requirements = " + among(small))
		require.NoError(t, err)
		e, _ := query.Lookup("Requirements")
		for _, n := range append(names, rapid.SliceOfN(name, 1, 20).Draw(t, "others")...) {
			ad := classad.New()
			ad.SetString("Name", n)
			require.Equal(t, slices.Contains(small, ast.Fold(n)), e.Eval(classad.Scope{My: ad}).IsTrue(), n)
		}
	})
}
