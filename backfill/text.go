package backfill

import (
	"strings"
	"unicode"
)

// Printable is a text that somebody else had a say in, as a terminal or a log can bear it: in one line, of letters, and
// no more of them than the longest that is wanted. What would move a cursor is replaced.
func Printable(text string, longest int) string {
	var b strings.Builder
	letters := 0
	for _, r := range text {
		if letters == longest {
			b.WriteRune('…')
			break
		}
		letters++
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		default:
			b.WriteRune(unicode.ReplacementChar)
		}
	}
	return b.String()
}
