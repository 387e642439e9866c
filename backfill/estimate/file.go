package estimate

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// readFile reads the estimates in a file, by job name. A line is name,seconds, both perhaps in quotes, with
// a semicolon or a tab instead of the comma if there is none; blank lines and lines that begin with # are
// ignored. A first line of names of columns may say which two of several columns count. The apostrophe by
// which spreadsheets take a name for text, as in '7.10, is none of the name. A fraction of a second counts
// as a second. Errors name the file and the line.
func readFile(r io.Reader, file string) (map[string]backfill.Time, error) {
	known := map[string]backfill.Time{}
	var c *columns
	lines := bufio.NewScanner(r)
	number := 0
	for lines.Scan() {
		number++
		text := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if text == "" || text[0] == '#' {
			continue
		}
		wrong := func(problem string, args ...any) error {
			return fmt.Errorf("%s:%d: %s; a line is name,seconds", file, number, fmt.Sprintf(problem, args...))
		}
		if c == nil {
			heads, err := false, error(nil)
			if c, heads, err = columnsOf(text); err != nil {
				return nil, wrong("%v", err)
			}
			if heads {
				continue
			}
		}
		name, seconds, err := c.of(text)
		if err != nil {
			return nil, wrong("%v", err)
		}
		t, err := parseSeconds(seconds)
		switch _, twice := known[name]; {
		case name == "":
			return nil, wrong("there is no name before the %s", c.word())
		case err != nil:
			return nil, wrong("the estimate of job %s, %q, %v", name, seconds, err)
		case twice:
			return nil, wrong("job %s is in a line above, too", name)
		}
		known[name] = t
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, number+1, err)
	}
	return known, nil
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

// isColumn reports whether a field names a column and is no time: it begins with a letter and is none of
// the words for a number that is missing.
func isColumn(field string) bool {
	first, _ := utf8.DecodeRuneInString(field)
	missing := []string{"nan", "inf", "infinity", "none", "null", "na"}
	return unicode.IsLetter(first) && !slices.Contains(missing, strings.ToLower(field))
}

// parseSeconds parses a time as [backfill.ParseTime] does, or a decimal number of seconds, which it rounds up.
func parseSeconds(text string) (backfill.Time, error) {
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

// named is a file of estimates that was read.
type named struct {
	file  string
	known map[string]backfill.Time
}

// Matches compares the files of estimates with all jobs that there are, by their names. A file that names
// none of them is an error. For each that names less than half of them it returns a warning.
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
				"the first of them", n.file, len(n.known), len(jobs), jobs[0])
		case 2*matched < len(jobs):
			warnings = append(warnings, fmt.Sprintf("estimates file:%s: its lines name %d of the %d jobs: the others keep "+
				"what they request", n.file, matched, len(jobs)))
		}
	}
	return warnings, nil
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
