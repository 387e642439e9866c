package classad_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

// A meter counts the same steps whatever was evaluated before, and every way to evaluate has one.
func TestMeter(t *testing.T) {
	ad := sums(t)
	require.NoError(t, ad.SetExpr("Requirements", "TARGET.x2 == 100"))
	require.NoError(t, ad.SetExpr("Rank", "TARGET.x1"))
	const x2 = 209 // ten names and ten sums with 19 nodes each
	evaluations := map[string]struct {
		steps int64
		do    func(maxSteps int, m *classad.Meter)
	}{
		"Eval": {x2 + 1, func(most int, m *classad.Meter) {
			classad.MustParseExpr("x2").Eval(classad.Scope{My: ad, MaxSteps: most, Meter: m})
		}},
		"Attr":  {x2, func(most int, m *classad.Meter) { classad.Scope{My: ad, MaxSteps: most, Meter: m}.Attr("x2") }},
		"Match": {2 * (x2 + 4), func(most int, m *classad.Meter) { pairOf(ad, most, m).Match() }},
		"half":  {x2 + 4, func(most int, m *classad.Meter) { pairOf(ad, most, m).LeftMatchesRight() }},
		"other": {x2 + 4, func(most int, m *classad.Meter) { pairOf(ad, most, m).RightMatchesLeft() }},
		"rank":  {21, func(most int, m *classad.Meter) { pairOf(ad, most, m).LeftRank() }},
		"ranks": {21, func(most int, m *classad.Meter) { pairOf(ad, most, m).RightRank() }},
		"items": {2*x2 + 5 + 50, func(most int, m *classad.Meter) {
			list := classad.MustParseExpr("{ x2, x2, 1, 1 }").Eval(classad.Scope{My: ad, MaxSteps: most, Meter: m})
			_, ok := list.Items()
			require.True(t, ok)
		}},
	}
	for name, c := range evaluations {
		for range 3 {
			var m, limited classad.Meter
			c.do(0, &m)
			require.Equal(t, c.steps, m.Steps(), name)
			require.Zero(t, m.Exceeded(), name)
			limit := 20
			if name == "items" {
				limit = 60 // a list as the result takes 50
			}
			c.do(limit, &limited)
			require.Equal(t, 1, limited.Exceeded(), name)
			require.LessOrEqual(t, limited.Steps(), int64(2*limit), name)
		}
	}
}

func pairOf(ad *classad.ClassAd, maxSteps int, m *classad.Meter) classad.Pair {
	return classad.Pair{Left: ad, Right: ad, MaxSteps: maxSteps, Meter: m}
}
