package results

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/output/intervals"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/condorsim/output/spreadsheet"
)

// formats returns the kinds of files with a row for each finished cell.
func formats() []format {
	return []format{{".csv", WriteCSV}, {".json", WriteJSON}, {".parquet", WriteParquet}}
}

type format struct {
	extension string
	write     func(io.Writer, *Folder) error
}

// column is a column of a table of cells.
type column = spreadsheet.Column[*Cell]

// columns returns the columns that identify the cell, those of its machine, and then the metrics:
// those of [metrics.Metrics] in its order, then others by name. The half widths of the means'
// intervals are last.
func (f *Folder) columns() []column {
	all := []column{
		spreadsheet.ColumnOf("trace", func(c *Cell) string { return c.Trace }),
		spreadsheet.ColumnOf("scheduler", func(c *Cell) string { return c.Scheduler }),
		spreadsheet.ColumnOf("policy", func(c *Cell) string { return c.Policy }),
		spreadsheet.ColumnOf("order", func(c *Cell) string { return c.Order }),
		spreadsheet.ColumnOf("options", func(c *Cell) string { return OptionsText(c.Options) }),
		spreadsheet.ColumnOf("estimates", func(c *Cell) string { return c.Estimates.String() }),
		spreadsheet.ColumnOf("load", func(c *Cell) float64 { return c.Load }),
		spreadsheet.ColumnOf("estimate_model", func(c *Cell) string { return c.EstimateModel }),
		spreadsheet.ColumnOf("seed", func(c *Cell) uint64 { return c.Seed }),
		spreadsheet.ColumnOf("jobs", func(c *Cell) int64 { return int64(c.Jobs) }),
		spreadsheet.ColumnOf("held", func(c *Cell) int64 { return int64(c.Held) }),
		spreadsheet.ColumnOf("estimates_unknown", func(c *Cell) int64 { return int64(c.Cleaning.EstimateUnknown) }),
		spreadsheet.ColumnOf("estimates_raised", func(c *Cell) int64 { return int64(c.Cleaning.EstimateRaised) }),
		spreadsheet.ColumnOf("slots", func(c *Cell) int64 { return int64(c.Machine.Slots) }),
		spreadsheet.ColumnOf("cpus", func(c *Cell) int64 { return c.Machine.Cpus }),
		spreadsheet.ColumnOf("memory", func(c *Cell) int64 { return c.Machine.Memory }),
	}
	if slices.ContainsFunc(f.Cells, func(c Cell) bool { return c.JitterKeys != 0 }) {
		jitter := spreadsheet.ColumnOf("jitter_keys", func(c *Cell) float64 { return c.JitterKeys })
		all = slices.Insert(all, slices.IndexFunc(all, func(c column) bool { return c.Name == "seed" }), jitter)
	}
	names := f.metricNames()
	for _, name := range names {
		all = append(all, spreadsheet.OptionalColumnOf(name, func(c *Cell) (float64, bool) {
			v, ok := c.Metrics[name]
			return v, ok
		}))
	}
	for _, name := range names {
		half := func(c *Cell) (float64, bool) { return intervals.OfMean(c.Weeks, name) }
		if slices.ContainsFunc(f.Cells, func(c Cell) bool { _, ok := half(&c); return ok }) {
			all = append(all, spreadsheet.OptionalColumnOf(name+"_half_width", half))
		}
	}
	return all
}

// metricNames returns the names of all metrics that some cell has, in the order of the columns.
func (f *Folder) metricNames() []string {
	there := map[string]bool{}
	for i := range f.Cells {
		for name := range f.Cells[i].Metrics {
			there[name] = true
		}
	}
	var names []string
	for name := range (metrics.Metrics{}).All() {
		if there[name] {
			names = append(names, name)
			delete(there, name)
		}
	}
	return append(names, slices.Sorted(maps.Keys(there))...)
}

// OptionsText writes a policy's options as one text, such as "depth=4 window=60".
func OptionsText(options map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(options)) {
		parts = append(parts, name+"="+options[name])
	}
	return strings.Join(parts, " ")
}

// rows returns the cells in order.
func (f *Folder) rows() iter.Seq[*Cell] {
	return func(yield func(*Cell) bool) {
		for i := range f.Cells {
			if !yield(&f.Cells[i]) {
				return
			}
		}
	}
}

// WriteCSV writes comma-separated values. Numbers are exact; missing values are empty; names that a
// spreadsheet would take for formulas have an apostrophe before them.
func WriteCSV(out io.Writer, f *Folder) error {
	return spreadsheet.WriteCSV(out, f.columns(), f.rows(), spreadsheet.Quote)
}

// orderedRow is a row as a JSON object, in the order of the columns.
type orderedRow struct {
	columns []column
	cell    *Cell
}

// MarshalJSON writes the object; missing values are null.
func (r orderedRow) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, c := range r.columns {
		value, err := json.Marshal(c.Value(r.cell))
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", c.Name, r.cell.ID, err)
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(strconv.AppendQuote(text, c.Name), ':')
		text = append(text, value...)
	}
	return append(text, '}'), nil
}

// WriteJSON writes one object: what was swept, whether it is complete, the rows, and what [Comparisons]
// with the sweep's baseline say.
func WriteJSON(out io.Writer, f *Folder) error {
	table := struct {
		Name     string       `json:"name"`
		Title    string       `json:"title"`
		Baseline string       `json:"baseline,omitempty"`
		Version  string       `json:"version"`
		Complete bool         `json:"complete"`
		Missing  []string     `json:"missing"` // cells
		Skipped  []string     `json:"skipped"`
		Rows     []orderedRow `json:"rows"`

		Comparisons []Comparison `json:"comparisons"`
	}{
		Name: f.Manifest.Name, Title: f.Manifest.Title, Baseline: f.Manifest.Baseline, Version: f.Manifest.Version,
		Complete: f.Complete(), Missing: []string{}, Skipped: append([]string{}, f.Manifest.Skipped...),
		Rows: []orderedRow{}, Comparisons: Comparisons(f, f.Manifest.Baseline),
	}
	for _, key := range f.Missing() {
		table.Missing = append(table.Missing, key.ID)
	}
	columns := f.columns()
	for i := range f.Cells {
		table.Rows = append(table.Rows, orderedRow{columns, &f.Cells[i]})
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", " ")
	return encoder.Encode(table)
}

// WriteParquet writes a Parquet file with the columns of [WriteCSV]. Metrics may be missing.
func WriteParquet(out io.Writer, f *Folder) error {
	return spreadsheet.WriteParquet(out, f.columns(), f.rows())
}
