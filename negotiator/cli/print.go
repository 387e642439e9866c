package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/inwords"
)

// longest is the largest number of letters of a text that are shown.
const longest = 1000

// Line makes a text that may come from anybody safe for one line of a terminal: it limits its length
// and replaces what is not printable.
func Line(text string) string { return backfill.Printable(text, longest) }

// Shown makes a text that may quote any file safe for a terminal, line by line.
func Shown(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = Line(line)
	}
	return strings.Join(lines, "\n")
}

// JSON prints a value as indented JSON. What would move a terminal's cursor is escaped.
func JSON(out io.Writer, v any) error {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(out, escapes().Replace(text.String()))
	return err
}

// escapes replaces the control characters that JSON need not escape; only its texts can have them.
var escapes = sync.OnceValue(func() *strings.Replacer {
	var pairs []string
	for r := rune(0x7f); r <= 0x9f; r++ {
		pairs = append(pairs, string(r), fmt.Sprintf(`\u%04x`, r))
	}
	return strings.NewReplacer(pairs...)
})

// Table makes a table without borders.
func Table(header ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatDefault
	t.SuppressTrailingSpaces()
	t.AppendHeader(header)
	return t
}

// First returns the first elements, up to the limit; 0: all.
func First[T any](all []T, limit int) []T {
	if limit == 0 {
		return all
	}
	return all[:min(limit, len(all))]
}

// More is the line below a table with the number of jobs that are not in it; "": all are.
func More(jobs int) string {
	if jobs == 0 {
		return ""
	}
	return fmt.Sprintf(" … and %s more\n", inwords.Whole(jobs))
}
