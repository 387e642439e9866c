package estimate

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// readFile reads the estimates in a file, by job name. A line is name,seconds, both perhaps in quotes, or
// with a semicolon or a tab instead of the comma; blank lines and lines that begin with # are ignored. A
// first line of names of columns may say which two of several columns count. The apostrophe by which
// spreadsheets take a name for text, as in '7.10, is none of the name. A fraction of a second counts as a
// second. Of a job without a number nothing is known. Errors name the file and the line.
func readFile(r io.Reader, file string) (*named, error) {
	n := &named{file: file, known: map[string]backfill.Time{}}
	lines := bufio.NewScanner(r)
	lines.Split(anyLines)
	number := 0
	for lines.Scan() {
		number++
		text := lines.Text()
		if number == 1 && (strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff")) {
			return nil, fmt.Errorf("%s is text in UTF-16; save it as CSV in UTF-8, or: iconv -f UTF-16 -t UTF-8", file)
		}
		text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
		if text == "" || text[0] == '#' {
			continue
		}
		if err := n.add(text); err != nil {
			return nil, fmt.Errorf("%s:%d: %w; a line is name,seconds", file, number, err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s:%d: the line is longer than %d letters", file, number+1, bufio.MaxScanTokenSize)
	case err != nil:
		return nil, fmt.Errorf("%s:%d: %w", file, number+1, err)
	}
	return n, nil
}

// anyLines splits a text at the ends of lines of any system: LF, CRLF, or CR alone.
func anyLines(data []byte, atEOF bool) (advance int, line []byte, err error) {
	advance, line, err = bufio.ScanLines(data, atEOF)
	head := data
	if advance > 0 {
		head = bytes.TrimSuffix(line, []byte("\r"))
	}
	if i := bytes.IndexByte(head, '\r'); i >= 0 && i+1 < len(data) {
		if data[i+1] == '\n' {
			return i + 2, data[:i], nil
		}
		return i + 1, data[:i], nil
	}
	return advance, line, err
}

// named is a file of estimates that was read.
type named struct {
	file    string
	known   map[string]backfill.Time
	first   string // the first name
	zeros   int    // lines of 0 s
	columns *columns
}

// add takes a line in.
func (n *named) add(text string) error {
	if n.columns == nil {
		c, heads, err := columnsOf(text)
		if err != nil {
			return err
		}
		if n.columns = c; heads {
			return nil
		}
	}
	name, seconds, err := n.columns.of(text)
	if err != nil {
		return err
	}
	t, err := parseSeconds(seconds)
	_, twice := n.known[name]
	switch {
	case name == "":
		return fmt.Errorf("there is no name before the %s", n.columns.word())
	case isMissing(seconds):
		return nil
	case err != nil:
		return fmt.Errorf("the estimate of job %s, %q, %w", name, seconds, err)
	case twice:
		return fmt.Errorf("job %s is in a line above, too", name)
	}
	n.first = cmp.Or(n.first, name)
	if n.known[name] = t; t == 0 {
		n.zeros++
	}
	return nil
}

// unquoted returns a field without the blanks and the quotes around it.
func unquoted(field string) string {
	const quote = `"`
	field = strings.TrimSpace(field)
	if inner, ok := strings.CutPrefix(field, quote); ok {
		if inner, ok = strings.CutSuffix(inner, quote); ok {
			return inner
		}
	}
	return field
}

// asText returns a name without the apostrophe before it.
func asText(name string) string {
	if text, marked := strings.CutPrefix(name, "'"); marked && text != "" {
		return text
	}
	return name
}

// isMissing reports whether a field says that there is no number, as programs write it.
func isMissing(field string) bool {
	return slices.Contains([]string{"", "nan", "none", "null", "na", "n/a", "<na>"}, strings.ToLower(field))
}

// isColumn reports whether a field names a column and is no time: it begins with a letter and is no word
// for a number that is missing, or endless.
func isColumn(field string) bool {
	first, _ := utf8.DecodeRuneInString(field)
	endless := []string{"inf", "infinity"}
	return unicode.IsLetter(first) && !isMissing(field) && !slices.Contains(endless, strings.ToLower(field))
}

// decimalComma matches a number with a comma that sets off no thousands.
var decimalComma = regexp.MustCompile(`^[0-9]+,([0-9]{1,2}|[0-9]{4,})$`)

// parseSeconds parses a time as [backfill.ParseTime] does, or a decimal number of seconds, which it rounds
// up; a comma may stand for the point.
func parseSeconds(text string) (backfill.Time, error) {
	if decimalComma.MatchString(text) {
		text = strings.Replace(text, ",", ".", 1)
	}
	t, err := backfill.ParseTime(text)
	if err == nil || !strings.ContainsAny(text, ".eE") || strings.ContainsAny(text, "xXpP_") {
		return t, err
	}
	seconds, floatErr := strconv.ParseFloat(text, 64)
	if floatErr != nil || !(seconds >= 0 && seconds <= float64(backfill.MaxTime)) {
		return t, err
	}
	return backfill.Time(math.Ceil(seconds)), nil
}

// Matches compares the files of estimates with all jobs that there are, by their names. A file that names
// none of them is an error. For each that does not name all of them it returns a warning, and where lines say 0 s.
func (s *Set) Matches(jobs []string) (warnings []string, err error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	for _, n := range s.files {
		matched := 0
		for _, name := range jobs {
			if _, there := n.known[name]; there {
				matched++
			}
		}
		switch {
		case matched == 0:
			return nil, fmt.Errorf("estimates file:%s: none of its %d lines names one of the %d jobs; name jobs as in %q, "+
				"the first of them%s", n.file, len(n.known), len(jobs), jobs[0], n.firstName())
		case matched < len(jobs):
			warnings = append(warnings, fmt.Sprintf("estimates file:%s: its lines name %d of the %d jobs: the others keep "+
				"what they request", n.file, matched, len(jobs)))
		}
		if n.zeros > 0 {
			warnings = append(warnings, fmt.Sprintf("estimates file:%s: %d of its lines say 0 s, which counts as 1 s",
				n.file, n.zeros))
		}
	}
	return warnings, nil
}

// firstName says what the file names first; "" if it names nothing.
func (n *named) firstName() string {
	if n.first == "" {
		return ""
	}
	return fmt.Sprintf("; the file's first is %q", n.first)
}

// fromFile returns an estimator that looks up the job's name among the known estimates. A job that
// is not among them keeps its request.
func fromFile(known map[string]backfill.Time) func(*Job) backfill.Time {
	return func(j *Job) backfill.Time {
		if t, ok := known[j.Name]; ok {
			return t
		}
		return j.Requested
	}
}
