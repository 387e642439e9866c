package slurm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// maxLine bounds a row, in bytes. Rows have some hundred.
const maxLine = 1 << 20

// heading is what the first line of a table says.
type heading struct {
	line      string
	delimiter string
	trailing  bool // a delimiter stands behind the last value, too, as --parsable prints it
	names     []string
	columns   []*column // of each name; nil: not read
	order     []int     // in which columns are read: those first that say whether a row is a job
	free      []int     // the columns in which the delimiter may occur
	zone      *time.Location
}

// readHeading reads a line of column names; nil if it is none: names are letters and digits, with the same
// delimiter between them, which is no blank. One of them is JobID or JobIDRaw.
func readHeading(line string) *heading {
	line = strings.TrimRight(line, "\r\n")
	line = strings.TrimPrefix(line, "\uFEFF")
	begin := strings.IndexFunc(line, isNoName)
	if begin <= 0 {
		return nil
	}
	length := strings.IndexFunc(line[begin:], func(r rune) bool { return !isNoName(r) })
	if length < 0 {
		return nil
	}
	h := &heading{line: line, delimiter: line[begin : begin+length]}
	if strings.Trim(h.delimiter, " ") == "" {
		return nil
	}
	line, h.trailing = strings.CutSuffix(line, h.delimiter)
	h.names = strings.Split(line, h.delimiter)
	for i, name := range h.names {
		if name == "" || strings.IndexFunc(name, isNoName) >= 0 {
			return nil
		}
		c := columnOf(name)
		h.columns = append(h.columns, c)
		if c != nil && c.free || slices.Contains(freeTexts, strings.ToLower(name)) {
			h.free = append(h.free, i)
		}
	}
	if !h.has("JobID") && !h.has("JobIDRaw") {
		return nil
	}
	h.order = make([]int, 0, len(h.names))
	for _, first := range []bool{true, false} {
		for i, c := range h.columns {
			if c != nil && strings.HasPrefix(c.name, "JobID") == first {
				h.order = append(h.order, i)
			}
		}
	}
	return h
}

// isNoName reports whether a letter is in no name of a column.
func isNoName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_'
}

// has reports whether there is a column of that name.
func (h *heading) has(name string) bool {
	return slices.ContainsFunc(h.names, func(n string) bool { return strings.EqualFold(n, name) })
}

// known counts the columns that are read.
func (h *heading) known() (count int) {
	for _, c := range h.columns {
		if c != nil {
			count++
		}
	}
	return count
}

// check returns an error if a column is missing that every job needs.
func (h *heading) check() *workload.Error {
	for _, names := range needed {
		if slices.ContainsFunc(names, h.has) {
			continue
		}
		return &workload.Error{
			Line: 1, Problem: "there is no column " + strings.Join(names, ", nor ") + " among " + head(strings.Join(h.names, ",")),
			Hint: "print it as well: " + Command,
		}
	}
	if !h.has("Elapsed") && !h.has("ElapsedRaw") && !h.has("Start") {
		return &workload.Error{
			Line: 1, Problem: "there is no column ElapsedRaw, and no column Start beside End, so no run time is known",
			Hint: "print it as well: " + Command,
		}
	}
	return nil
}

// doubts are warnings of columns that are missing.
func (h *heading) doubts() (all []string) {
	for _, w := range wanted {
		if !h.has(w[0]) {
			all = append(all, "there is no column "+w[0]+": "+w[1]+"; sacct -o prints it")
		}
	}
	return all
}

// readTable reads what sacct prints with -P and gives each row that is a job or a step to add.
func readTable(text io.Reader, name string, zone *time.Location, c *collector) error {
	rows := &rows{text: bufio.NewReaderSize(text, maxLine)}
	var h *heading
	for h == nil {
		line, err := rows.next()
		if err != nil {
			return rows.fault(name, err)
		}
		if trimmed := strings.TrimSpace(line); trimmed == "" || trimmed[0] == '#' {
			continue
		}
		if h = readHeading(line); h == nil {
			return &workload.Error{
				File: name, Line: rows.line, Problem: "the first line has no names of columns",
				Hint: "print them: without --noheader, and with -P",
			}
		}
		if fault := h.check(); fault != nil {
			fault.File, fault.Line = name, rows.line
			return fault
		}
	}
	h.zone = zone
	c.warnings = append(c.warnings, h.doubts()...)
	for {
		line, err := rows.next()
		if errors.Is(err, io.EOF) {
			c.lines = rows.line
			return nil
		}
		if err != nil {
			return rows.fault(name, err)
		}
		begin := rows.line
		if fault := h.row(line, rows, c); fault != nil {
			fault.File, fault.Line = name, begin
			return fault
		}
	}
}

