package workload

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// columns are the columns of a file as a line above its jobs names them.
type columns struct {
	separator byte  // between fields; 0: blanks
	fields    []int // of each column the number of its field
}

// fieldNames are the names by which people call each field, the usual one first. Case, blanks, signs and what
// is in brackets do not count.
var fieldNames = [numFields]string{
	"id job jobid jobnumber jobno number",
	"submit submittime submittedat submission submissiontime subtime",
	"wait waittime waited queuetime",
	"run runtime elapsed elapsedtime duration",
	"procs cpus nprocs ncpus numprocs processors allocatedprocessors allocatedprocs allocatedcpus allocprocs alloccpus " +
		"usedprocs usedcpus numberofallocatedprocessors",
	"cputime avgcputime averagecputime averagecputimeused usedcputime cpuused",
	"mem memory usedmemory usedmem memused memoryused",
	"reqprocs cpusreq reqcpus reqnprocs reqprocessors requestedprocessors requestedprocs requestedcpus " +
		"requestednumberofprocessors procsreq",
	"reqtime walltime walltimereq requestedtime requestedwalltime requestedruntime timereq timelimit estimate " +
		"userestimate",
	"reqmem memreq reqmemory requestedmemory requestedmem",
	"status state completed",
	"user userid uid username",
	"group groupid gid groupname",
	"app application executable executableid executablenumber exe appid applicationid",
	"queue queueid queuenumber",
	"partition part partitionid partitionnumber",
	"preceding prec prev precedingjob precedingjobnumber precedingjobid",
	"think thinktime thinktimefromprecedingjob",
}

// bracketed is what is left out of a name: a unit, as in "Run Time [s]".
var bracketed = regexp.MustCompile(`\([^)]*\)|\[[^\]]*\]|[^a-z0-9]`)

// fieldOf returns the number of the field that has a name; 0 if none has.
func fieldOf(name string) int {
	plain := bracketed.ReplaceAllString(strings.ToLower(name), "")
	for i, names := range fieldNames {
		for known := range strings.FieldsSeq(names) {
			if known == plain {
				return i + 1
			}
		}
	}
	return 0
}

// usualNames lists the usual names of the fields.
func usualNames() string {
	var list []string
	for _, names := range fieldNames {
		usual, _, _ := strings.Cut(names, " ")
		list = append(list, usual)
	}
	return strings.Join(list, ", ")
}

// heading returns what a line of column names says; nil if the line is none. It is an error if a name is
// unknown, as its numbers could be taken for what they are not, if two columns have the same field, or if
// what every job needs is missing.
func heading(s []byte) (*columns, *Error) {
	c := &columns{separator: frequent(s)}
	names := split(s, c.separator)
	known := 0
	for _, name := range names {
		if letter := bytes.TrimLeft(name, "_"); len(letter) == 0 || letter[0]|0x20 < 'a' || letter[0]|0x20 > 'z' {
			return nil, nil
		}
		n := fieldOf(string(name))
		if c.fields = append(c.fields, n); n != 0 {
			known++
		}
	}
	const enough = 3 // of words that all are names of fields
	if known < enough && len(names) != numFields {
		return nil, nil
	}
	return c, c.fault(names)
}

// fault returns the error of names that say too little.
func (c *columns) fault(names [][]byte) *Error {
	column := map[int]int{}
	for i, n := range c.fields {
		name := headOf(string(names[i]))
		if n == 0 {
			return &Error{
				Problem: fmt.Sprintf("column %d is named %s, which is no known name of a field", i+1, name),
				Hint:    "known are " + usualNames() + ", and what they are short for; rename the column, or leave it out",
			}
		}
		if first, again := column[n]; again {
			return &Error{
				Problem: fmt.Sprintf("columns %d and %d, %s and %s, both are field %d (%s)", first, i+1,
					headOf(string(names[first-1])), name, n, fieldName(n)),
				Hint: "leave one of them out, or call it by another of these names: " + usualNames(),
			}
		}
		column[n] = i + 1
	}
	lacks := func(field int) bool { return column[field] == 0 }
	for _, need := range []struct {
		missing bool
		name    string
	}{
		{lacks(fieldSubmit), "submit"},
		{lacks(fieldRun), "run"},
		{lacks(fieldProcs) && lacks(fieldReqProcs), "procs or reqprocs"},
	} {
		if need.missing {
			return &Error{
				Problem: "no column is named " + need.name,
				Hint:    "a job has at least submit, run and procs; condorsim workload formats describes the fields",
			}
		}
	}
	return nil
}

// arranged returns a job line with its fields in the order of the format. What has no column is unknown,
// but for the number of the job, which then is that of the line among all job lines.
func (c *columns) arranged(s []byte, job int) ([]byte, *Error) {
	separator := separatorOf(s)
	if separator == 0 && c.separator == '\t' && bytes.IndexByte(s, '\t') >= 0 {
		separator = '\t' // of which two mean an empty field
	}
	values := split(s, separator)
	if len(values) == len(c.fields)-1 && separator != 0 && s[len(s)-1] == separator {
		values = append(values, nil) // the last field is empty
	}
	if len(values) != len(c.fields) {
		return nil, &Error{
			Problem: fmt.Sprintf("the line has %d fields, and %d columns are named above", len(values), len(c.fields)),
			Hint:    "complete the line (-1: unknown) or delete it; if it is the last one, the file may be truncated",
		}
	}
	var all [numFields][]byte
	for i := range all {
		all[i] = []byte(unknown)
	}
	all[0] = fmt.Append(nil, job)
	for i, value := range values {
		n := c.fields[i]
		if fault := oneValue(value, n); fault != nil {
			return nil, fault
		}
		if len(value) > 0 {
			all[n-1] = value
		}
	}
	return bytes.Join(all[:], []byte(" ")), nil
}

// oneValue returns an error if what stands between separators is more than one value.
func oneValue(value []byte, field int) *Error {
	if !bytes.ContainsAny(value, " \t") {
		return nil
	}
	return &Error{
		Field: field, Text: string(value), Problem: fmt.Sprintf("%q is not a number", headOf(string(value))),
		Hint: "correct the line (-1: unknown) or delete it",
	}
}

// frequent returns the separator that occurs most often in a line of column names; 0: blanks.
func frequent(s []byte) (separator byte) {
	most := 1
	for _, b := range []byte("\t;|,") {
		if n := bytes.Count(s, []byte{b}); n > most {
			separator, most = b, n
		}
	}
	return separator
}

// separatorOf returns the separator that the first field of a job line ends with; 0: a blank.
func separatorOf(s []byte) byte {
	at := 0
	for at < len(s) && !isBlank(s[at]) && !isSeparator(s[at]) {
		at++
	}
	for at < len(s) && isBlank(s[at]) {
		at++
	}
	if at == len(s) || !isSeparator(s[at]) {
		return 0
	}
	return s[at]
}

func isSeparator(b byte) bool { return b == ';' || b == ',' || b == '|' }

// split returns the fields of a line without blanks and quotes around them. A separator behind the last one
// ends it.
func split(s []byte, separator byte) [][]byte {
	if separator == 0 {
		fields := bytes.Fields(s)
		for i := range fields {
			fields[i] = bytes.Trim(fields[i], "\"'")
		}
		return fields
	}
	fields := bytes.Split(s, []byte{separator})
	for i := range fields {
		fields[i] = bytes.Trim(fields[i], " \t\r\"'")
	}
	if last := len(fields) - 1; len(fields[last]) == 0 {
		return fields[:last]
	}
	return fields
}
