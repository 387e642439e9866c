// Package console prints tables of results on a terminal: those of a sweep, the means that a
// study compares first, and what happened beside what would have been.
package console

import (
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// heading is the head of a column.
type heading struct {
	name   string
	number bool // aligned to the right
}

// newTable returns a table without rows.
func newTable(headings []heading) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	var header table.Row
	var alignment []table.ColumnConfig
	for i, h := range headings {
		header = append(header, h.name)
		align := text.AlignLeft
		if h.number {
			align = text.AlignRight
		}
		alignment = append(alignment, table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align})
	}
	t.AppendHeader(header)
	t.SetColumnConfigs(alignment)
	return t
}
