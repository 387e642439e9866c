package schedules

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/spreadsheet"
)

// isCSV reports whether the first line has names of columns such as a table of jobs has.
func isCSV(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	names := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(line), `"`, "")), ",")
	count := 0
	for _, column := range columnNames[:needed] {
		if slices.Contains(names, column) {
			count++
		}
	}
	return count >= needed/2
}

// readCSV reads a table of comma-separated values.
func readCSV(f *file, take func(*Row) *fault) error {
	table := csv.NewReader(f.text)
	table.ReuseRecord = true
	head, err := table.Read()
	if err != nil {
		return csvFault(f.name, err)
	}
	at, err := places(f.name, head)
	if err != nil {
		return err
	}
	for {
		cells, err := table.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return csvFault(f.name, err)
		}
		row, wrong := rowOf(cells, &at)
		if wrong == nil {
			wrong = take(&row)
		}
		if wrong != nil {
			line, place := table.FieldPos(max(0, at[slices.Index(columnNames[:], wrong.column)]))
			return &workload.Error{
				File: f.name, Line: line, Column: place, Problem: "column " + wrong.column + ": " + wrong.problem, Hint: rewrite,
			}
		}
	}
}

// rowOf returns the row of a line's cells.
func rowOf(cells []string, at *[columns]int) (row Row, wrong *fault) {
	cell := func(column int) string {
		if at[column] < 0 {
			return ""
		}
		return cells[at[column]]
	}
	number := func(column int, optional bool) (v int64, known bool) {
		text := cell(column)
		if text == "" && optional {
			return 0, false
		}
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil && wrong == nil {
			wrong = &fault{columnNames[column], fmt.Sprintf("%.40q is no whole number", text)}
		}
		return v, err == nil
	}
	row.Job, row.User = spreadsheet.Unquote(cell(columnJob)), spreadsheet.Unquote(cell(columnUser))
	row.Submit, _ = number(columnSubmit, false)
	row.Start, row.Started = number(columnStart, true)
	row.End, row.Ended = number(columnEnd, true)
	row.Run, _ = number(columnRun, false)
	row.Cpus, _ = number(columnCpus, false)
	row.Estimate, _ = number(columnEstimate, true)
	row.Scavenger = cell(columnHow) == "scavenger" || cell(columnScavenger) == "1"
	return row, wrong
}

// csvFault says where a table cannot be read, and why.
func csvFault(name string, err error) error {
	if errors.Is(err, io.EOF) {
		return &workload.Error{File: name, Problem: "the file is empty", Hint: rewrite}
	}
	if broken, ok := errors.AsType[*csv.ParseError](err); ok {
		return &workload.Error{File: name, Line: broken.Line, Column: broken.Column, Problem: words(broken.Err), Hint: rewrite, Err: err}
	}
	return &workload.Error{File: name, Problem: err.Error(), Err: err}
}

// words says what the library means.
func words(err error) string {
	switch {
	case errors.Is(err, csv.ErrFieldCount):
		return "the line has more or fewer cells than the first one has names"
	case errors.Is(err, csv.ErrQuote), errors.Is(err, csv.ErrBareQuote):
		return "a quotation mark is where none can be"
	}
	return err.Error()
}
