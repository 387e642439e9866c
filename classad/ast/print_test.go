package ast_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// Runs of plain characters are copied at once; the text is that of one character after the other.
func TestStringsAreEscapedByteByByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.OneOf(rapid.SampledFrom([]byte(`ab"\'~ `)), rapid.Byte())).Draw(t, "bytes"))
		var canonical, line strings.Builder
		for _, c := range []byte(s) {
			one := string([]byte{c})
			line.WriteString(strings.ReplaceAll(one, `"`, `\"`))
			switch {
			case c == '"' || c == '\\':
				canonical.WriteString(`\` + one)
			case c >= 7 && c <= 13:
				canonical.WriteString(`\` + "abtnvfr"[c-7:c-6])
			case c < ' ' || c > '~':
				fmt.Fprintf(&canonical, `\%03o`, c)
			default:
				canonical.WriteString(one)
			}
		}
		require.Equal(t, `"`+canonical.String()+`"`, string(ast.AppendString(nil, s, ast.Canonical)))
		require.Equal(t, `"`+line.String()+`"`, string(ast.AppendString(nil, s, ast.Line)))
	})
}

// Names that are keywords get quotes in any case, and no other identifiers do.
func TestKeywordsAreQuoted(t *testing.T) {
	keywords := []string{"error", "false", "is", "isnt", "parent", "true", "undefined"}
	others := []string{"i", "it", "isn", "errors", "fals", "parents", "truE_", "undefine", "undefined1", "x"}
	near := rapid.SampledFrom(slices.Concat(keywords, others))
	rapid.Check(t, func(t *rapid.T) {
		name := near.Draw(t, "name")
		if rapid.Bool().Draw(t, "upper") {
			name = strings.ToUpper(name)
		}
		want := name
		if slices.Contains(keywords, strings.ToLower(name)) {
			want = "'" + name + "'"
		}
		require.Equal(t, want, string(ast.AppendName(nil, name)))
	})
}
