package classad_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad"
)

func TestExplain(t *testing.T) {
	job, slot := parseAd(t, jobAd), parseAd(t, slotAd)
	job.SetInt("RequestMemory", 128_000)
	require.NoError(t, job.SetExpr("Requirements", `TARGET.HasDocker && (TARGET.Arch == "ARM" || Arch == "SPARC") &&
		TARGET.Memory >= RequestMemory && TARGET.Cpus > missing`))
	require.Equal(t, `  false      Requirements: all of
✗ undefined    TARGET.HasDocker                TARGET.HasDocker is undefined: the other ad has no such attribute
  false        any of
✗ false          TARGET.Arch == "ARM"          TARGET.Arch = "X86_64"
✗ false          Arch == "SPARC"               Arch = "X86_64"
✗ false        TARGET.Memory >= RequestMemory  TARGET.Memory = 64000, RequestMemory = 128000
✗ undefined    TARGET.Cpus > missing           TARGET.Cpus = 16, missing is undefined: neither ad has such an attribute
`, job.Explain("requirements", slot).String())
	require.Equal(t, `  false      Requirements: all of
  true         START: all of
  true           TARGET.Owner =!= "mallory"           TARGET.Owner = "ann"
  true           any of
  undefined        TARGET.NumJobStarts < 5            TARGET.NumJobStarts is undefined: the other ad has no `+
		`such attribute
  true             TARGET.NumJobStarts =?= undefined  TARGET.NumJobStarts is undefined: the other ad has no `+
		`such attribute
  false        WithinResourceLimits: all of
  true           TARGET.RequestCpus <= MY.Cpus        TARGET.RequestCpus = 4, MY.Cpus = 16
✗ false          TARGET.RequestMemory <= MY.Memory    TARGET.RequestMemory = 128000, MY.Memory = 64000
  true           TARGET.RequestDisk <= MY.Disk        TARGET.RequestDisk = 43, MY.Disk = 100000000
`, slot.Explain("Requirements", job).String())
}

func TestExplainText(t *testing.T) {
	my := parseAd(t, `[ a = b && c; b = a; c = 1 + c; d = e; e = true; f = d; l = { 1, 2 }; TARGET = [ x = 1 `+
		`]; g = 1 / 0 ]`)
	for text, want := range map[string]string{
		"true":          "  true  true\n",
		"d":             "  true  d = e = true\n",
		"f":             "  true  f = d = e = true\n",
		"2":             "  2  2\n",
		"size(l) == 3":  "✗ false  size(l) == 3  l = { 1,2 }\n",
		"TARGET.x == 2": "✗ false  TARGET.x == 2  TARGET.x = 1\n",
		"other.x":       "✗ undefined  other.x  other.x is undefined: there is no other ad\n",
		"g > 1":         "✗ error  g > 1  g is error: the own ad says 1 / 0\n",
		"none":          "✗ undefined  none  none is undefined: the own ad has no such attribute\n",
		"a": "  error  a: all of\n✗ error    b = a      a is error: the own ad says b && c\n" +
			"✗ error    c = 1 + c  c is error: the own ad says 1 + c\n",
		"[ q = d ].q": "  true  [ q = d ].q\n",
		"!e && (d || e)": "  false  all of\n✗ false    !e              e = true\n  true     any of\n" +
			"  true       d = e = true\n  true       e = true\n",
	} {
		require.Equal(t, want, classad.MustParseExpr(text).Explain(classad.Scope{My: my}).String(), text)
	}
}

func TestExplainJSON(t *testing.T) {
	my := parseAd(t, `[ Memory = 2; Requirements = Memory > 4 && true ]`)
	text, err := json.Marshal(my.Explain("Requirements", nil))
	require.NoError(t, err)
	require.JSONEq(t, `{"name": "Requirements", "expr": "Memory > 4 && true", "value": "false", "holds": false,
		"join": "all",
		"parts": [{"expr": "Memory > 4", "value": "false", "holds": false, "culprit": true,
			"compared": "2 > 4", "uses": [{"name": "Memory", "value": "2"}]},
		{"expr": "true", "value": "true", "holds": true}]}`, string(text))
}

func TestExplainIsBounded(t *testing.T) {
	doubling := classad.New()
	doubling.SetBool("x0", false)
	for i := range 100 {
		require.NoError(t, doubling.SetExpr(fmt.Sprintf("x%d", i+1), fmt.Sprintf("x%d && (x%d || TARGET.a)", i, i)))
	}
	wide := classad.MustParseExpr("a" + strings.Repeat(" && a", 90_000))
	long := classad.MustParseExpr(`"` + strings.Repeat("x", 1<<20) + `" == b`)
	for _, e := range []*classad.Expr{classad.MustParseExpr("x100"), wide, long} {
		parts := 0
		x := e.Explain(classad.Scope{My: doubling})
		for depth := range x.All() {
			require.Less(t, depth, 100)
			parts++
		}
		require.Less(t, parts, 1000)
		require.Less(t, len(x.String()), 200_000)
	}
}

// An explanation has the value of the expression, and culprits exactly if that is not true.
func TestExplanationsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, err := classad.ParseExpr(wildExpressions().Draw(t, "text"))
		require.NoError(t, err)
		scope := classad.Scope{My: wildAds().Draw(t, "my"), Target: wildAds().Draw(t, "target")}
		x := e.Explain(scope)
		require.Equal(t, e.Eval(scope).IsTrue(), x.Holds)
		culprits := 0
		for _, part := range x.All() {
			require.False(t, part.Culprit && part.Holds)
			if part.Culprit {
				culprits++
			}
		}
		require.Equal(t, !x.Holds, culprits > 0, "%s", x)
	})
}
