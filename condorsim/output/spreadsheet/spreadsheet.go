// Package spreadsheet writes tables as CSV and Parquet from a list of columns ([Column]), and makes
// names safe in tables that people open as spreadsheets ([Quote]).
package spreadsheet

import (
	"strconv"
	"strings"
)

// begins are the characters with which a formula begins, also in their full-width forms, and those
// blanks that some programs skip before it.
const begins = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"

// ends are the characters that end a cell in some country's settings, whatever the file says.
const ends = ";\t\r\n"

// Quote returns a name for a cell of a CSV file, so that no spreadsheet takes a part of it for a
// formula and runs it: it puts an apostrophe before what could begin one. A number stays as it is.
// (OWASP, CSV injection)
func Quote(name string) string {
	if !strings.ContainsAny(name, begins) {
		return name
	}
	if _, err := strconv.ParseFloat(name, 64); err == nil {
		return name
	}
	var quoted strings.Builder
	from, first := 0, true
	for i, c := range name {
		if first && strings.ContainsRune(begins, c) {
			quoted.WriteString(name[from:i] + "'")
			from = i
		}
		first = strings.ContainsRune(ends, c)
	}
	return quoted.String() + name[from:]
}
