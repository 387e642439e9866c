package results

import (
	"reflect"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// A folder of results may come from somebody else, and its texts go to terminals, pages and tables.
const (
	longestLine = 1 << 16 // letters of a text of one line
	longestText = 1 << 20 // letters of one of several lines
)

// makePrintable makes all texts of a manifest printable. Those that people read as a whole keep
// their lines.
func (m *Manifest) makePrintable() {
	file, description := m.File, m.Description
	makePrintable(reflect.ValueOf(m))
	m.File, m.Description = lines(file), lines(description)
}

// makePrintable makes all texts of a cell printable.
func (c *Cell) makePrintable() { makePrintable(reflect.ValueOf(c)) }

func lines(text string) string { return backfill.PrintableLines(text, longestText) }

// makePrintable makes all texts within a value printable, so that no new field is forgotten.
func makePrintable(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(backfill.Printable(v.String(), longestLine))
	case reflect.Pointer:
		if !v.IsNil() {
			makePrintable(v.Elem())
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			makePrintable(field)
		}
	case reflect.Slice:
		if kind := v.Type().Elem().Kind(); kind != reflect.Float64 && kind != reflect.Int { // there are many
			for i := range v.Len() {
				makePrintable(v.Index(i))
			}
		}
	case reflect.Map:
		clean := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			cleanKey, cleanValue := reflect.New(key.Type()).Elem(), reflect.New(value.Type()).Elem()
			cleanKey.Set(key)
			cleanValue.Set(value)
			makePrintable(cleanKey)
			makePrintable(cleanValue)
			clean.SetMapIndex(cleanKey, cleanValue)
		}
		if !v.IsNil() {
			v.Set(clean)
		}
	default: // numbers
	}
}
