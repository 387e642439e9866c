package classad_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

func eval(t *testing.T, text string) string {
	t.Helper()
	e, err := classad.ParseExpr(text)
	require.NoError(t, err)
	return e.Eval(classad.Scope{}).String()
}

// The logical operators over all kinds of operands: rows are the left side, columns the right one.
func TestTruthTables(t *testing.T) {
	operands := []string{"false", "true", "undefined", "error", `"text"`}
	tables := map[string][][]string{
		"&&": {
			{"false", "false", "false", "false", "false"},
			{"false", "true", "undefined", "error", "error"},
			{"false", "undefined", "undefined", "error", "error"},
			{"error", "error", "error", "error", "error"},
			{"error", "error", "error", "error", "error"},
		},
		"||": {
			{"false", "true", "undefined", "error", "error"},
			{"true", "true", "true", "true", "true"},
			{"undefined", "true", "undefined", "error", "error"},
			{"error", "error", "error", "error", "error"},
			{"error", "error", "error", "error", "error"},
		},
		"==": {
			{"true", "false", "undefined", "error", "error"},
			{"false", "true", "undefined", "error", "error"},
			{"undefined", "undefined", "undefined", "error", "undefined"},
			{"error", "error", "error", "error", "error"},
			{"error", "error", "undefined", "error", "true"},
		},
		"is": {
			{"true", "false", "false", "false", "false"},
			{"false", "true", "false", "false", "false"},
			{"false", "false", "true", "false", "false"},
			{"false", "false", "false", "true", "false"},
			{"false", "false", "false", "false", "true"},
		},
		"?:": {
			{"false", "false", "false", "false", "false"},
			{"true", "true", "true", "true", "true"},
			{"false", "true", "undefined", "error", `"text"`},
			{"error", "error", "error", "error", "error"},
			{`"text"`, `"text"`, `"text"`, `"text"`, `"text"`},
		},
	}
	for operator, table := range tables {
		for i, x := range operands {
			for j, y := range operands {
				text := x + " " + operator + " " + y
				require.Equal(t, table[i][j], eval(t, text), text)
			}
		}
	}
}

// Every function has an example that is true, and documentation.
func TestBuiltinExamples(t *testing.T) {
	known := map[string]bool{}
	for _, b := range classad.Builtins() {
		t.Run(b.Name, func(t *testing.T) {
			require.Equal(t, "true", eval(t, b.Example), b.Example)
			require.Contains(t, strings.ToLower(b.Example), strings.ToLower(b.Name+"("))
			require.True(t, strings.HasSuffix(b.Doc, "."), b.Doc)
		})
		known[strings.ToLower(b.Name)] = true
	}
	require.Len(t, known, 94, "HTCondor 23.9.6 has 94 functions")
}

// An evaluation that exceeds a limit fails as a whole and soon, and no function catches the
// failure.
func TestLimits(t *testing.T) {
	doubling := classad.New()
	doubling.SetString("x0", strings.Repeat("x", 1000))
	wide := sums(t)
	for _, step := range []string{"x1=x0", "x2=x1", "x3=x2", "x4=x3", "x5=x4", "x6=x5", "x7=x6", "x8=x7", "x9=x8"} {
		name, before, _ := strings.Cut(step, "=")
		require.NoError(t, doubling.SetExpr(name, "strcat("+strings.Repeat(before+",", 9)+before+")"))
	}
	circle, err := classad.Parse(`[ a = b; b = isError(a) ]`)
	require.NoError(t, err)
	require.Equal(t, "error", doubling.Eval("x9", nil).String())
	require.Equal(t, "error", wide.Eval("x9", nil).String())
	require.Equal(t, "error", circle.Eval("b", nil).String())
	require.Equal(t, "100000", classad.Scope{My: wide}.Attr("x5").String())

	_, err = classad.ParseExpr(strings.Repeat("!", 200_000) + "x")
	require.ErrorContains(t, err, "nested too deeply")
	e, err := classad.ParseExpr("0" + strings.Repeat("+1", 100_000))
	require.NoError(t, err)
	require.Equal(t, "100000", e.Eval(classad.Scope{}).String())
}

