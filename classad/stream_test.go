package classad_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

// read gives each ad, or the first line of its error.
func read(r io.Reader) []string {
	var all []string
	for ad, err := range classad.ReadAds(r, "f") {
		if err != nil {
			message, _, _ := strings.Cut(err.Error(), "\n")
			all = append(all, message)
			continue
		}
		all = append(all, ad.String())
	}
	return all
}

func TestReadAds(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"nothing":          {" \n\n", nil},
		"lines":            {"# pool\na = 1\nb = \"]\"\n\n\nc = 2", []string{`[ a = 1; b = "]" ]`, "[ c = 2 ]"}},
		"line ends":        {"a = 1\r\n\r\nb = 2\r\n", []string{"[ a = 1 ]", "[ b = 2 ]"}},
		"blank between":    {"a = 1\n \t\nb = 2\n", []string{"[ a = 1 ]", "[ b = 2 ]"}},
		"bad line":         {"a = 1\nb = (\nc = 3\n\nd = 4\n", []string{"f:2:6: unexpected end, expected an expression", "[ d = 4 ]"}},
		"no equals sign":   {"a 1\n\nd = 4\n", []string{`f:1:1: expected "name = expression"`, "[ d = 4 ]"}},
		"brackets":         {"[ a = 1 ]\n[ b = [ c = 2 ] ]", []string{"[ a = 1 ]", "[ b = [ c = 2 ] ]"}},
		"list of ads":      {"{\n[ a = 1 ],\n[ b = 2 ]\n}\n", []string{"[ a = 1 ]", "[ b = 2 ]"}},
		"hidden brackets":  {`[ a = "]\"]"; ']' = 1 /* ] */ ] // ]` + "\n[ b = 2 ]", []string{`[ ']' = 1; a = "]\"]" ]`, "[ b = 2 ]"}},
		"bad ad":           {"[ a = 1\n  b ]\n[ c = 3 ]", []string{`f:2:3: unexpected "b", expected an attribute, ";" or "]"`, "[ c = 3 ]"}},
		"ad without end":   {"[ a = 1", []string{`f:1:8: unexpected end, expected an attribute, ";" or "]"`}},
		"comments between": {"[ a = 1 ] // one\n# two\n[ b = 2 ]", []string{"[ a = 1 ]", "[ b = 2 ]"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, read(strings.NewReader(test.text)))
			require.Equal(t, test.want, read(iotest.OneByteReader(strings.NewReader(test.text))))
		})
	}
}

func TestReadAdsFromBrokenReader(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, text := range []string{"", "a = 1\n", "[ a = 1 ] ["} {
		var last error
		for _, err := range classad.ReadAds(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), "f") {
			last = err
		}
		require.ErrorIs(t, last, broken)
	}
}

// endless gives the same text for ever.
type endless string

func (e endless) Read(b []byte) (int, error) { return copy(b, e), nil }

func TestReadAdsIsBounded(t *testing.T) {
	for _, text := range []endless{"[ ", "a", "a = 1\n", "[a=\"" + endless(strings.Repeat("x", 1000))} {
		require.Contains(t, strings.Join(read(text), "\n"), "greater than")
	}
}

func TestSyntaxErrorCaret(t *testing.T) {
	tests := map[string]string{
		"1 +":                  "1:4: unexpected end, expected an expression\n1 +\n   ^",
		"a ==\n\t\"日本\" + + )": "2:11: unexpected \")\", expected an expression\n\t\"日本\" + + )\n\t           ^",
		"é":                    "1:1: unexpected character \"\\xc3\"\né\n^",
	}
	for text, want := range tests {
		_, err := classad.ParseExpr(text)
		require.EqualError(t, err, want)
		var syntax *classad.SyntaxError
		require.ErrorAs(t, err, &syntax)
	}
	_, err := classad.ParseExpr(strings.Repeat("x + ", 10_000) + "* 1")
	require.Less(t, len(err.Error()), 500)
}

func TestStreamLine(t *testing.T) {
	for text, want := range map[string][]int{
		"":      nil,
		"a = 1": {1},
		"# pool\n\na = 1\nb = 2\n\n\n# more\nc = (\n\nd = 4\n": {3, 10},
		"[\na = 1 ]\n/* \n": {1},
		"{\n[ a = 1 ],\n\n[ b = 2;\n c = 3 ] [ d = 4 ]\n}\n": {2, 4, 5},
	} {
		var lines []int
		for ad, err := range classad.ReadAds(strings.NewReader(text), "f") {
			if err == nil {
				lines = append(lines, ad.StreamLine())
			}
		}
		require.Equal(t, want, lines, "%q", text)
	}
	ad, err := classad.Parse("[ a = 1 ]")
	require.NoError(t, err)
	require.Zero(t, ad.StreamLine(), "it comes from no stream")
}
