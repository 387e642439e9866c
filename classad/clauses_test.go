package classad_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

func TestClauses(t *testing.T) {
	for text, want := range map[string][]string{
		"a":                           {"a"},
		"(a)":                         {"a"},
		"a && b":                      {"a", "b"},
		"a && b && c":                 {"a", "b", "c"},
		"a && ((b && (c)) && d)":      {"a", "b", "c", "d"},
		"a || b && c":                 {"a || b && c"},
		"(a || b) && c":               {"a || b", "c"},
		"!(a && b)":                   {" !(a && b)"},
		"a && b ? c : d":              {"a && b ? c : d"},
		"f(a && b) && [x = a && b].x": {"f(a && b)", "[ x = a && b ].x"},
	} {
		var clauses []string
		for _, clause := range classad.MustParseExpr(text).Clauses() {
			clauses = append(clauses, clause.String())
		}
		require.Equal(t, want, clauses, text)
	}
}
