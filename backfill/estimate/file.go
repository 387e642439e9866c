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

// readFile reads the estimates in a file, by job name. A line is name,seconds, both perhaps in quotes;
// blank lines and lines that begin with # are ignored, and so is a first line of names of columns. A
// fraction of a second counts as a second. Errors name the file and the line.
func readFile(r io.Reader, file string) (map[string]backfill.Time, error) {
	known, begun := map[string]backfill.Time{}, false
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
		comma := strings.LastIndexByte(text, ',')
		if comma < 0 {
			return nil, wrong("there is no comma in %q", text)
		}
		name, seconds := unquoted(text[:comma]), unquoted(text[comma+1:])
		first := !begun
		if begun = true; first && isColumn(seconds) {
			continue
		}
		t, err := parseSeconds(seconds)
		switch _, twice := known[name]; {
		case name == "":
			return nil, wrong("there is no name before the comma")
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
