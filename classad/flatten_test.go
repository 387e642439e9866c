package classad_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/classad/classadtest"
)

func TestFlatten(t *testing.T) {
	my := parseAd(t, `[ one = 1; sum = one + 1; text = "abc"; list = { one, 2 }; ad = [ x = one; y = TARGET.z `+
		`]; no = false;
		limit = TARGET.a <= sum; deep = limit && TARGET.b; circle = circle + 1; round = circle; undef = missing;
		hidden = [ parent = 7 ]; third = 0.1 + 0.2; half = 0.5; choice = TARGET.c ? one : text ]`)
	for text, want := range map[string]string{
		// decided by the ad
		"one + 1":                 "2",
		"(one + 1) * sum":         "4",
		"MY.sum":                  "2",
		"self.sum":                "2",
		"MY.missing":              "undefined",
		"list[0]":                 "1",
		"ad.x + 1":                "2",
		`member("ABC", { text })`: "true",
		"size(list) + size(ad) + size(MY.hidden)": "5",
		"hidden.parent": "7",
		"1 / 0":         "error",
		"half / 2.0":    "2.500000000000000E-01",
		"third":         "1.000000000000000E-01 + 2.000000000000000E-01", // no constant prints as this value
		// not decided by the ad
		"missing":                     "missing",
		"undef":                       "missing",
		"TARGET.x":                    "TARGET.x",
		"MY.target.x":                 "MY.target.x",
		"MY.parent":                   "MY.parent",
		"ad.parent.one":               "1",
		"ad.parent.parent":            "[ x = one; y = TARGET.z ].parent.parent",
		"ad.y":                        "[ x = one; y = TARGET.z ].y",
		".one":                        ".one",
		"CurrentTime - one":           "CurrentTime - 1",
		"time() - sum":                "time() - 2",
		`eval("one")`:                 `eval("one")`,
		"countMatches(x > one, list)": "countMatches(x > one,list)",
		"circle":                      "circle + 1",
		"round * 2":                   "(circle + 1) * 2",
		"noSuchFunction(one)":         "noSuchFunction(one)",
		"{ one }":                     "{ one }",
		"[ x = one ]":                 "[ x = one ]",
		// both
		"limit":                           "TARGET.a <= 2",
		"deep":                            "TARGET.a <= 2 && TARGET.b",
		"!limit":                          " !(TARGET.a <= 2)",
		"sum * (TARGET.a + one)":          "2 * (TARGET.a + 1)",
		"strcat(text, TARGET.a, one + 1)": `strcat("abc",TARGET.a,2)`,
		"(choice).x":                      `(TARGET.c ? 1 : "abc").x`,
		"list[TARGET.a]":                  "{ one,2 }[TARGET.a]",
		"TARGET.a + error":                "error",
		"TARGET.a + undefined":            "TARGET.a + undefined",
		"TARGET.a is error":               "TARGET.a is error",
		// short circuits
		"no && TARGET.a":                           "false",
		"text && TARGET.a":                         "error",
		"undef && TARGET.a":                        "missing && TARGET.a",
		"MY.missing && TARGET.a":                   "undefined && TARGET.a",
		"one && TARGET.a":                          "1 && TARGET.a",
		"one && TARGET.a > 1":                      "TARGET.a > 1",
		"TARGET.a && one":                          "TARGET.a && 1",
		"!TARGET.a && one":                         " !TARGET.a",
		"TARGET.a && no":                           "TARGET.a && false",
		"one || TARGET.a":                          "true",
		"no || (TARGET.a is 1)":                    "(TARGET.a is 1)",
		"(TARGET.a is 1 || TARGET.b) && sum == 2":  "(TARGET.a is 1 || TARGET.b)",
		"one == 1 ? TARGET.a : TARGET.b":           "TARGET.a",
		"ifThenElse(one == 2, TARGET.a, TARGET.b)": "TARGET.b",
		"ifThenElse(TARGET.a, one, sum)":           "ifThenElse(TARGET.a,1,2)",
		"TARGET.a ? one : sum":                     "TARGET.a ? 1 : 2",
		"text ? TARGET.a : TARGET.b":               "error",
		"MY.missing ?: TARGET.a":                   "TARGET.a",
		"one ?: TARGET.a":                          "1",
		"list ?: TARGET.a":                         "{ one,2 }",
		"TARGET.a ?: sum":                          "TARGET.a ?: 2",
	} {
		got := classad.MustParseExpr(text).Flatten(my).String()
		require.Equal(t, want, got, text)
	}
}

