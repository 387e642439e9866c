package classad_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad"
)

// Names in expressions remember where they were found. An expression that was evaluated with many
// ads, some of one shape and some that have changed since, gives what one does that is new.
func TestNamesRememberNoWrongPlace(t *testing.T) {
	const text = `{ a, MY.b, TARGET.c, d, self.a, TARGET.b, [ x = 1; a = 2 ].a, f, .a }`
	values := rapid.SampledFrom([]string{"1", "2", `"x"`, "TARGET.a", "b", "MY.c + 1", "true", "[ a = d ]"})
	rapid.Check(t, func(t *rapid.T) {
		kept, p := classad.MustParseExpr(`strcat(string(a), MY.b, TARGET.c, d, self.a, TARGET.b, f)`), &classad.Parser{}
		list := classad.MustParseExpr(text)
		var all []*classad.ClassAd
		for range rapid.IntRange(2, 6).Draw(t, "ads") {
			ad := classad.New()
			for _, name := range rapid.Permutation(strings.Split("abcdef", "")).Draw(t, "names") {
				if rapid.IntRange(0, 4).Draw(t, "has") > 0 {
					require.NoError(t, ad.SetExpr(name, values.Draw(t, name)))
				}
			}
			if parsed, err := p.ParseOld(ad.Format(classad.Lines)); err == nil && rapid.Bool().Draw(t, "parsed") {
				ad = parsed
			}
			all = append(all, ad)
		}
		all = append(all, all[0].Clone(), all[1].Clone())
		ads := rapid.SampledFrom(all)
		for range rapid.IntRange(1, 20).Draw(t, "evaluations") {
			ad, name := ads.Draw(t, "changed"), rapid.SampledFrom(strings.Split("abcdef", "")).Draw(t, "name")
			switch rapid.IntRange(0, 5).Draw(t, "change") {
			case 0:
				ad.Delete(name)
			case 1:
				require.NoError(t, ad.SetExpr(name, values.Draw(t, "value")))
			}
			my, target := ads.Draw(t, "my"), ads.Draw(t, "target")
			fresh := func(ad *classad.ClassAd) *classad.ClassAd {
				anew, err := classad.Parse(ad.String())
				require.NoError(t, err)
				return anew
			}
			scope, anew := classad.Scope{My: my, Target: target}, classad.Scope{My: fresh(my), Target: fresh(target)}
			require.Equal(t, classad.MustParseExpr(kept.String()).Eval(anew).String(), kept.Eval(scope).String())
			items, _ := list.Eval(scope).Items()
			want, _ := classad.MustParseExpr(text).Eval(anew).Items()
			for i := range want {
				require.Equal(t, want[i].String(), items[i].String(), i)
			}
		}
	})
}

// x && y && z is evaluated at once, and is the same as (x && y) && z, which is not.
func TestChainsAreReadFromTheLeft(t *testing.T) {
	operands := rapid.SampledFrom([]string{
		"true", "false", "undefined", "error", "0", "2.5", `"x"`, "missing", "yes", "loop", `isError(loop)`, "(yes && missing)",
		"random(0)",
	})
	ad := parseAd(t, "[ yes = true; loop = loop ]")
	rapid.Check(t, func(t *rapid.T) {
		op := rapid.SampledFrom([]string{" && ", " || "}).Draw(t, "operator")
		other := map[string]string{" && ": " || ", " || ": " && "}[op]
		chain := operands.Draw(t, "first")
		nested := chain
		for range rapid.IntRange(1, 5).Draw(t, "more") {
			next := operands.Draw(t, "next")
			chain, nested = chain+op+next, "("+nested+")"+op+next
		}
		for _, form := range []string{"%", "isError(%)", "true" + other + "(%)"} {
			want := classad.MustParseExpr(strings.Replace(form, "%", nested, 1)).Eval(classad.Scope{My: ad})
			require.Equal(t, want, classad.MustParseExpr(strings.Replace(form, "%", chain, 1)).Eval(classad.Scope{My: ad}), chain)
		}
	})
}