// row reads a row, with the lines after it if the text of a column has several lines.
func (h *heading) row(line string, rows *rows, c *collector) *workload.Error {
	if strings.TrimSpace(line) == "" || line == h.line || line[0] == '#' {
		return nil // several tables may be in a file
	}
	begin := rows.line
	values := h.values(line)
	if len(values) == 1 && h.goesOn(line, c) {
		return nil
	}
	for len(values) < len(h.names) && len(h.free) > 0 && len(line) < maxLine {
		more, err := rows.next()
		if err != nil {
			break
		}
		if values = h.values(more); len(values) >= len(h.names) {
			values = h.values(line) // that one is a row of its own
			break
		}
		line += "\n" + more
		values = h.values(line)
	}
	switch surplus := len(values) - len(h.names); {
	case surplus < 0:
		return &workload.Error{
			Problem: fmt.Sprintf("the row has %d of %d columns", len(values), len(h.names)),
			Hint:    "if it is the last one, the file may be truncated; print it again",
		}
	case surplus == 0:
		r, fault := h.read(values, begin)
		if fault != nil {
			return fault
		}
		return c.add(&r)
	default:
		// The delimiter is in the text of a column: it belongs to the first with which the row can be read.
		for _, at := range h.free {
			joined := strings.Join(values[at:at+surplus+1], h.delimiter)
			if r, fault := h.read(slices.Concat(values[:at], []string{joined}, values[at+surplus+1:]), begin); fault == nil {
				return c.add(&r)
			}
		}
		return &workload.Error{
			Problem: fmt.Sprintf("the row has %d columns, and %d are named above", len(values), len(h.names)),
			Hint: "a value has the delimiter " + h.delimiter +
				" in it; print with another, such as sacct -P --delimiter=\";;\", or without JobName",
		}
	}
}

// goesOn reports whether a line is one more of the text in the last column of the row before, which is not read.
func (h *heading) goesOn(line string, c *collector) bool {
	last := len(h.names) - 1
	return last > 0 && slices.Contains(h.free, last) && len(c.entries)+c.steps > 0 && (&record{}).readID(line) != nil
}

// values splits a row.
func (h *heading) values(line string) []string {
	if h.trailing {
		line = strings.TrimSuffix(line, h.delimiter)
	}
	return strings.Split(line, h.delimiter)
}

// read reads the values of a row.
func (h *heading) read(values []string, line int) (record, *workload.Error) {
	r := blank(line)
	for _, i := range h.order {
		c := h.columns[i]
		if err := c.read(&r, strings.TrimSpace(values[i]), h.zone); err != nil {
			return r, &workload.Error{
				Text: values[i], Problem: fmt.Sprintf("column %d (%s): %q %v", i+1, c.name, head(values[i]), err),
				Hint: hint(c.hint),
			}
		}
		if r.step && strings.HasPrefix(c.name, "JobID") {
			return r, nil // a step's other values are not those of a job
		}
	}
	return r, nil
}

func hint(hint string) string {
	if hint == "" {
		return "correct the row or delete it"
	}
	return hint
}

// rows reads lines.
type rows struct {
	text *bufio.Reader
	line int // of the last one, from 1
}

// next returns a line without its end.
func (r *rows) next() (string, error) {
	s, err := r.text.ReadSlice('\n')
	if err != nil && !errors.Is(err, io.EOF) || len(s) == 0 {
		return "", err
	}
	r.line++
	s = bytes.TrimRight(s, "\r\n")
	if !utf8.Valid(s) {
		s = bytes.ToValidUTF8(s, []byte("�"))
	}
	return string(s), nil
}

// fault returns the error for a text that cannot be read.
func (r *rows) fault(name string, err error) error {
	fault := &workload.Error{File: name, Line: r.line + 1, Err: err}
	switch {
	case errors.Is(err, io.EOF):
		fault.Line, fault.Problem, fault.Hint = 0, "there is no row in it", "print jobs: "+Command
	case errors.Is(err, bufio.ErrBufferFull):
		fault.Problem, fault.Hint = fmt.Sprintf("the line has more than %d bytes", maxLine), "this is no table of sacct"
	default:
		fault.Problem, fault.Hint = "cannot be read: "+err.Error(), "if the file is damaged, fetch it again"
	}
	return fault
}
