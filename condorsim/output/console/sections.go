package console

import (
	"fmt"
	"io"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim/output/page"
)

// Section is a part of a text with tables.
type Section struct {
	Title     string
	Sentences []string
	Tables    []page.Table
	Notes     []string // what to heed
}

// Sections prints a text with tables, of each of which so many rows, and says where the rest is.
func Sections(out io.Writer, sections []Section, rows int, rest string) error {
	var text strings.Builder
	for i, s := range sections {
		if i > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(s.Title + "\n")
		for _, sentence := range s.Sentences {
			text.WriteString("  " + sentence + "\n")
		}
		for _, t := range s.Tables {
			if len(t.Rows) == 0 {
				continue
			}
			more := len(t.Rows) - rows
			t.Rows = t.Rows[:min(rows, len(t.Rows))]
			text.WriteString("\n" + t.Title + "\n" + rendered(withUnits(t)) + "\n")
			if more > 0 {
				_, _ = fmt.Fprintf(&text, "and %s more: %s\n", inwords.Whole(more), rest)
			}
			if t.Caption != "" {
				text.WriteString(t.Caption + "\n")
			}
		}
		for _, note := range s.Notes {
			text.WriteString("note: " + note + "\n")
		}
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return fmt.Errorf("print the comparison: %w", err)
	}
	return nil
}
