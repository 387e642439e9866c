package workload

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

const (
	numFields = 18
	maxLine   = 1 << 20 // bytes; the longest line of the archive has some thousand

	// maxNumber bounds the numbers of a file, so that sums and scaled times
	// cannot overflow. In seconds it is 30 thousand years.
	maxNumber = int64(1e12)
)

// record has the fields of one job line; field n of the format is record[n-1].
type record [numFields]int64

// Open reads the trace in the file path; see [ReadSWF].
func Open(path string, opts Options) (*Trace, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read trace: %w; check the path", err)
	}
	defer file.Close() //nolint:errcheck // only read
	return ReadSWF(file, path, opts)
}

// ReadSWF reads, cleans and sorts a trace in the Standard Workload Format. The text may be
// compressed with gzip, xz or zstd, whatever its name. The name is used in errors and, without
// folder and extensions, for the trace.
//
// Lines count from 1. Blank lines are skipped; lines that begin with ';' are header or comment, those
// with '#' comment. Dialects are read, too: commas, semicolons or bars between the fields, and a line of
// column names above the jobs, which says where each field is. Of numbers with decimals, run time and requested time are rounded up and
// others down. Fields after the eighteenth are ignored, but for
// the GPUs of jobs, the nineteenth, if the header has MachineGPUs, and those of
// the trace of Frontier. Faults in the text are returned as *Error, wrong options
// as the error of [Options.Validate].
func ReadSWF(r io.Reader, name string, opts Options) (*Trace, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	c := newCleaner(name, opts)
	file, err := Text(r, name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	text := bufio.NewReaderSize(file, maxLine)
	for line := 1; err == nil; line++ {
		var s []byte
		s, err = text.ReadSlice('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, unreadable(name, line, err)
		}
		if err != nil && len(s) == 0 {
			break
		}
		c.trace.Cleaning.Lines, c.text = line, bytes.TrimRight(s, "\r\n")
		if fault := c.line(bytes.TrimSpace(s)); fault != nil {
			fault.File, fault.Line = name, line
			return nil, blame(fault, file.Format, text)
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, unreadable(name, 0, err)
	}
	return c.finish()
}

// blame returns the error for a faulty line. It reads the rest of the file: if the compressed data
// turn out to be damaged, by their checksum for example, the error says that, else it is the fault
// of the line.
func blame(fault *Error, format packed.Format, rest io.Reader) error {
	if _, err := io.Copy(io.Discard, rest); err != nil && format != packed.Plain {
		return &Error{
			File: fault.File, Line: fault.Line, Err: err,
			Problem: fmt.Sprintf("the %s file is damaged (%v)", format, err), Hint: "fetch it again",
		}
	}
	return fault
}

// headOf cuts a text to a length that suits an error.
func headOf(text string) string {
	const room = 40
	if len(text) > room {
		return text[:room] + "…"
	}
	return text
}

// unreadable returns the error for a file whose text is cut off or cannot be read.
func unreadable(name string, line int, err error) error {
	fault := &Error{File: name, Line: line, Err: err}
	var truncated *packed.TruncatedError
	var damaged *packed.DamagedError
	var refused *packed.RefusedError
	var noText *packed.NoTextError
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		fault.Problem = "the line has more than " + strconv.Itoa(maxLine) + " bytes"
		fault.Hint = "this is no SWF file"
	case errors.Is(err, syscall.EISDIR):
		fault.Problem = "is a directory"
		fault.Hint = "give a file"
	case errors.As(err, &truncated), errors.As(err, &damaged), errors.As(err, &refused), errors.As(err, &noText):
		fault.Problem = err.Error()
	default:
		fault.Problem = "cannot be read: " + err.Error()
		fault.Hint = "if the file is damaged, fetch it again"
	}
	return fault
}

// line reads one line of the file, given without its end: a job line or a comment.
func (c *cleaner) line(s []byte) *Error {
	if len(s) == 0 {
		return nil
	}
	switch s[0] {
	case ';':
		c.keepComment()
		return c.comment(string(s))
	case '#':
		c.keepComment()
		return nil
	}
	var fault *Error
	if c.trace.Cleaning.JobsRead == 0 && c.columns == nil {
		if c.columns, fault = heading(s); c.columns != nil {
			return fault
		}
	}
	var plain []byte
	if c.columns != nil {
		plain, fault = c.columns.arranged(s, c.trace.Cleaning.JobsRead+1)
	} else {
		plain, fault = spaced(s)
	}
	if fault != nil {
		return fault
	}
	if !bytes.Equal(plain, s) {
		s, c.text = plain, plain
	}
	var rec record
	if fault = parseRecord(s, &rec); fault != nil {
		return fault
	}
	if c.trace.Cleaning.JobsRead == 0 {
		c.noteMore(s)
	}
	if fault = c.readMore(s); fault != nil {
		return fault
	}
	return c.record(&rec)
}

// noteMore looks, at the first job line, which fields there are behind those of the format: the GPUs, if the
// header has the machine's, and what the trace of Frontier has. It notes that others are not read.
func (c *cleaner) noteMore(line []byte) {
	fields := len(bytes.Fields(line))
	read, last := numFields, "eighteenth"
	c.more.fields, c.more.gpus = fields > numFields, c.trace.Header.Number(keyGPUs) > 0
	if c.more.gpus {
		read, last = numFields+1, "nineteenth"
	}
	if nodes, _ := nodesBehind(line); fields > read && nodes == 0 {
		c.trace.Warnings = append(c.trace.Warnings, fmt.Sprintf(
			"the first job line has %d fields: those behind the %s are not read", fields, last))
	}
}

// parseRecord reads the first eighteen fields of a job line.
func parseRecord(s []byte, rec *record) *Error {
	at := 0
	for n := range rec {
		for at < len(s) && isBlank(s[at]) {
			at++
		}
		if at == len(s) {
			return &Error{
				Field:   n + 1,
				Problem: fmt.Sprintf("is missing, the line has %d of %d fields", n, numFields),
				Hint: "complete the line (-1: unknown) or delete it; if it is the last one, the file " +
					"may be truncated",
			}
		}
		begin := at
		if value, end := wholeNumber(s, at); end > 0 {
			rec[n], at = value, end
			continue
		}
		for at < len(s) && !isBlank(s[at]) {
			at++
		}
		value, fraction, problem := parseNumber(s[begin:at])
		if problem != "" {
			text := string(s[begin:at])
			return &Error{
				Field: n + 1, Text: text, Problem: strconv.Quote(headOf(text)) + problem,
				Hint: "correct the line (-1: unknown) or delete it",
			}
		}
		if fraction && value >= 0 && (n+1 == fieldRun || n+1 == fieldRequested) {
			value++ // who ran for half a second ran, and who asked for it asked for a time
		}
		rec[n] = value
	}
	return nil
}

// wholeNumber parses the usual form of a field: a whole number of up to ten digits, followed by a
// blank or the end. For any other form the returned end is 0.
func wholeNumber(s []byte, at int) (value int64, end int) {
	negative := s[at] == '-'
	if negative {
		at++
	}
	first := at
	for at < len(s) && at < first+10 {
		digit := s[at] - '0'
		if digit > 9 {
			break
		}
		value = value*10 + int64(digit)
		at++
	}
	if at == first || at < len(s) && !isBlank(s[at]) {
		return 0, 0
	}
	if negative {
		value = -value
	}
	return value, at
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }

// parseNumber parses a decimal number and returns its floor, and whether there is more than that: 12.5
// is 12 and -0.5 is -1, so that a negative number, which means unknown, stays negative. The format has
// integers, and decimals in the average CPU time, but no exponents. The returned text is the fault, ""
// if there is none.
func parseNumber(s []byte) (value int64, fraction bool, problem string) {
	digits, negative := s, false
	if len(s) > 0 && s[0] == '-' {
		digits, negative = s[1:], true
	}
	seen, point := false, false
	for _, b := range digits {
		switch {
		case b == '.' && !point:
			point = true
		case b < '0' || b > '9':
			return 0, false, " is not a number"
		case point:
			seen = true
			fraction = fraction || b != '0'
		default:
			seen = true
			value = value*10 + int64(b-'0')
			if value > maxNumber {
				return 0, false, " is not a number up to 1e12"
			}
		}
	}
	if !seen {
		return 0, false, " is not a number"
	}
	if negative {
		value = -value
		if fraction {
			value--
		}
	}
	return value, fraction, ""
}

// Text returns the text of a file of jobs, decompressed if it is not yet, to be closed. The name is
// used in errors, which are of type *Error.
func Text(r io.Reader, name string) (*packed.Reader, error) { return TextOf(r, name, "") }

// TextOf is Text, also for what is no text but begins with a line that names it; "": nothing is.
func TextOf(r io.Reader, name, firstLine string) (*packed.Reader, error) {
	text, err := packed.NewReaderOf(r, firstLine)
	if err != nil {
		return nil, unreadable(name, 0, err)
	}
	return text, nil
}