// Attributes may have the names of scopes.
func TestFlattenHiddenScopes(t *testing.T) {
	my := parseAd(t, `[ TARGET = [ x = 1 ]; MY = [ x = 2 ]; x = 3; parent = 4; CurrentTime = 5 ]`)
	for text, want := range map[string]string{
		"TARGET.x": "1", "MY.x": "2", "self.x": "3", "parent": "4", "CurrentTime": "5", "other.x": "other.x",
	} {
		require.Equal(t, want, classad.MustParseExpr(text).Flatten(my).String(), text)
	}
}

func TestFlattenIsBounded(t *testing.T) {
	my := classad.New()
	require.NoError(t, my.SetExpr("x0", "TARGET.a"))
	for i := range 30 {
		require.NoError(t, my.SetExpr(fmt.Sprintf("x%d", i+1), fmt.Sprintf("x%d + x%d", i, i)))
	}
	grown := classad.MustParseExpr("x30").Flatten(my)
	require.Less(t, len(grown.String()), 200_000)
	reparse(t, grown.String())

	chain := classad.New()
	require.NoError(t, chain.SetExpr("x0", "(TARGET.a)"))
	for i := range 2000 {
		require.NoError(t, chain.SetExpr(fmt.Sprintf("x%d", i+1), fmt.Sprintf("(x%d * 2 + 1)", i)))
	}
	reparse(t, classad.MustParseExpr("x2000").Flatten(chain).String())

	long := classad.MustParseExpr("TARGET.a" + strings.Repeat(" + 1", 90_000))
	require.Equal(t, long.String(), long.Flatten(my).String())
	require.Equal(t, "90001", classad.MustParseExpr("1"+strings.Repeat(" + 1", 90_000)).Flatten(nil).String())
	indexed := classad.MustParseExpr("{ a }" + strings.Repeat(".a", 90_000))
	require.Equal(t, indexed.String(), indexed.Flatten(my).String())
}

// Expressions that take too long or grow too much are left alone.
func TestFlattenIsQuick(t *testing.T) {
	ad := classad.New()
	require.NoError(t, ad.SetExpr("big", "{ "+strings.Repeat("0,", 50_000)+"0 }"))
	require.NoError(t, ad.SetExpr("sum0", "sum(big)"))
	for i := range 9 {
		require.NoError(t, ad.SetExpr(fmt.Sprintf("sum%d", i+1),
			"0"+strings.Repeat(fmt.Sprintf(" + sum%d + TARGET.x", i), 9)))
	}
	_ = classad.MustParseExpr("sum9").Flatten(ad).String()
	var record strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&record, "a%d = 1; ", i)
	}
	require.NoError(t, ad.SetExpr("ad", "[ "+record.String()+" ]"))
	_ = classad.MustParseExpr("ad" + strings.Repeat(".parent.ad", 2_000)).Flatten(ad).String()
	_ = classad.MustParseExpr("ad" + strings.Repeat(" && ad", 2_000)).Explain(classad.Scope{My: ad}).String()
}

// All pairs of a pool match as before when their Requirements are flattened.
func TestFlattenPool(t *testing.T) {
	p := classadtest.Synthetic(1, 50)
	slots, err := p.ParseLines()
	require.NoError(t, err)
	for _, slot := range slots {
		requirements, _ := slot.Lookup("Requirements")
		flat := requirements.Flatten(slot)
		internal, _, err := flat.Refs(slot)
		require.NoError(t, err)
		require.Empty(t, internal)
		for _, job := range p.Jobs {
			require.Equal(t, classad.Accepts(slot, job), flat.Eval(classad.Scope{My: slot, Target: job}).IsTrue())
		}
	}
}

