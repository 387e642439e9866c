package kinds

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

var (
	columnName = regexp.MustCompile(`^[A-Za-z_][\w.%/()-]*$`)
	number     = regexp.MustCompile(`^-?\d+(\.\d+)?$`)
)

// isTable reports whether a text begins with a line of at least three column names, and another one with
// as many fields, one of them a number.
func isTable(head []byte) bool {
	first, rest, _ := bytes.Cut(head, []byte("\n"))
	for _, separator := range []string{"\t", ";", "|", ","} {
		if bytes.Count(first, []byte(separator)) > 1 {
			return below(fields(first, separator), rest, separator)
		}
	}
	return below(fields(first, ""), rest, "")
}

// below reports whether names are column names of the line after them.
func below(names []string, rest []byte, separator string) bool {
	second, _, whole := bytes.Cut(rest, []byte("\n"))
	values := fields(second, separator)
	return len(names) > 2 && len(values) > 0 && (len(values) == len(names) || !whole) &&
		!slices.ContainsFunc(names, func(name string) bool { return !columnName.MatchString(name) }) &&
		slices.ContainsFunc(values, number.MatchString)
}

// fields returns the fields of a line, without quotes. Without a separator they are what stands between
// blanks.
func fields(line []byte, separator string) []string {
	if separator == "" {
		return strings.Fields(string(line))
	}
	list := strings.Split(strings.TrimSuffix(strings.TrimSpace(string(line)), separator), separator)
	for i := range list {
		list[i] = strings.Trim(list[i], "\"' \t\r")
	}
	return list
}
