package classad_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/classad/parser"
)

const blanks = " \t\n\v\f\r"

// grammatical parses lines or brackets by the grammar alone, token by token.
func grammatical(text string, lines bool) (string, bool) {
	if !lines {
		tree, err := parser.Ad(text)
		if err != nil {
			return "", false
		}
		return string(ast.Append(nil, tree, ast.Canonical)), true
	}
	tree := ast.NewRecord(0)
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, "\r")
		if trimmed := strings.TrimLeft(line, blanks); trimmed == "" || trimmed[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimRight(strings.TrimLeft(name, blanks), " ")
		e, err := parser.LinePrefix(value)
		if !ok || name == "" || err != nil {
			return "", false
		}
		tree.Set(name, e)
	}
	return string(ast.Append(nil, tree, ast.Canonical)), true
}

var plainSeeds = []string{
	`[ a = 1; b = "x"; c = -2.5e3; d = a + b; ]`, `[a=true;A=FALSE;b=undefined]`, `[]`, ` [ ; a = 1 ] `, `[ a = 1 ] x`,
	`[ a = 017; b = -017; c = 1.; d = .5; e = 1e400; f = 12345678901234567890 ]`, `[ true = 1 ]`,
	`[ 'x y' = 1; x = 'y z' ]`,
	`[ a = "x" "y"; b = "\n"; c = "]"; d = { 1, [ e = ";" ] } ]`, `[ a = 1 // ]
	; b = /* ; */ 2 ]`, `[ a = b ? c : d ) ; e = 1 ]`, `[ a == 1 ]`, `[ a =?= 1 ]`,
	`[ a =  ]`, `[ a = ]]`, `[ a = 1 2; ]`,
	"[ a = \"\x00\" ]",
	"a = 1\nb = \"x\\\"y\"\nc = \"ends \\\"\n", "# no\n\n a\t= 5 junk\nb = a ? 1 : 2 ) x\r\n", "a = 1\na = 2\nA = 3\n",
	"a = TRUE\nb = \"a\" \"b\"\n",
	"no equals", "= 1", "a =", "a = \"x\" // c\nb = -\n", "a = 1\n\n\nb = 2", "a = 1.5E-3\nb = 1e5\nc = -0.0\nd = -0\n",
}

// The plain path and the grammar agree, whatever the parser has seen before.
func FuzzPlain(f *testing.F) {
	for i, s := range plainSeeds {
		f.Add(plainSeeds[(i+1)%len(plainSeeds)], s)
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, before, text string) {
		for name, lines := range map[string]bool{"brackets": false, "lines": true} {
			var p classad.Parser
			parse := p.Parse
			if lines {
				parse = p.ParseOld
			}
			_, _ = parse(before)
			_, _ = parse(before)
			want, ok := grammatical(text, lines)
			for range 3 {
				ad, err := parse(text)
				require.Equal(t, ok, err == nil, "%s: %v", name, err)
				if ok {
					require.Equal(t, want, ad.String(), name)
				}
			}
		}
	})
}

// Sharing between ads is invisible: changing one changes no other.
func TestParsedAdsAreIndependent(t *testing.T) {
	var p classad.Parser
	texts := []string{
		`[ a = 1; b = "x"; c = a + 1 ]`, `[ a = 1; b = "x"; c = a + 1 ]`, `[ a = 2; b = "x"; c = a + 1 ]`,
		`[ a = 2; b = "y"; c = a + 1; d = 4 ]`, `[ a = 1; b = "x"; A = 3; c = a + 1 ]`, `[ a = 1; b = "x"; c = a + 2 ]`,
	}
	var ads []*classad.ClassAd
	for range 2 {
		for _, text := range texts {
			ad, err := p.Parse(text)
			require.NoError(t, err)
			ads = append(ads, ad)
		}
	}
	for i, ad := range ads {
		changed := ad.Clone()
		changed.SetInt("a", 100)
		changed.SetString("new", "n")
		changed.Delete("b")
		require.Equal(t, parseAd(t, texts[i%len(texts)]).String(), ad.String())
		require.Equal(t, "100", changed.Eval("a", nil).String())
		require.Equal(t, "undefined", changed.Eval("b", nil).String())
	}
	ads[0].SetInt("a", 7)
	ads[1].Delete("c")
	require.Equal(t, "8", ads[0].Eval("c", nil).String())
	for i, ad := range ads[2:] {
		require.Equal(t, parseAd(t, texts[(i+2)%len(texts)]).String(), ad.String())
	}
}

// A parser's memory is bounded, whatever it reads.
func TestParserForgets(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: reads 100 MB")
	}
	var p classad.Parser
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	text := strings.Repeat("x", 1000)
	for i := range 100_000 {
		name := "n" + strings.Repeat("a", i%7) + string(rune('a'+i%26)) + text[:i%50]
		ad, err := p.ParseOld(name + ` = "` + text + string(rune('a'+i%26)) + `"` + "\n" + name +
			text[:i%200] + " = 1 +" + text[:i%900])
		if i%900 == 0 {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		require.LessOrEqual(t, ad.Len(), 2)
	}
	require.Less(t, heap(), before+80<<20)
	runtime.KeepAlive(&p)
}
