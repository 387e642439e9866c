package console

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/condor-backfill/condor-backfill/condorsim/output/page"
)

// Means prints the two means that studies compare first, as the page shows them.
func Means(out io.Writer, study *page.Study) error {
	for _, from := range study.Tables() {
		if from.Name != "mean_wait" && from.Name != "mean_bounded_slowdown" {
			continue
		}
		headings := make([]heading, len(from.Columns))
		for i, column := range from.Columns {
			headings[i] = heading{column.Title, column.Number}
		}
		t := newTable(headings)
		for _, values := range from.Rows {
			var row table.Row
			for _, v := range values {
				star := ""
				if v.Best {
					star = "★ "
				}
				row = append(row, star+v.Cell())
			}
			t.AppendRow(row)
		}
		if _, err := fmt.Fprintf(out, "\n%s\n%s\n%s\n", title(from), t.Render(), from.Caption); err != nil {
			return fmt.Errorf("print the means: %w", err)
		}
	}
	return nil
}

// title is the title of a table of one measure, with its unit.
func title(t page.Table) string {
	if unit := t.Columns[len(t.Columns)-1].Unit; unit != "" {
		return t.Title + ", in " + unit
	}
	return t.Title
}
