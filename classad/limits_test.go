package classad_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

func within(t *testing.T, most time.Duration, do func()) {
	t.Helper()
	start := time.Now() //nolint:forbidigo // a hang shows in real time only
	do()
	require.Less(t, time.Since(start), most) //nolint:forbidigo // as above
}

// attributes are many, all with different names.
func attributes(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// Each of these took minutes or hours before what it does was counted as steps. The chains join copies of an expression.
func TestHostileExpressionsEnd(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	many := attributes(50_000, "a%d=1;")
	chain := func(e, op string, n int) string { return e + strings.Repeat(op+e, n-1) }
	for name, c := range map[string]struct{ ad, expr string }{
		"size of the ad around a match":     {many, chain("size(root)", "+", 10_000)},
		"text of an ad":                     {many, chain("strcmp(self, self)", "+", 10_000)},
		"text of an ad, pieces":             {many, "size(strcat(" + chain("self", ",", 10_000) + "))"},
		"comparing long strings":            {`s="` + long + `b";t="` + long + `c"`, chain("s==t", "||", 50_000)},
		"comparing long elements":           {`l={` + chain("s", ",", 10_000) + `};s="` + long + `b";t="` + long + `c"`, chain("member(t,l)", "||", 100)},
		"stricmp":                           {`s="` + long + `"`, chain("stricmp(s,s)", "+", 50_000)},
		"subscripts":                        {`s="` + long + `"`, chain("self[s]", "||", 50_000)},
		"what begins like a number":         {`s="` + strings.Repeat("1", 500) + strings.Repeat("e", 500) + `"`, chain("int(s)", "+", 50_000)},
		"selecting when steps are used up":  {"x=x;l={" + chain("[a=1]", ",", 100_000) + "}", "x+" + chain("size(l.a)", "+", 20_000)},
		"unresolved":                        {"x=" + chain("q", "+", 50_000), chain("unresolved(x)", "+", 20_000)},
		"long names":                        {"x='" + long + "';'" + long + "'=1", chain("x", "+", 70_000)},
		"splitting":                         {`s="` + strings.Repeat("a,", 1<<15) + `"`, "size(strcat(" + chain("split(s)", ",", 50_000) + "))"},
		"patterns on long texts":            {`s="` + long + `"`, chain(`regexp("b", s)`, "||", 50_000)},
		"long patterns":                     {`s="` + long + `"`, `regexp(strcat(".", "` + long[:30_000] + `b"), s, "i")`},
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

// The elements of a list have the steps of one evaluation together.
func TestItemsEnd(t *testing.T) {
	ad, err := classad.Parse("[ x = " + strings.Repeat("1+", 50_000) + "1; y = " + strings.Repeat("x+", 9) + "x; l = { " + strings.Repeat("y,", 1000) + "y } ]")
	require.NoError(t, err)
	items, ok := ad.Eval("l", nil).Items()
	require.True(t, ok)
	require.Equal(t, classad.Integer, items[0].Kind())
	require.Equal(t, classad.Error, items[1000].Kind())
}

// What fails by a limit leaves nothing behind in the memory that the next evaluation uses.
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

// hostileStream gives an ad after another, each made from its number.
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

// What a parser remembers is bounded, whatever it reads.
func TestStreamsTakeBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads many megabytes")
	}
	long := strings.Repeat("x", 1<<20)
	sum := "(" + strings.Repeat("a+", 1900) + "a)"
	lines := attributes(20_000, "a%d=1\n")
	for name, c := range map[string]struct {
		size int
		ad   func(i int) string
	}{
		"prefixes of one ad":         {32 << 20, func(i int) string { return lines[:strings.LastIndexByte(lines[:len(lines)-i%10_000], '\n')] + "\n\n" }},
		"new names and expressions":  {4 << 20, func(i int) string { return fmt.Sprintf("a%d=%d+%s\n\n", i, i, sum) }},
		"new names and long strings": {200 << 20, func(i int) string { return fmt.Sprintf("a%d=%q\n\n", i, long) }},
		"JSON":                       {200 << 20, func(i int) string { return fmt.Sprintf(`{"a%d": %q}`, i, long) }},
		"XML":                        {200 << 20, func(i int) string { return fmt.Sprintf(`<c><a n="a%d"><s>%s</s></a></c>`, i, long) }},
		"broken ads":                 {8 << 20, func(i int) string { return fmt.Sprintf("a%d=%s\na=(\n\n", i, sum) }},
	} {
		t.Run(name, func(t *testing.T) {
			before, most, n := heapInUse(), uint64(0), 0
			for ad, err := range classad.ReadAds(&hostileStream{left: c.size, ad: c.ad}, "stream") {
				_, _ = ad, err
				if n++; n%100 == 0 && n < 2000 {
					most = max(most, heapInUse())
				}
			}
			most = max(most, heapInUse())
			require.Less(t, most-min(most, before), uint64(160<<20))
		})
	}
}

func heapInUse() uint64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}