func TestScopeWithClock(t *testing.T) {
	e := classad.MustParseExpr("{ time(), CurrentTime }[0] + CurrentTime")
	require.Equal(t, "undefined", e.Eval(classad.Scope{}).String())
	require.Equal(t, "84", e.Eval(classad.Scope{Host: &classad.Host{Now: func() int64 { return 42 }}}).String())
}

func TestGetters(t *testing.T) {
	ad, err := classad.Parse(`[ i = 1 + 1; r = 1.5; s = "x"; b = i == 2; l = { i, r }; n = [ a = i ] ]`)
	require.NoError(t, err)
	i, ok := ad.Int("I")
	require.True(t, ok)
	require.Equal(t, int64(2), i)
	r, ok := ad.Real("i")
	require.True(t, ok)
	require.InDelta(t, 2.0, r, 0)
	s, ok := ad.Text("s")
	require.True(t, ok)
	require.Equal(t, "x", s)
	b, ok := ad.Bool("b")
	require.True(t, ok)
	require.True(t, b)
	_, ok = ad.Int("r")
	require.False(t, ok)
	_, ok = ad.Bool("missing")
	require.False(t, ok)
	items, ok := ad.Eval("l", nil).Items()
	require.True(t, ok)
	require.Len(t, items, 2)
	require.Equal(t, "2", items[0].String())
	nested, ok := ad.Eval("n", nil).Ad()
	require.True(t, ok)
	require.Equal(t, "[ a = i ]", nested.String())
}

func TestAdNames(t *testing.T) {
	ad := classad.New()
	for _, name := range []string{"B", "a", "b", "C", "d", "e", "f", "g", "h", "i"} {
		ad.SetString(name, name)
	}
	copied := ad.Clone()
	ad.Delete("A")
	ad.Delete("none")
	require.Equal(t, 8, ad.Len())
	require.Equal(t, 9, copied.Len())
	_, ok := ad.Lookup("a")
	require.False(t, ok)
	e, ok := ad.Lookup("b")
	require.True(t, ok)
	require.Equal(t, `"b"`, e.String())
	var names []string
	for name := range ad.All() {
		names = append(names, name)
	}
	require.Equal(t, []string{"B", "C", "d", "e", "f", "g", "h", "i"}, names)
}

// Many goroutines match one pair of ads; the race detector watches.
func TestMatchConcurrently(t *testing.T) {
	job, slot := parseAd(t, jobAd), parseAd(t, slotAd)
	var all sync.WaitGroup
	var matches atomic.Int64
	for range 8 {
		all.Go(func() {
			for range 100 {
				if classad.Match(job, slot) {
					matches.Add(1)
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, int64(800), matches.Load())
}

// Circular references that go through lists and contexts as well as names.
func TestCirclesThroughListsAndContexts(t *testing.T) {
	for _, text := range []string{
		`[ a = l[0]; l = { l[0] } ]`,
		`[ a = l[0]; l = { 1 + sum(l) } ]`,
		`[ a = l[0]; l = { { l[0] }[0], l } ]`,
		`[ a = countMatches(a, { [ x = 1 ] }) ]`,
		`[ a = evalInEachContext(MY.a, { [ x = 1 ], [ y = 2 ] })[0] ]`,
		`[ a = size(evalInEachContext(b, { [ x = 1 ], [ y = 2 ] })); b = evalInEachContext(b, { [ x = 1 ` +
			`], [ y = 2 ] }) ]`,
	} {
		require.Equal(t, "error", parseAd(t, text).Eval("a", nil).String(), text)
	}
	deep := strings.Repeat("{ ", 400) + "7" + strings.Repeat(" }[0]", 400)
	require.Equal(t, "7", eval(t, deep))
}
