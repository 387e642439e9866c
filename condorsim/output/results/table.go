package results

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

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

// column is a column of a table of cells. Its values are all string, int64, uint64 or float64, or
// nil if a cell has none.
type column struct {
	name  string
	kind  reflect.Type
	value func(*Cell) any
}

func columnOf[T any](name string, value func(*Cell) T) column {
	return column{name: name, kind: reflect.TypeFor[T](), value: func(c *Cell) any { return value(c) }}
}

// columns returns the columns that identify the cell, those of its machine, and then the metrics:
// those of [metrics.Metrics] in its order, then others by name.
func (f *Folder) columns() []column {
	all := []column{
		columnOf("trace", func(c *Cell) string { return c.Trace }),
		columnOf("scheduler", func(c *Cell) string { return c.Scheduler }),
		columnOf("policy", func(c *Cell) string { return c.Policy }),
		columnOf("order", func(c *Cell) string { return c.Order }),
		columnOf("options", func(c *Cell) string { return OptionsText(c.Options) }),
		columnOf("estimates", func(c *Cell) string { return c.Estimates.String() }),
		columnOf("load", func(c *Cell) float64 { return c.Load }),
		columnOf("estimate_model", func(c *Cell) string { return c.EstimateModel }),
		columnOf("seed", func(c *Cell) uint64 { return c.Seed }),
		columnOf("jobs", func(c *Cell) int64 { return int64(c.Jobs) }),
		columnOf("held", func(c *Cell) int64 { return int64(c.Held) }),
		columnOf("slots", func(c *Cell) int64 { return int64(c.Machine.Slots) }),
		columnOf("cpus", func(c *Cell) int64 { return c.Machine.Cpus }),
		columnOf("memory", func(c *Cell) int64 { return c.Machine.Memory }),
	}
	for _, name := range f.metricNames() {
		all = append(all, column{name: name, kind: reflect.TypeFor[float64](), value: func(c *Cell) any {
			if v, ok := c.Metrics[name]; ok {
				return v
			}
			return nil
		}})
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

// WriteCSV writes comma-separated values. Numbers are exact; missing values are empty; names that a
// spreadsheet would take for formulas have an apostrophe before them.
func WriteCSV(out io.Writer, f *Folder) error {
	columns := f.columns()
	rows := csv.NewWriter(out)
	row := make([]string, len(columns))
	for i, c := range columns {
		row[i] = c.name
	}
	if err := rows.Write(row); err != nil {
		return err
	}
	for n := range f.Cells {
		for i, c := range columns {
			switch v := c.value(&f.Cells[n]).(type) {
			case nil:
				row[i] = ""
			case float64:
				row[i] = strconv.FormatFloat(v, 'f', -1, 64)
			case string:
				row[i] = spreadsheet.Quote(v)
			default:
				row[i] = fmt.Sprint(v)
			}
		}
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	rows.Flush()
	return rows.Error()
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
		value, err := json.Marshal(c.value(r.cell))
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", c.name, r.cell.ID, err)
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(strconv.AppendQuote(text, c.name), ':')
		text = append(text, value...)
	}
	return append(text, '}'), nil
}

// WriteJSON writes one object: what was swept, whether it is complete, and the rows.
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
	}{
		Name: f.Manifest.Name, Title: f.Manifest.Title, Baseline: f.Manifest.Baseline, Version: f.Manifest.Version,
		Complete: f.Complete(), Missing: []string{}, Skipped: append([]string{}, f.Manifest.Skipped...),
		Rows: []orderedRow{},
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
	columns := f.columns()
	// A struct keeps the order of the columns; the library's groups sort them.
	fields := make([]reflect.StructField, len(columns))
	for i, c := range columns {
		kind := c.kind
		if kind == reflect.TypeFor[float64]() {
			kind = reflect.PointerTo(kind)
		}
		fields[i] = reflect.StructField{
			Name: "C" + strconv.Itoa(i), Type: kind,
			Tag: reflect.StructTag(`parquet:` + strconv.Quote(c.name)),
		}
	}
	row := reflect.StructOf(fields)
	rows := parquet.NewGenericWriter[any](out, parquet.SchemaOf(reflect.New(row).Elem().Interface()),
		parquet.Compression(&parquet.Zstd))
	for n := range f.Cells {
		v := reflect.New(row).Elem()
		for i, c := range columns {
			value := c.value(&f.Cells[n])
			switch number := value.(type) {
			case nil:
			case float64:
				v.Field(i).Set(reflect.ValueOf(&number))
			default:
				v.Field(i).Set(reflect.ValueOf(value))
			}
		}
		if _, err := rows.Write([]any{v.Interface()}); err != nil {
			return fmt.Errorf("write a Parquet row: %w", err)
		}
	}
	if err := rows.Close(); err != nil {
		return fmt.Errorf("write the Parquet file: %w", err)
	}
	return nil
}
