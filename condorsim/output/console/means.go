package console

import (
	"fmt"
	"io"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/condor-backfill/condor-backfill/condorsim/output/page"
)

// Means prints the measures that studies compare first, as the page shows them: means
// over jobs, those by area and by processor, and the waits of those who waited longest. Times are in seconds and in hours. A sentence for each comparison
// is below its measure.
func Means(out io.Writer, study *page.Study) error {
	for _, from := range study.Tables() {
		if !slices.Contains([]string{
			"mean_wait", "p999_wait", "longest_wait", "area_weighted_response", "mean_bounded_slowdown",
			"processor_bounded_slowdown",
		}, from.Name) {
			continue
		}
		tables := []page.Table{from}
		if hours, some := from.Hours(); some {
			tables = append(tables, hours)
		}
		for _, one := range tables {
			if _, err := fmt.Fprintf(out, "\n%s\n%s\n", title(one), rendered(one)); err != nil {
				return fmt.Errorf("print the means: %w", err)
			}
		}
		if _, err := fmt.Fprintln(out, from.Caption); err != nil {
			return fmt.Errorf("print the means: %w", err)
		}
		if err := printSentences(out, study.Comparisons, "tables/"+from.Name+"-paired.csv", from.Name); err != nil {
			return err
		}
	}
	return nil
}

// rendered returns the text of a table.
func rendered(from page.Table) string {
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
	return t.Render()
}

// title is the title of a table of one measure, with its unit.
func title(t page.Table) string {
	if unit := t.Columns[len(t.Columns)-1].Unit; unit != "" {
		return t.Title + ", in " + unit
	}
	return t.Title
}
