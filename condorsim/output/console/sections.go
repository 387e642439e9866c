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
	Whole     []page.Table // all of whose rows are printed
	Tables    []page.Table
	Notes     []string // what to heed
}

// Sections prints a text with tables, of most of which so many rows, and says where the rest is.
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
		for _, t := range s.Whole {
			text.WriteString(titled(t, len(t.Rows), rest))
		}
		for _, t := range s.Tables {
			text.WriteString(titled(t, rows, rest))
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

// titled returns the text of a table below its title, with so many rows; "" if it has none.
func titled(t page.Table, rows int, rest string) string {
	more := len(t.Rows) - rows
	if len(t.Rows) == 0 {
		return ""
	}
	t.Rows = t.Rows[:min(rows, len(t.Rows))]
	text := "\n" + t.Title + "\n" + rendered(withUnits(t)) + "\n"
	if more > 0 {
		text += fmt.Sprintf("and %s more: %s\n", inwords.Whole(more), rest)
	}
	if t.Caption != "" {
		text += t.Caption + "\n"
	}
	return text
}
