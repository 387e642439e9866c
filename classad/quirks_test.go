package classad_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

// Every paragraph of QUIRKS.md has a true example.
func TestQuirks(t *testing.T) {
	examples, err := os.ReadFile("testdata/quirks.txt")
	require.NoError(t, err)
	var s classad.Scope
	shown := map[string]bool{}
	for line := range strings.Lines(string(examples)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		number, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimPrefix(rest, "= ")
		switch number {
		case "my":
			s.My = parse(t, rest)
		case "target":
			s.Target = parse(t, rest)
		default:
			text, want, ok := strings.Cut(rest, " => ")
			require.True(t, ok, line)
			require.Equal(t, want, example(s, text), line)
			shown[number] = true
		}
	}
	paragraphs, err := os.ReadFile("QUIRKS.md")
	require.NoError(t, err)
	numbers := regexp.MustCompile(`(?m)^(\d+)\. `).FindAllStringSubmatch(string(paragraphs), -1)
	for _, n := range numbers {
		require.True(t, shown[n[1]], "paragraph %s has no example", n[1])
	}
	require.Len(t, shown, len(numbers))
}

func parse(t *testing.T, text string) *classad.ClassAd {
	t.Helper()
	ad, err := classad.Parse(text)
	require.NoError(t, err)
	return ad
}

// example returns the result of a text: an ad in the syntax that its first word names, or an
// expression.
func example(s classad.Scope, text string) string {
	syntax, rest, _ := strings.Cut(text, " ")
	read := map[string]func(string) (*classad.ClassAd, error){
		"json": classad.ParseJSON,
		"xml":  classad.ParseXML,
	}[syntax]
	if read != nil {
		ad, err := read(rest)
		if err != nil {
			return "malformed"
		}
		return ad.String()
	}
	e, err := classad.ParseExpr(strings.TrimPrefix(text, "refs "))
	switch {
	case err != nil:
		return "malformed"
	case syntax != "refs":
		return e.Eval(s).String()
	}
	internal, external, err := e.Refs(s.My)
	if err != nil {
		return err.Error()
	}
	return strings.Join(append(append([]string{"internal:"}, internal...),
		append([]string{"external:"}, external...)...), " ")
}
