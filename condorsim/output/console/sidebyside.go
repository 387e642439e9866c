package console

import (
	"fmt"
	"io"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/output/page"
)

// SideBySide prints a comparison: in sentences, then as tables in hours, then what to heed.
func SideBySide(out io.Writer, s *page.SideBySide) error {
	var text strings.Builder
	text.WriteString(s.Lead + "\n")
	for _, part := range s.Parts() {
		text.WriteString("\n" + part.Title + "\n")
		for _, sentence := range part.Sentences {
			text.WriteString("  " + sentence + "\n")
		}
	}
	for i, t := range append([]page.Table{s.Compared()}, s.Users()...) {
		if i > 0 {
			text.WriteString("\n" + t.Title + ", in hours, of those who used most")
		}
		text.WriteString("\n" + rendered(withUnits(t)) + "\n")
	}
	for _, note := range s.Notes {
		text.WriteString("note: " + note + "\n")
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return fmt.Errorf("print the comparison: %w", err)
	}
	return nil
}

// withUnits returns a table with the units in the titles of its columns.
func withUnits(t page.Table) page.Table {
	columns := make([]page.Column, len(t.Columns))
	for i, c := range t.Columns {
		if columns[i] = c; c.Unit != "" {
			columns[i].Title += ", " + c.Unit
		}
	}
	t.Columns = columns
	return t
}