// The cases of the reference give the same values after flattening.
func TestFlattenConformance(t *testing.T) {
	ad := func(c classadtest.Case, text string) *classad.ClassAd {
		parse := classad.Parse
		if c.AdSyntax == "old" {
			parse = classad.ParseOld
		}
		parsed, err := parse(text)
		if err != nil {
			return nil
		}
		return parsed
	}
	flatter := 0
	for _, file := range []string{"eval.jsonl", "function.jsonl"} {
		lines := openCases(t, filepath.Join(corpus, file))
		for lines.Scan() {
			var c classadtest.Case
			require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
			e, err := classad.ParseExpr(c.Expr)
			if err != nil || c.Syntax == "old" {
				continue
			}
			my, target := ad(c, c.Ad), ad(c, c.Target)
			flattens(t, e, my, nil, classad.New(), target)
			if e.Flatten(my) != e {
				flatter++
			}
		}
		require.NoError(t, lines.Err())
	}
	t.Logf("%d expressions became others", flatter)
}

func BenchmarkFlatten(b *testing.B) {
	slot, job := parseAd(b, slotAd), parseAd(b, jobAd)
	requirements, _ := slot.Lookup("Requirements")
	flat := requirements.Flatten(slot)
	b.Run("flatten", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			requirements.Flatten(slot)
		}
	})
	for name, e := range map[string]*classad.Expr{"written": requirements, "flat": flat} {
		b.Run("eval/"+name, func(b *testing.B) {
			for b.Loop() {
				e.Eval(classad.Scope{My: slot, Target: job})
			}
		})
	}
}

// wildExpressions generates texts with everything that flattening must handle with care.
func wildExpressions() *rapid.Generator[string] {
	leaf := rapid.SampledFrom([]string{
		"a", "b", "c", "d", "e", "x", "n", "l", "Requirements", "MY.a", "MY.b", "self.c", "TARGET.a",
		"other.d", "TARGET.x",
		".a", "MY", "TARGET", "parent", "root.a", "left.a", "RIGHT", "symmetricMatch", "CurrentTime",
		"n.x", "n.parent.a",
		"MY.TARGET.a", "TARGET.MY.a", "my.my.b", "n.a", "n.y", "l[0]", "l[1].x", "MY.n.x", "ad",
		"0", "1", "-1", "2.5", "0.1", `"abc"`, `"a"`, `""`, "true", "false", "undefined", "error", "{  }", "[  ]",
		"unparse(a)", "time()", "strcat()", "unknown(a)", `eval("a")`, `eval("TARGET.a")`, "size(MY)", "string(n)",
	})
	operators := rapid.SampledFrom([]string{
		"||", "&&", "&&", "||", "&", "==", "!=", "is", "isnt", "<", ">=", "<<", "+", "-", "*", "/", "%", "?:",
	})
	formats := rapid.SampledFrom([]string{
		"(%s)", " !(%s)", " -(%s)", "(%s).a", "(%s)[0]", "[ a = %s; b = a ].b", "{ %s }[0]", "{ %s,b }", "[ x = %s ]",
		"isUndefined(%s)", "isError(%s)", "string(%s)", "size(%s)", "eval(%s)", "sum({ %s,a })", "member(a,%s)",
		"strcat(%s,a)", "ifThenElse(%s,a,TARGET.b)", "ifThenElse(TARGET.a,%s,b)", "evalInEachContext(a,%s)",
		"unparse(%s)", "unresolved(%s)", "unresolved(a,%s)", "debug(%s)", "random(%s)", "formatTime(%s)",
		"absTime(1 * (%s))",
		"relTime(1 * (%s))", "interval(%s)", "splitTime(%s).Hours", "getHours(%s)", "string(absTime(1 * (%s)))",
		"stringListMax(%s)",
		"userHome(%s)", "userMap(%s,a)", "timezoneOffset() + (%s)", "dayTime() + (%s)", "regexp(%s,b)",
		"countMatches(%s,l)", "real(%s)", "bool(%s)", "toUpper(%s)", "int(%s)",
	})
	expr := rapid.Deferred(func() *rapid.Generator[string] { return leaf })
	for range 3 {
		inner := expr
		expr = rapid.OneOf(
			leaf,
			rapid.Custom(func(t *rapid.T) string {
				return inner.Draw(t, "x") + " " + operators.Draw(t, "op") + " " + inner.Draw(t, "y")
			}),
			rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf(formats.Draw(t, "format"), inner.Draw(t, "x")) }),
			rapid.Custom(func(t *rapid.T) string {
				return inner.Draw(t, "c") + " ? " + inner.Draw(t, "x") + " : " + leaf.Draw(t, "y")
			}),
		)
	}
	return expr
}

