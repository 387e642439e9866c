package estimate

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// columns say where the lines of a file of estimates have a job's name and the seconds.
type columns struct {
	separator     string
	name, seconds int // both 0: the seconds are behind the last separator, and the name is all before it
}

// The names of the columns that count where there are more than two, the best first.
var (
	nameColumns    = []string{"id", "job", "jobid", "job_id", "name"} //nolint:gochecknoglobals // a constant
	secondsColumns = []string{                                        //nolint:gochecknoglobals // a constant
		"seconds", "prediction", "predicted", "estimate", "run_time", "runtime", "run",
	}
)

// columnsOf returns the columns of a file by its first line, and whether that has their names.
func columnsOf(line string) (c *columns, heads bool, err error) {
	c = &columns{separator: ","}
	for _, separator := range []string{"\t", ";"} {
		if other := (&columns{separator: separator}); other.separates(line) {
			c = other
		}
	}
	if !strings.Contains(line, c.separator) {
		return nil, false, fmt.Errorf("there is no comma in %q", line)
	}
	fields := c.split(line)
	if !isColumn(fields[len(fields)-1]) && fields[0] != "" && !slices.ContainsFunc(fields, isName) {
		return c, false, nil
	}
	if c.name, c.seconds = find(fields, nameColumns), find(fields, secondsColumns); c.name >= 0 && c.seconds >= 0 {
		return c, true, nil
	}
	if len(fields) > 2 {
		return nil, false, fmt.Errorf("of these %d columns, one must be called %s, and one %s", len(fields),
			strings.Join(nameColumns, " or "), strings.Join(secondsColumns, " or "))
	}
	c.name, c.seconds = 0, 0
	return c, true, nil
}

// separates reports whether the separator is that of a line which may have commas, too, as decimal ones or in
// names: what is behind the last is then a number or the name of a column.
func (c *columns) separates(line string) bool {
	fields := c.split(line)
	last := fields[len(fields)-1]
	_, err := parseSeconds(last)
	return len(fields) > 1 && (err == nil || isMissing(last) || isColumn(last) && !strings.Contains(last, ","))
}

// isName reports whether a field is the name of a column that counts.
func isName(field string) bool {
	return find([]string{field}, slices.Concat(nameColumns, secondsColumns)) >= 0
}

// find returns which field is the first of the names that is there, or -1.
func find(fields, names []string) int {
	for _, name := range names {
		if i := slices.IndexFunc(fields, func(field string) bool { return strings.EqualFold(field, name) }); i >= 0 {
			return i
		}
	}
	return -1
}

// of returns the name and the seconds in a line.
func (c *columns) of(line string) (name, seconds string, err error) {
	if c.name == c.seconds {
		if fields := c.split(line); strings.Contains(line, `"`) && len(fields) > 1 {
			last := len(fields) - 1
			return asText(strings.Join(fields[:last], c.separator)), fields[last], nil
		}
		i := strings.LastIndex(line, c.separator)
		if i < 0 {
			return "", "", fmt.Errorf("there is no %s in %q", c.word(), line)
		}
		return asText(unquoted(line[:i])), unquoted(line[i+1:]), nil
	}
	fields := c.split(line)
	if max(c.name, c.seconds) >= len(fields) {
		return "", "", errors.New("there are fewer columns than the first line names")
	}
	return asText(fields[c.name]), fields[c.seconds], nil
}

// split returns the fields of a line, of which some may be in quotes.
func (c *columns) split(line string) []string {
	reader := csv.NewReader(strings.NewReader(line))
	reader.Comma, reader.LazyQuotes = rune(c.separator[0]), true
	fields, err := reader.Read()
	if err != nil {
		fields = strings.Split(line, c.separator)
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	return fields
}

// word is what people call the separator.
func (c *columns) word() string {
	return map[string]string{",": "comma", ";": "semicolon", "\t": "tab"}[c.separator]
}
