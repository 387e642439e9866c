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

// x && y && z is evaluated at once, and gives what the table of two operands gives, from the left.
func TestChainsAreReadFromTheLeft(t *testing.T) {
	const no, yes, unknown, invalid = 0, 1, 2, 3
	values := [...]string{"false", "true", "undefined", "error"}
	and := [4][4]int{ // of x and y
		no: {}, yes: {no, yes, unknown, invalid}, unknown: {no, unknown, unknown, invalid},
		invalid: {invalid, invalid, invalid, invalid},
	}
	negated := [...]int{yes, no, unknown, invalid}
	rapid.Check(t, func(t *rapid.T) {
		operands := rapid.SliceOfN(rapid.IntRange(no, invalid), 2, 6).Draw(t, "operands")
		every, neither := operands[0], negated[operands[0]]
		texts := []string{values[operands[0]]}
		for _, y := range operands[1:] {
			every, neither = and[every][y], and[neither][negated[y]] // x || y is !(!x && !y)
			texts = append(texts, values[y])
		}
		chain := func(op string) string {
			return classad.MustParseExpr(strings.Join(texts, op)).Eval(classad.Scope{}).String()
		}
		require.Equal(t, values[every], chain(" && "), operands)
		require.Equal(t, values[negated[neither]], chain(" || "), operands)
	})
}

// Operands behind the one that decides are not evaluated, and those behind an error are: that may
// fail the evaluation, which isError cannot hide.
func TestChainsEvaluateWhatMayFail(t *testing.T) {
	scope := classad.Scope{My: parseAd(t, "[ loop = loop ]")}
	for text, want := range map[string]string{
		"isError(true && false && loop)": "false", "isError(error && false && loop)": "error",
		"isError(false || true || loop)": "false", "isError(error || true || loop)": "error",
		"isError(true && undefined && loop)": "error", "isError(loop && false && true)": "error",
	} {
		require.Equal(t, want, classad.MustParseExpr(text).Eval(scope).String(), text)
	}
}
