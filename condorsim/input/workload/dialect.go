package workload

import (
	"bytes"
	"fmt"
)

// Fields of a job line by their numbers.
const (
	fieldSubmit    = 2
	fieldRun       = 4
	fieldProcs     = 5
	fieldReqProcs  = 8
	fieldRequested = 9
)

// unknown is how the format writes a number that is not known.
const unknown = "-1"

// spaced returns a line with blanks between its fields: itself, unless its first field ends with a
// semicolon, a comma or a bar, which then stands between all fields and, perhaps, behind the last. A field
// that is empty is unknown. Quotes are left out.
func spaced(s []byte) ([]byte, *Error) {
	separator := separatorOf(s)
	if separator == 0 {
		return s, nil
	}
	fields := split(s, separator)
	if len(fields) == numFields-1 && s[len(s)-1] == separator {
		fields = append(fields, nil) // the last field is empty
	}
	if len(fields) > numFields {
		return nil, &Error{
			Problem: fmt.Sprintf("the line has %d fields with %q between them, of %d", len(fields), string(separator),
				numFields),
			Hint: "leave out what is no field of SWF, and write decimals with a point",
		}
	}
	for i, f := range fields {
		if len(f) == 0 {
			fields[i] = []byte(unknown)
		}
		if fault := oneValue(f, i+1); fault != nil {
			return nil, fault
		}
	}
	return bytes.Join(fields, []byte(" ")), nil
}

// fieldsOfGWF is how many fields a job has in the Grid Workloads Format, the first of which are those of SWF.
const fieldsOfGWF = 29

// IsSWF reports whether a text is surely in the Standard Workload Format, or a dialect of it, by how it
// begins: its first line that is neither comment nor column names has 18 numbers, or one below each name. The
// 29 fields of the Grid Workloads Format are none.
func IsSWF(head []byte) bool {
	named, line, fault := firstJob(head)
	switch {
	case fault != nil || line == nil:
		return false
	case named != nil:
		line, fault = named.arranged(line, 1)
	default:
		line, fault = spaced(line)
	}
	var rec record
	return fault == nil && parseRecord(line, &rec) == nil && (named != nil || len(bytes.Fields(line)) != fieldsOfGWF)
}

// NamesFields reports whether a text begins with a line of column names that are meant as those of SWF, at
// fault or not, above numbers.
func NamesFields(head []byte) bool {
	named, line, _ := firstJob(head)
	if named == nil || len(line) == 0 {
		return false
	}
	for _, value := range split(line, separatorOf(line)) {
		if _, _, problem := parseNumber(value); problem != "" && len(value) > 0 {
			return false
		}
	}
	return true
}

// firstJob returns the first line of a text that is neither comment nor column names, and what the names
// say.
func firstJob(head []byte) (named *columns, line []byte, fault *Error) {
	for len(head) > 0 {
		line, head, _ = bytes.Cut(head, []byte("\n"))
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == ';' || line[0] == '#' {
			continue
		}
		if named != nil {
			return named, line, fault
		}
		if named, fault = heading(line); named == nil {
			return nil, line, nil
		}
	}
	return named, nil, fault
}
