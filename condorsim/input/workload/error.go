package workload

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

// Error is a fault in a file of jobs. Its text has the form
//
//	trace.swf:12: field 4 (run time): "abc" is not a number; correct the line or delete it
type Error struct {
	File    string // as the reader was given it
	Line    int    // from 1; 0: the fault is not in one line
	Column  int    // from 1, in characters; 0: it is not known
	Field   int    // from 1, of an SWF job line; 0: the fault is not in one field
	Text    string // of the field
	Problem string // what is wrong
	Hint    string // what to do
	Err     error  // the cause, or nil

	// Excerpt is the line, or the part of it around the column, whose character at Caret is the fault; "": it
	// is not shown.
	Excerpt string
	Caret   int
}

// Error returns the place, the problem and the hint in one line, and below them the excerpt.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		b.WriteString(":" + strconv.Itoa(e.Line))
	}
	if e.Column > 0 {
		b.WriteString(":" + strconv.Itoa(e.Column))
	}
	if e.Field > 0 {
		b.WriteString(": field " + strconv.Itoa(e.Field) + " (" + fieldName(e.Field) + ")")
	}
	b.WriteString(": " + e.Problem)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	if e.Excerpt != "" {
		b.WriteString("\n" + e.Excerpt + "\n" + strings.Repeat(" ", e.Caret) + "^")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// fieldName names field number n (1 to 18) of an SWF job line.
func fieldName(n int) string {
	return [numFields]string{
		"job number", "submit time", "wait time", "run time", "allocated processors", "average CPU time",
		"used memory", "requested processors", "requested time", "requested memory", "status", "user",
		"group", "executable", "queue", "partition", "preceding job", "think time",
	}[n-1]
}

// traceName is a file's name without its folder and extensions.
func traceName(file string) string {
	_, name := packed.ByName(filepath.Base(file))
	return strings.TrimSuffix(name, ".swf")
}
