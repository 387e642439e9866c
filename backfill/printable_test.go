package backfill_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
)

func TestPrintableLines(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "a", "a\nb": "a\nb", "a\r\n\x1b[31mb\n": "a \n�[31mb\n", "\n\n": "\n\n", "1234567890": "1234567890",
		"12345678901": "1234567890…", "1234\n67890": "1234\n67890", "1234\n678901": "1234\n67890…", "123456789\nb": "123456789\n…",
		"12345\n\n\n\n\n\n\n": "12345\n\n\n\n\n…",
	} {
		require.Equal(t, want, backfill.PrintableLines(text, 10), "%q", text)
	}
}

// TestAnyTextIsPrintable has any text come out bounded and printable, and one that is so already untouched.
func TestAnyTextIsPrintable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text, longest := rapid.String().Draw(rt, "text"), rapid.IntRange(1, 50).Draw(rt, "longest")
		if rapid.Bool().Draw(rt, "broken") {
			text += "\xff\xc3" + strings.Repeat("x\u009b", 30)
		}
		shown := backfill.Printable(text, longest)
		require.LessOrEqual(rt, utf8.RuneCountInString(shown), longest+1)
		require.True(rt, utf8.ValidString(shown))
		for _, r := range shown {
			require.True(rt, unicode.IsPrint(r), "%q", shown)
		}
		require.Equal(rt, shown, backfill.Printable(shown, longest+1))
		lines := backfill.PrintableLines(text, longest)
		require.LessOrEqual(rt, utf8.RuneCountInString(lines), longest+2)
		for line := range strings.SplitSeq(lines, "\n") {
			require.Equal(rt, line, backfill.Printable(line, longest+1))
		}
	})
}

// TestPrintableTakesNoMemory hands back a text that needs no change.
func TestPrintableTakesNoMemory(t *testing.T) {
	text := "on the 12 slots, Schöneberg"
	require.Zero(t, testing.AllocsPerRun(100, func() { text = backfill.Printable(text, 100) }))
}
