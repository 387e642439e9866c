package workload

import (
	"bytes"
	"fmt"
	"strings"
)

// Fields of a job line by their numbers.
const (
	fieldRun       = 4
	fieldRequested = 9
)

// unknown is how the format writes a number that is not known.
const unknown = "-1"

// spaced returns a line with blanks between its fields: itself, unless its first field ends with a
// semicolon or a comma, which then stands between all fields and, perhaps, behind the last. A field
// that is empty is unknown. Quotes are left out.
func spaced(s []byte) ([]byte, *Error) {
	at := 0
	for at < len(s) && !isBlank(s[at]) && s[at] != ';' && s[at] != ',' {
		at++
	}
	for at < len(s) && isBlank(s[at]) {
		at++
	}
	if at == len(s) || s[at] != ';' && s[at] != ',' {
		return s, nil
	}
	separator := s[at : at+1]
	fields := bytes.Split(s, separator)
	if len(fields) == numFields+1 && len(fields[numFields]) == 0 {
		fields = fields[:numFields] // a separator behind the last one
	}
	if len(fields) > numFields {
		return nil, &Error{
			Problem: fmt.Sprintf("the line has %d fields with %q between them, of %d", len(fields), separator, numFields),
			Hint:    "leave out what is no field of SWF, and write decimals with a point",
		}
	}
	for i, f := range fields {
		f = bytes.Trim(f, " \t\"'")
		switch {
		case len(f) == 0:
			f = []byte(unknown)
		case bytes.ContainsAny(f, " \t"):
			return nil, &Error{
				Field: i + 1, Text: string(f), Problem: fmt.Sprintf("%q is not a number", headOf(string(f))),
				Hint: "correct the line (-1: unknown) or delete it",
			}
		}
		fields[i] = f
	}
	return bytes.Join(fields, []byte(" ")), nil
}

// heading reports whether a line has the names of 18 columns. It is an error if a name is known as that
// of another column: the numbers would be taken for what they are not.
func heading(s []byte) (bool, *Error) {
	if digit := s[0] - '0'; digit <= 9 || s[0] == '-' {
		return false, nil
	}
	names := bytes.Fields(s)
	if len(names) != numFields {
		return false, nil
	}
	for _, name := range names {
		if c := bytes.TrimLeft(name, "\"'_"); len(c) == 0 || c[0]|0x20 < 'a' || c[0]|0x20 > 'z' {
			return false, nil
		}
	}
	for i, name := range names {
		if n := fieldOf(string(name)); n != 0 && n != i+1 {
			return false, &Error{
				Problem: fmt.Sprintf("column %d is named %s, which is field %d (%s) of SWF", i+1, headOf(string(name)), n,
					fieldName(n)),
				Hint: "put the columns into the order that condorsim workload formats describes",
			}
		}
	}
	return true, nil
}

// fieldOf returns the number of the field that has a name in the tables of others; 0 if none has.
func fieldOf(name string) int {
	plain := strings.NewReplacer("_", "", "-", "", ".", "", "\"", "", "'", "").Replace(strings.ToLower(name))
	for i, names := range [numFields]string{
		"id job jobid jobnumber", "submit submittime submittedat", "wait waittime", "run runtime elapsed duration",
		"nprocs allocatedprocessors allocprocs usedprocs", "cputime avgcputime averagecputime usedcputime",
		"usedmemory usedmem", "cpusreq reqprocs reqnprocs requestedprocessors requestedprocs",
		"walltime reqtime requestedtime timereq", "memreq reqmem reqmemory requestedmemory", "status",
		"user userid uid", "group groupid gid", "app exe executable executableid appid", "queue queueid",
		"part partition partitionid", "prec preceding precedingjob", "think thinktime",
	} {
		for known := range strings.FieldsSeq(names) {
			if known == plain {
				return i + 1
			}
		}
	}
	return 0
}

// IsSWF reports whether a text is surely in the Standard Workload Format, or a dialect of it, by how it
// begins: its first line that is neither comment nor column names has 18 numbers. The 29 fields of the
// Grid Workloads Format are none.
func IsSWF(head []byte) bool {
	headed := false
	for len(head) > 0 {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		head = rest
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == ';' || line[0] == '#' {
			continue
		}
		line, fault := spaced(line)
		if fault != nil {
			return false
		}
		if named, fault := heading(line); !headed && (named || fault != nil) {
			headed = true
			continue
		}
		const fieldsOfGWF = 29
		var rec record
		return parseRecord(line, &rec) == nil && len(bytes.Fields(line)) != fieldsOfGWF
	}
	return false
}