// wildNames are the names of the attributes of wild ads; some hide words.
var wildNames = []string{
	"a", "b", "c", "d", "e", "x", "n", "l", "Requirements", "TARGET", "MY", "parent", "left",
	"CurrentTime",
}

func wildAds() *rapid.Generator[*classad.ClassAd] {
	return rapid.Custom(func(t *rapid.T) *classad.ClassAd {
		ad := classad.New()
		for i, name := range wildNames {
			if most := 5 + 4*min(i/9, 1); rapid.IntRange(0, most).Draw(t, "has "+name) < most-4+i/9*3 {
				continue
			}
			text := wildExpressions().Draw(t, name)
			switch {
			case name == "n" && rapid.Bool().Draw(t, "ad"):
				text = "[ x = " + text + "; y = a ]"
			case name == "l" && rapid.Bool().Draw(t, "list"):
				text = "{ " + text + ",[ x = b ] }"
			}
			require.NoError(t, ad.SetExpr(name, text), text)
		}
		return ad
	})
}

// world is a host that supplies everything.
var world = classad.Host{
	Now:      func() int64 { return 1_700_000_000 },
	Zone:     time.FixedZone("east", 5*3600),
	Random:   func() float64 { return 0.25 },
	UserMap:  func(_, user string, _ *int) (string, bool) { return user + "1", true },
	UserHome: func(user string) (string, bool) { return "/home/" + user, true },
}

// flattens requires that for all targets the flattened expression has the value of the expression,
// and that its printed form parses to the same tree.
//
// Circular references are left out: flattening follows them once, so that evaluation meets their
// start one turn later.
func flattens(t require.TestingT, e *classad.Expr, my *classad.ClassAd, targets ...*classad.ClassAd) {
	flat := e.Flatten(my)
	if _, _, err := e.Refs(my); err != nil {
		return
	}
	for _, target := range targets {
		scope := classad.Scope{My: my, Target: target, Host: &world}
		if e.Fails(scope) {
			continue
		}
		want, got := e.Eval(scope), flat.Eval(scope)
		require.Equal(t, want.Kind(), got.Kind(), "%s became %s in %s with %s", e, flat, my, target)
		require.Equal(t, want.String(), got.String(), "%s became %s in %s with %s", e, flat, my, target)
	}
}

func TestFlattenKeepsTheValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := wildExpressions().Draw(t, "text")
		e, err := classad.ParseExpr(text)
		require.NoError(t, err, text)
		my := wildAds().Draw(t, "my")
		flattens(t, e, my, nil, classad.New(), wildAds().Draw(t, "target"), wildAds().Draw(t, "another"))

		flat := e.Flatten(my)
		again, err := classad.ParseExpr(flat.String())
		require.NoError(t, err, flat)
		require.Equal(t, shape(flat.Tree()), shape(again.Tree()), "%s became %s in %s", e, flat, my)
	})
}

// shape shows how operators bind.
func shape(e ast.Expr) string {
	text := fmt.Sprintf("%T", e)
	switch n := e.(type) {
	case *ast.Literal, *ast.Attr:
		return string(ast.Append(nil, n, ast.Canonical))
	case *ast.Select:
		text += n.Name
	case *ast.Unary:
		text += n.Op.String()
	case *ast.Binary:
		text += n.Op.String()
	case *ast.Call:
		text += n.Name
	case *ast.Record:
		return string(ast.Append(nil, n, ast.Canonical))
	default: // the type and the children say everything
	}
	children := ast.Children(e)
	parts := make([]string, len(children))
	for i, child := range children {
		parts[i] = shape(child)
	}
	return text + "(" + strings.Join(parts, ", ") + ")"
}

func FuzzFlatten(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, s, `TARGET.a`)
		f.Add("a && b", s, "b")
	}
	f.Fuzz(func(t *testing.T, expr, a, b string) {
		e, err := classad.ParseExpr(expr)
		if err != nil {
			return
		}
		my, target := classad.New(), classad.New()
		_, _, _ = my.SetExpr("a", a), my.SetExpr("b", b), target.SetExpr("a", b)
		_ = target.SetExpr("c", a)
		flattens(t, e, my, nil, target)
		flattens(t, e, target, nil, my)
		_ = e.Explain(classad.Scope{My: my, Target: target}).String()
		if flat := e.Flatten(my); !joins(flat.String()) {
			reparse(t, flat.String())
		}
	})
}
