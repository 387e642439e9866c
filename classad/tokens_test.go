package classad_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/classad/classadtest"
)

// nodes counts the nodes of all expressions of an ad, and its names.
func nodes(ad *classad.ClassAd) (n int) {
	for _, e := range ad.All() {
		n += 1 + below(e.Tree())
	}
	return n
}

// below counts a node and those below it.
func below(e ast.Expr) int {
	n := 1
	for _, child := range ast.Children(e) {
		n += below(child)
	}
	return n
}

// Tokens says how many there are at most, and not many times too many.
func TestTokens(t *testing.T) {
	for expression, want := range map[string]int{
		``: 0, `1`: 1, `a + b`: 3, `"a + b"`: 1, `"\"+\"" + 1`: 3, `"ends with\"`: 1, `'a + b'.c`: 3,
		`1 /* " */ + /* ' */ 2`: 3, `{1, 1} // " + 1`: 5, `"a`: 1, `1 /* 2 + 3`: 1, `f(1, 2)`: 6,
		`a =?= b`: 5, `1.5`: 3, `"a" + 'b" + c' + "d"`: 5, `a/b`: 3, `"a\\" + 1`: 1,
	} {
		require.Equal(t, want+2, classad.Tokens([]byte("X = "+expression+"\n")), "%s", expression)
	}
	require.Equal(t, 2*(2+5), classad.Tokens([]byte("a\"=b+{1}\n'= c+{1}\r\n# a comment\n")))
	for _, e := range classadtest.Worst() {
		ad, err := classad.ParseOld("X = " + e)
		if err != nil {
			continue
		}
		require.LessOrEqual(t, nodes(ad), classad.Tokens([]byte("X = "+e)), "%.100s", e)
	}
}

// FuzzTokens compares the number of nodes of an ad with what Tokens says before it is parsed.
func FuzzTokens(f *testing.F) {
	for _, e := range classadtest.Worst() {
		f.Add("X = " + e[:min(len(e), 200)])
	}
	f.Add("a = \"x\\\"\r\nb = /* \" */ {1,2,'\\'',\"\\\"\"}\n")
	f.Add("a\" = [b = {1}].b ?: f(1; 2) // x")
	f.Fuzz(func(t *testing.T, text string) {
		ad, err := classad.ParseOld(text)
		if err != nil {
			return
		}
		if most, n := classad.Tokens([]byte(text)), nodes(ad); n > most {
			t.Fatalf("%d nodes in %q, of which Tokens says %d", n, text, most)
		}
	})
}

// A comment, a text and a list of 256 KiB.
func BenchmarkTokens(b *testing.B) {
	for name, text := range map[string]string{
		"list": "{" + strings.Repeat("1,", 128<<10) + "1}", "text": `"` + strings.Repeat("a+", 128<<10) + `"`,
		"requirements": strings.Repeat(`(TARGET.Arch == "X86_64") && `, 9000) + "true",
	} {
		b.Run(name, func(b *testing.B) {
			lines := []byte("Requirements = " + text)
			b.SetBytes(int64(len(lines)))
			for b.Loop() {
				classad.Tokens(lines)
			}
		})
	}
}
