package classad_test

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

func within(t *testing.T, most time.Duration, do func()) {
	t.Helper()
	start := time.Now() //nolint:forbidigo // a hang shows in real time only
	do()
	require.Less(t, time.Since(start), most) //nolint:forbidigo // as above
}

// attributes returns many attributes with different names.
func attributes(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// Each of these took minutes or hours before its work was counted as steps, also with the shorter
// chains without -thorough. The chains join copies of an expression.
func TestHostileExpressionsEnd(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	many := attributes(50_000, "a%d=1;")
	chain := func(e, op string, n int) string { return e + strings.Repeat(op+e, n/thorough.Cases(4, 1)-1) }
	for name, c := range map[string]struct{ ad, expr string }{
		"size of the ad around a match": {many, chain("size(root)", "+", 10_000)},
		"text of an ad":                 {many, chain("strcmp(self, self)", "+", 10_000)},
		"text of an ad, pieces":         {many, "size(strcat(" + chain("self", ",", 10_000) + "))"},
		"comparing long strings":        {`s="` + long + `b";t="` + long + `c"`, chain("s==t", "||", 50_000)},
		"comparing long elements": {
			`l={` + chain("s", ",", 10_000) + `};s="` + long + `b";t="` + long + `c"`,
			chain("member(t,l)", "||", 100),
		},
		"stricmp":    {`s="` + long + `"`, chain("stricmp(s,s)", "+", 50_000)},
		"subscripts": {`s="` + long + `"`, chain("self[s]", "||", 50_000)},
		"what begins like a number": {
			`s="` + strings.Repeat("1", 500) + strings.Repeat("e", 500) + `"`,
			chain("int(s)", "+", 50_000),
		},
		"selecting when steps are used up": {
			"x=x;l={" + chain("[a=1]", ",", 100_000) + "}",
			"x+" + chain("size(l.a)", "+", 20_000),
		},
		"unresolved": {"x=" + chain("q", "+", 50_000), chain("unresolved(x)", "+", 20_000)},
		"long names": {"x='" + long + "';'" + long + "'=1", chain("x", "+", 70_000)},
		"splitting": {
			`s="` + strings.Repeat("a,", 1<<15) + `"`,
			"size(strcat(" + chain("split(s)", ",", 50_000) + "))",
		},
		"patterns on long texts": {`s="` + long + `"`, chain(`regexp("b", s)`, "||", 50_000)},
		"long patterns": {
			`s="` + long + `"`,
			`regexp(strcat(".", "` + long[:30_000] + `b"), s, "i")`,
		},
		"long pattern behind a repetition":  {`s="` + long + `"`, `regexp("a*` + long[:30_000] + `b", s)`},
		"patterns with exponential choices": {`s="` + long[:40_000] + `"`, `regexp("(a*)*(a|aa)*(a*)*b", s)`},
		"the own ad, again and again":       {many, chain("self", "+", 20_000)},
	} {
		t.Run(name, func(t *testing.T) {
			ad, err := classad.Parse("[" + c.ad + "]")
			require.NoError(t, err)
			e, err := classad.ParseExpr(c.expr)
			require.NoError(t, err)
			scope := classad.Scope{My: ad, Target: ad}
			within(t, time.Minute, func() {
				e.Eval(scope)
				_, _, _ = e.Refs(ad)
				e.Flatten(ad)
				e.Explain(scope)
			})
		})
	}
}

// The elements of a list share the steps of one evaluation.
func TestItemsEnd(t *testing.T) {
	ad, err := classad.Parse("[ x = " + strings.Repeat("1+", 50_000) + "1; y = " + strings.Repeat("x+", 9) +
		"x; l = { " + strings.Repeat("y,", 1000) + "y } ]")
	require.NoError(t, err)
	items, ok := classad.Scope{My: ad}.Attr("l").Items()
	require.True(t, ok)
	require.Equal(t, classad.Integer, items[0].Kind())
	require.Equal(t, classad.Error, items[1000].Kind())
}

// sums returns an ad in which x9 takes ten times the steps of x8, and so on.
func sums(t *testing.T) *classad.ClassAd {
	t.Helper()
	ad := classad.New()
	ad.SetInt("x0", 1)
	for i := range 9 {
		before := fmt.Sprint("x", i)
		require.NoError(t, ad.SetExpr(fmt.Sprint("x", i+1), before+strings.Repeat("+"+before, 9)))
	}
	return ad
}

// An evaluation that exceeds the scope's steps is error as a whole, with the default, fewer, and
// more steps.
func TestMaxSteps(t *testing.T) {
	ad := sums(t)
	require.NoError(t, ad.SetExpr("l", "{ 1, x2, x2 }"))
	ad.SetString("s", strings.Repeat("a", 1000))
	for _, c := range []struct {
		text     string
		maxSteps int
		want     string
	}{
		{"x5", 0, "100000"},
		{"x5", -1, "100000"},
		{"x5", math.MinInt, "100000"},
		{"x5", math.MaxInt, "100000"},
		{"x6", 0, "error"},
		{"x6", 10_000_000, "1000000"},
		{"x2", 209, "error"}, // the name, a sum of ten names and ten such sums with 19 nodes each
		{"x2", 210, "100"},
		{"1", 1, "1"},
		{"1 + 1", 1, "error"},
		{"isError(x2) || true", 100, "error"},
		{"isError({ x2 }[0]) || true", 100, "error"},
		{"countMatches(x2 > 0, { MY, MY })", 100, "error"},
		{"countMatches(x2 > 0, { MY, MY })", 1000, "2"},
		{"size(strcat(s, s, s, s))", 50, "error"},
		{"size(strcat(s, s, s, s))", 300, "4000"},
		{`regexp("(a*)*b", s)`, 1000, "error"},
		{`regexps("(?(DEFINE)(.{900}\\K))(?=(?1))", s, "\\0", "g")`, 1000, "error"}, // its match ends before it begins
		{"countMatches(1+1+1+1+1+1+1+1+1+1 > 0, { MY, MY, MY, MY, MY, MY, MY, MY, MY, MY })", 200, "error"},
		{`regexp("a+", s)`, 1000, "true"},
		{`{ regexp("a+", s) }[0]`, math.MaxInt, "true"},
	} {
		scope := classad.Scope{My: ad, MaxSteps: c.maxSteps}
		require.Equal(t, c.want, evalIn(t, scope, c.text), "%s in %d steps", c.text, c.maxSteps)
	}
	within(t, 10*time.Second, func() { // it would take several times as long if a search ignored the limit
		for range 500 {
			evalIn(t, classad.Scope{My: ad, MaxSteps: 1000}, `regexp("(a*)*b", s)`)
		}
	})
}

// Everything that evaluates in a scope keeps to its steps.
// TestStepsRunOutAnywhere: wherever an evaluation is when its steps run out, its value is error.
func TestStepsRunOutAnywhere(t *testing.T) {
	ad, err := classad.Parse(`[ a = 1; l = { [ a = 1 ], [ b = 2 ] }; inner = [ c = 3 ] ]`)
	require.NoError(t, err)
	for _, text := range []string{
		"countMatches(a, l)", "countMatches(nowhere, l)", "evalInEachContext(inner.nowhere, l)",
		"evalInEachContext(.nowhere, l)", "evalInEachContext(MY.a + TARGET.b, l)", "sum(l.a) + parent.a",
	} {
		e, err := classad.ParseExpr(text)
		require.NoError(t, err)
		enough := 0
		for steps := 1; steps < 200; steps++ {
			scope := classad.Scope{My: ad, Target: ad, MaxSteps: steps}
			if e.Fails(scope) {
				require.Equal(t, classad.Error, e.Eval(scope).Kind(), "%s with %d steps", text, steps)
				continue
			}
			enough++
		}
		require.Positive(t, enough, text)
	}
}

func TestMaxStepsOfMatchesItemsAndExplanations(t *testing.T) {
	ad := sums(t)
	require.NoError(t, ad.SetExpr("Requirements", "TARGET.x3 == 1000"))
	require.NoError(t, ad.SetExpr("Rank", "TARGET.x3"))
	for _, c := range []struct {
		maxSteps int
		match    bool
		rank     float64
		items    string
		explains string
	}{
		{0, true, 1000, "[1 1000 1000]", "true"},
		{5000, true, 1000, "[1 1000 1000]", "true"},
		{3000, true, 1000, "[1 1000 error]", "true"}, // all elements share them
		{1000, false, 0, "[1 error error]", "error"},
	} {
		pair := classad.Pair{Left: ad, Right: ad, MaxSteps: c.maxSteps}
		require.Equal(t, c.match, pair.Match(), c.maxSteps)
		require.Equal(t, c.match, pair.LeftMatchesRight(), c.maxSteps)
		require.Equal(t, c.match, pair.RightMatchesLeft(), c.maxSteps)
		require.InDelta(t, c.rank, pair.LeftRank(), 0, c.maxSteps)
		require.InDelta(t, c.rank, pair.RightRank(), 0, c.maxSteps)
		scope := classad.Scope{My: ad, Target: ad, MaxSteps: c.maxSteps}
		items, ok := classad.MustParseExpr("{ 1, x3, x3 }").Eval(scope).Items()
		require.True(t, ok)
		require.Equal(t, c.items, fmt.Sprint(items), c.maxSteps)
		require.Equal(t, c.explains, classad.MustParseExpr("Requirements").Explain(scope).Value, c.maxSteps)
	}
	parts := classad.MustParseExpr("true && (x2 > 0 || x3 > 0) && x2 > 1")
	require.Len(t, parts.Explain(classad.Scope{My: ad}).Parts, 3)
	require.Empty(t, parts.Explain(classad.Scope{My: ad, MaxSteps: 500}).Parts)
}

// A failure by a limit leaves nothing behind in the memory that the next evaluation uses.
func TestEvaluatingGoesOnAfterALimit(t *testing.T) {
	ad, err := classad.Parse("[ x = x; y = strcat(y, y); l = { l[0] }; a = 1 ]")
	require.NoError(t, err)
	for range 20 {
		for _, name := range []string{"x", "y"} {
			require.Equal(t, classad.Error, ad.Eval(name, ad).Kind())
		}
		require.Equal(t, "error", classad.MustParseExpr("l[0]").Eval(classad.Scope{My: ad}).String())
		require.Equal(t, "2", classad.MustParseExpr("a + TARGET.a").Eval(classad.Scope{My: ad, Target: ad}).String())
	}
}

func TestTextsWithTooManyTokens(t *testing.T) {
	const n = 1 << 20
	for _, text := range []string{"{" + strings.Repeat("1,", n) + "1}", strings.Repeat("[]", n)} {
		var syntax *classad.SyntaxError
		_, err := classad.ParseExpr(text)
		require.ErrorAs(t, err, &syntax)
	}
}

// hostileStream supplies one ad after another, each made from its number.
type hostileStream struct {
	left, number int
	ad           func(number int) string
	rest         string
}

func (s *hostileStream) Read(b []byte) (int, error) {
	if s.rest == "" {
		if s.left <= 0 {
			return 0, io.EOF
		}
		s.number++
		s.rest = s.ad(s.number)
		s.left -= len(s.rest)
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// A parser's memory is bounded, whatever it reads. Without forgetting, expressions and long strings
// would take half as much again as is allowed here.
func TestStreamsTakeBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads many megabytes")
	}
	const most = 80 << 20 // the parser's memory and one ad
	long := strings.Repeat("x", 1<<20)
	sum := "(" + strings.Repeat("a+", 1900) + "a)"
	lines := attributes(20_000, "a%d=1\n")
	for name, c := range map[string]struct {
		size int
		ad   func(i int) string
	}{
		"prefixes of one ad": {32 << 20, func(i int) string {
			return lines[:strings.LastIndexByte(lines[:len(lines)-i%10_000], '\n')] + "\n\n"
		}},
		"new names and expressions":  {9 << 18, func(i int) string { return fmt.Sprintf("a%d=%d+%s\n\n", i, i, sum) }},
		"new names and long strings": {120 << 20, func(i int) string { return fmt.Sprintf("a%d=\"%s\"\n\n", i, long) }},
		"JSON":                       {120 << 20, func(i int) string { return fmt.Sprintf(`{"a%d": "%s"}`, i, long) }},
		"XML": {120 << 20, func(i int) string {
			return fmt.Sprintf(`<c><a n="a%d"><s>%s</s></a></c>`, i, long)
		}},
		"broken ads": {8 << 20, func(i int) string { return fmt.Sprintf("a%d=%s\na=(\n\n", i, sum) }},
	} {
		t.Run(name, func(t *testing.T) {
			if (name == "JSON" || name == "XML") && !thorough.On() {
				t.Skip("skipped: this parser forgets where that of lines does, but for -thorough")
			}
			before, peak, n := heapInUse(), uint64(0), 0
			for ad, err := range classad.ReadAds(&hostileStream{left: c.size, ad: c.ad}, "stream") {
				_, _ = ad, err
				if n++; n%40 == 0 {
					peak = max(peak, heapInUse())
				}
			}
			require.Less(t, peak-min(peak, before), uint64(most))
		})
	}
}

func heapInUse() uint64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}
