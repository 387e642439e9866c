package spreadsheet

import (
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"reflect"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// Column is a column of a table whose rows are described by an R.
type Column[R any] struct {
	Name string
	kind reflect.Type
	// Value returns a row's value: nil if it is missing, else a string, int64, uint64 or float64, of
	// the same type in all rows.
	Value func(R) any
	// optional says that values may be missing.
	optional bool
}

// ColumnOf returns a column in which no value is missing.
func ColumnOf[T, R any](name string, value func(R) T) Column[R] {
	return Column[R]{Name: name, kind: reflect.TypeFor[T](), Value: func(row R) any { return value(row) }}
}

// OptionalColumnOf returns a column in which values are missing where the function returns false.
func OptionalColumnOf[T, R any](name string, value func(R) (T, bool)) Column[R] {
	return Column[R]{Name: name, kind: reflect.TypeFor[T](), optional: true, Value: func(row R) any {
		if v, known := value(row); known {
			return v
		}
		return nil
	}}
}

// WriteCSV writes comma-separated values. Numbers are exact, missing values are empty, and name
// writes texts, such as [Quote].
func WriteCSV[R any](out io.Writer, columns []Column[R], rows iter.Seq[R], name func(string) string) error {
	table := csv.NewWriter(out)
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = c.Name
	}
	if err := table.Write(cells); err != nil {
		return err
	}
	for row := range rows {
		for i, c := range columns {
			switch v := c.Value(row).(type) {
			case nil:
				cells[i] = ""
			case float64:
				cells[i] = strconv.FormatFloat(v, 'f', -1, 64)
			case int64:
				cells[i] = strconv.FormatInt(v, 10)
			case string:
				cells[i] = name(UTF8(v))
			default:
				cells[i] = fmt.Sprint(v)
			}
		}
		if err := table.Write(cells); err != nil {
			return err
		}
	}
	table.Flush()
	return table.Error()
}

// WriteParquet writes a Parquet file, with texts as they are: nothing takes them for formulas.
func WriteParquet[R any](out io.Writer, columns []Column[R], rows iter.Seq[R]) error {
	// A struct keeps the order of the columns; the library's groups sort them.
	fields := make([]reflect.StructField, len(columns))
	for i, c := range columns {
		kind := c.kind
		if c.optional {
			kind = reflect.PointerTo(kind)
		}
		fields[i] = reflect.StructField{
			Name: "C" + strconv.Itoa(i), Type: kind,
			Tag: reflect.StructTag(`parquet:` + strconv.Quote(c.Name)),
		}
	}
	kind := reflect.StructOf(fields)
	table := parquet.NewGenericWriter[any](out, parquet.SchemaOf(reflect.New(kind).Elem().Interface()),
		parquet.Compression(&parquet.Zstd))
	for row := range rows {
		cells := reflect.New(kind).Elem()
		for i, c := range columns {
			value := c.Value(row)
			if text, ok := value.(string); ok {
				value = UTF8(text)
			}
			switch {
			case value == nil:
			case c.optional:
				cell := reflect.New(c.kind)
				cell.Elem().Set(reflect.ValueOf(value))
				cells.Field(i).Set(cell)
			default:
				cells.Field(i).Set(reflect.ValueOf(value))
			}
		}
		if _, err := table.Write([]any{cells.Interface()}); err != nil {
			return fmt.Errorf("write a Parquet row: %w", err)
		}
	}
	if err := table.Close(); err != nil {
		return fmt.Errorf("write the Parquet file: %w", err)
	}
	return nil
}
