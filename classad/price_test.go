package classad_test

import (
	"fmt"
	"iter"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

// fill repeats a text up to about n bytes.
func fill(text string, n int) string { return strings.Repeat(text, max(1, n/len(text))) }

// numbered joins texts made from 0, 1, 2 and so on, up to about n bytes.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// halfway is a number between two neighbours, which only its last digit decides.
const halfway = "1.00000000000000011102230246251565404236316680908203125"

// expensive returns an ad with what costs most in functions, as texts and lists of about n bytes.
func expensive(tb testing.TB, n int) *classad.ClassAd {
	tb.Helper()
	ad := classad.New()
	pattern := min(n, 60_000)
	for name, value := range map[string]string{
		"s": fill("a", n), "t": fill("a", n-1) + "b", "upper": fill("A", n), "blanks": fill(" ", n), "at": fill("@", n),
		"words": fill("a,", n), "commas": fill(",", n), "distinct": numbered("A%d,", n),
		"long":     numbered(strings.Repeat("x", 500)+"%d,", n),
		"denormal": fill("4e-320,", n), "halves": fill(halfway+strings.Repeat("0", 900)+"1,", n),
		"half": halfway + fill("0", n) + "1", "hex": "0x1" + fill("f", n),
		"env": numbered("A%d=1 ", n), "env1": numbered("A%d=1;", n), "quotes": fill("''", n), "quoted": fill("'''' ", n),
		"escapes": fill("\n\"\\", n), "formats": fill("%c", n), "flags": "%" + fill("-", n), "zones": fill("%0Z", n),
		"version": fill("0", n) + "1", "version2": fill("0", n) + "2",
		"sums": fill("1+", n) + "1", "names": fill("a.b+", n) + "1", "record": "[" + numbered("a%d=1;", n) + "]",
		"texts": "{" + fill(`"",`, n) + "1}", "denormals": "{" + fill("4e-320,", n) + "1}",
		"parens": strings.Repeat("(", 900) + fill("1+", n) + "1" + strings.Repeat(")", 900),
		"calls":  fill("f()+", n) + "1", "broken": fill("1+", n), "times": fill(`absTime("2020-01-02T03:04:05Z")+`, n) + "1",
		"groups": fill("()", pattern) + "x", "branches": fill("a|", pattern) + "b", "classes": fill("[^a]", pattern),
		"bytes": fill("b", pattern), "stars": fill("a*", pattern), "optional": fill("a?", pattern),
		"looks": fill("(?<=a)", pattern), "properties": fill(`\pL`, pattern), "nested": fill("(", 240) + fill(")", 240),
		"named": numbered("(?<n%d>)", pattern/2), "invalid": fill("a", pattern) + "(", "comments": fill("(?#)", pattern),
		"repeats": fill("a{2,3}", min(pattern, 5000)), "posix": fill("[[:alpha:]]", pattern),
		"references": "()" + fill(`\1`, pattern), "atoms": fill("(?>a)", pattern), "conditions": "()" + fill("(?(1)a)", pattern),
		"exponential": "(a*)*(a|aa)*(a*)*b",
	} {
		ad.SetString(name, value)
	}
	for name, text := range map[string]string{
		"l": "{" + fill("1,", n/8) + "1}", "reals": "{" + fill("1.5,", n/8) + "1}", "missing": "{" + fill("x,", n/8) + "x}",
		"strings": "{" + fill(`"aaaaaaa",`, n/4) + `"b"}`, "ads": "{" + fill("[a=1],", n/8) + "[a=1]}",
		"lists": "{" + fill("{1},", n/8) + "{1}}", "hards": "{" + fill(`"4e-320",`, n/4) + `"1"}`,
		"tree": fill("1+", n/8) + "1", "many": "[" + numbered("a%d=1;", n) + "]", "texted": `"` + fill("a", n) + `".a`,
		"refs": numbered("x"+strings.Repeat("y", 500)+"%d+", n) + "1", "selects": "a" + fill(".b", n/8),
		"lits":  "{" + `"` + fill("a", n) + `"}`,
		"inner": strings.Repeat("[b=", 900) + "[b=" + fill("zz+", n/8) + "1]" + strings.Repeat("]", 900),
	} {
		require.NoError(tb, ad.SetExpr(name, text), name)
	}
	require.NoError(tb, ad.SetExpr("bottom", "inner"+strings.Repeat(".b", 901)))
	return ad
}

// prices iterates over testdata/prices.txt: expressions in the ad of expensive, with the least number
// of steps that each must be charged if the ad was made for pricedSize.
func prices(tb testing.TB) iter.Seq2[string, int64] {
	tb.Helper()
	file, err := os.ReadFile("testdata/prices.txt")
	require.NoError(tb, err)
	return func(yield func(string, int64) bool) {
		for line := range strings.Lines(string(file)) {
			steps, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if strings.HasPrefix(line, "#") {
				continue
			}
			least, err := strconv.ParseInt(steps, 10, 64)
			require.True(tb, ok && err == nil, line)
			if !yield(text, least) {
				return
			}
		}
	}
}

const pricedSize = 10_000

// Nothing is sold below the price that was measured for it, in the first evaluation and later.
func TestPrices(t *testing.T) {
	ad, n := expensive(t, pricedSize), 0
	for text, least := range prices(t) {
		e := classad.MustParseExpr(text)
		var first, second classad.Meter
		e.Eval(priceScope(ad, &first))
		require.GreaterOrEqual(t, first.Steps(), least, text)
		e.Eval(priceScope(ad, &second))
		require.Equal(t, first, second, text)
		n++
	}
	require.Greater(t, n, 200)
}

// Every function has a price.
func TestAllFunctionsHavePrices(t *testing.T) {
	var all strings.Builder
	for text := range prices(t) {
		all.WriteString(strings.ToLower(text) + " ")
	}
	for _, f := range classad.Builtins() {
		require.Contains(t, all.String(), strings.ToLower(f.Name)+"(")
	}
}

var priceHost = classad.Host{
	Now: func() int64 { return 1_800_000_000 }, Random: func() float64 { return 0.5 },
}

func priceScope(ad *classad.ClassAd, m *classad.Meter) classad.Scope {
	return classad.Scope{My: ad, MaxSteps: 3_000_000, Meter: m, Host: &priceHost}
}

// processorTime returns how many nanoseconds of processor time the process has used. Other programs
// on the machine do not change it.
func processorTime(b *testing.B) int64 {
	b.Helper()
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return used.Utime.Nano() + used.Stime.Nano()
}

// BenchmarkPricePerStep measures what a step takes: nanoseconds and bytes. A step is sold for 50 ns
// and 100 bytes, whatever the expression.
func BenchmarkPricePerStep(b *testing.B) {
	for _, size := range []int{100, pricedSize, 500_000} {
		ad := expensive(b, size)
		for text := range prices(b) {
			b.Run(fmt.Sprintf("%d/%s", size, text), func(b *testing.B) {
				e := classad.MustParseExpr(text)
				var m classad.Meter
				e.Eval(priceScope(ad, nil))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				start := processorTime(b)
				for b.Loop() {
					e.Eval(priceScope(ad, &m))
				}
				used := processorTime(b) - start
				runtime.ReadMemStats(&after)
				steps := float64(m.Steps())
				b.ReportMetric(float64(used)/steps, "ns/step")
				b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/steps, "B/step")
				b.ReportMetric(steps/float64(b.N), "steps/op")
			})
		}
	}
}
