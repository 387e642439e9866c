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

// read returns each ad, or the first line of its error.
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
		"nothing":       {" \n\n", nil},
		"lines":         {"# pool\na = 1\nb = \"]\"\n\n\nc = 2", []string{`[ a = 1; b = "]" ]`, "[ c = 2 ]"}},
		"a mark":        {"\ufeffa = 1\n", []string{"[ a = 1 ]"}},
		"a mark, JSON":  {"\ufeff{\"a\": 1}", []string{"[ a = 1 ]"}},
		"a mark alone":  {"\ufeff", nil},
		"line ends":     {"a = 1\r\n\r\nb = 2\r\n", []string{"[ a = 1 ]", "[ b = 2 ]"}},
		"blank between": {"a = 1\n \t\nb = 2\n", []string{"[ a = 1 ]", "[ b = 2 ]"}},
		"bad line": {
			"a = 1\nb = (\nc = 3\n\nd = 4\n",
			[]string{"f:2:6: unexpected end, expected an expression", "[ d = 4 ]"},
		},
		"no equals sign": {"a 1\n\nd = 4\n", []string{`f:1:1: expected "name = expression"`, "[ d = 4 ]"}},
		"brackets":       {"[ a = 1 ]\n[ b = [ c = 2 ] ]", []string{"[ a = 1 ]", "[ b = [ c = 2 ] ]"}},
		"list of ads":    {"{\n[ a = 1 ],\n[ b = 2 ]\n}\n", []string{"[ a = 1 ]", "[ b = 2 ]"}},
		"hidden brackets": {
			`[ a = "]\"]"; ']' = 1 /* ] */ ] // ]` + "\n[ b = 2 ]",
			[]string{`[ ']' = 1; a = "]\"]" ]`, "[ b = 2 ]"},
		},
		"bad ad": {
			"[ a = 1\n  b ]\n[ c = 3 ]",
			[]string{`f:2:3: unexpected "b", expected an attribute, ";" or "]"`, "[ c = 3 ]"},
		},
		"ad without end":  {"[ a = 1", []string{`f:1:8: unexpected end, expected an attribute, ";" or "]"`}},
		"JSON lines":      {"{\"a\": 1}\n{\"b\": \"}\"}\n", []string{"[ a = 1 ]", `[ b = "}" ]`}},
		"JSON array":      {" [ {\"a\": [1, {}]}\n,{ } ]\n", []string{"[ a = { 1,[  ] } ]", "[  ]"}},
		"JSON after JSON": {`{}{"a": "\"{"},{"b": 1}`, []string{"[  ]", `[ a = "\"{" ]`, "[ b = 1 ]"}},
		"bad JSON": {
			"[\n{\"a\": [1},\n{\"b\": 1]},\n{\"c\": 1}]",
			[]string{
				`f:2:9: unexpected "}", expected "," or "]"`, `f:3:8: unexpected "]", expected "," or "}"`,
				"[ c = 1 ]",
			},
		},
		"JSON without end":           {`{"a": {`, []string{`f:1:8: unexpected end, expected a name in quotes or "}"`}},
		"JSON comments":              {"{\"a\": /* } */ 1 // }\n}", []string{"[ a = 1 ]"}},
		"empty brackets":             {"[ ] [\n]", []string{"[  ]", "[  ]"}},
		"list of no ads":             {"{\n", nil},
		"empty JSON array":           {"[]", nil},
		"empty JSON array in lines":  {"// none\n[\n\n]\n/* none */ ", nil},
		"empty list":                 {"{ }\n", nil},
		"empty list and more":        {"{}\n{}", []string{"[  ]", "[  ]"}},
		"empty lists as values":      {`{"a": [], "b": [ ], "c": {}}`, []string{"[ a = {  }; b = {  }; c = [  ] ]"}},
		"array of an empty object":   {"[{}]", []string{"[  ]"}},
		"comment before brackets":    {"/* two\n slots */\n[ a = 1 ]\n[ b = 2 ]", []string{"[ a = 1 ]", "[ b = 2 ]"}},
		"comment before lines":       {"/* a slot **/\n// of mine\na = 1\n", []string{"[ a = 1 ]"}},
		"comment before JSON":        {"/* x */ [ // y\n{ /* z */ \"a\": 1}]", []string{"[ a = 1 ]"}},
		"comment before a list":      {"{ /* [ */ [ a = 1 ] }", []string{"[ a = 1 ]"}},
		"comments between and after": {"[ a = 1 ] /* [ */ [ b = 2 ]\n/* end **/", []string{"[ a = 1 ]", "[ b = 2 ]"}},
		"comments between JSON":      {"{\"a\": 1} /* { */\n// {\n{\"b\": 2} /*/ { */", []string{"[ a = 1 ]", "[ b = 2 ]"}},
		"comment without end":        {"[ a = 1 ]\n /* end", []string{"[ a = 1 ]", "f:2:2: comment without end"}},
		"only a comment without end": {"/*/", []string{"f:1:1: comment without end"}},
		"half a number": {
			"a = 1\nb = 0x1F.a\n\na = -0xZZ\n\na = 2 + 0x\n\na = 0x1.8\n\na = 0x1 \n\na = 1",
			[]string{
				`f:2:5: number 0x1F followed by '.'`, `f:4:6: number 0x without digits`, `f:6:9: number 0x without digits`,
				`f:8:5: number 0x1 followed by '.'`, `f:10:5: integer 0x1 begins with 0`, "[ a = 1 ]",
			},
		},
		"XML": {"<?xml version=\"1.0\"?>\n<!DOCTYPE classads SYSTEM \"classads.dtd\">\n<classads>\n<c>\n" +
			"<a n=\"a\"><c></c></a></c>\n" +
			"<!-- > <c> -->< c ><a n=\"b\"><s></s></a></ c ></classads>\n", []string{"[ a = [  ] ]", `[ b = "" ]`}},
		"XML without ads": {"<?xml version='1.0'?><classads>\n</classads>\n", nil},
		"other XML":       {"<html></html>", []string{"f:1:14: unexpected end, expected <c>"}},
		"bad XML": {
			"<c>\n<i>1</i></c><c/><c><!-- </c> --><a n=\"b\"><b/></a></c>",
			[]string{
				`f:2:1: unexpected "<i>", expected an attribute or "</c>"`,
				`f:2:13: unexpected "<c/>", expected <c>`, "[ b = false ]",
			},
		},
		"XML without end": {"<classads><c><a n=\"a\"><i>1</i></classads>\n", []string{"[ a = 1 ]"}},
		"XML that is cut off": {
			"<c></c><c><a n=\"a\"><l><i>1</i>", []string{"[  ]", `f:1:31: unexpected end, expected "</c>"`},
		},
		"XML cut after an attribute": {
			"<classads>\n<c>\n<a n=\"a\"><i>1</i></a>\n", []string{`f:4:1: unexpected end, expected "</c>"`},
		},
		"XML cut within an end tag": {"<c><a n=\"a\"><i>17</i></a></", []string{`f:1:28: unexpected end, expected "</c>"`}},
		"XML cut within a number":   {"<c><a n=\"a\"><i>17", []string{`f:1:18: unexpected end, expected "</c>"`}},
		"XML cut within a tag":      {"<classads><c></c><classa", []string{"[  ]", `f:1:25: unexpected end, expected <c>`}},
		"XML cut within an inner ad": {
			"<c><a n=\"a\"><c></c>", []string{`f:1:20: unexpected end, expected "</c>"`},
		},
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

// endless repeats the same text for ever.
type endless string

func (e endless) Read(b []byte) (int, error) { return copy(b, e), nil }

func TestReadAdsIsBounded(t *testing.T) {
	for _, text := range []endless{
		"[ ", "a", "a = 1\n", "[a=\"" + endless(strings.Repeat("x", 1000)), "{\"a\":",
		"<c>", "<c",
	} {
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
		"[\na = 1 ]\n/* \n":       {1},
		"[\n{\n},\n\n{\"a\": 1}]": {2, 5},
		"<classads>\n\n<c>\n</c>\n<!-- -->\n<c></c></classads>": {3, 6},
		"{\n[ a = 1 ],\n\n[ b = 2;\n c = 3 ] [ d = 4 ]\n}\n":    {2, 4, 5},
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
