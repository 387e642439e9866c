package gwf

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/settle"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// earliest is the least Unix time that submit times can be, in 1973: lesser ones count from the start of the
// trace.
const earliest = 100_000_000

// reader reads a trace.
type reader struct {
	name   string
	field  workload.ProcsField
	texts  settle.Texts
	header workload.Header
	jobs   []settle.Record
	lines  int
	depend int // jobs whose structure is a graph
}

// Read reads a trace and makes a [workload.Trace] of it; see [settle.Trace]. The text is decompressed
// already. Lines that begin with # or ; are comments; those of the form "# Key: value" with keys of the
// Standard Workload Format count as there. Errors are of type *[workload.Error], or those of options.
func Read(text io.Reader, name string, opts workload.Options) (*workload.Trace, error) {
	r := &reader{name: name, field: opts.ProcsField, texts: settle.Texts{}, header: workload.Header{}}
	for line, err := range settle.Lines(text, name) {
		if err != nil {
			return nil, err
		}
		r.lines = line.Number
		if fault := r.line(line); fault != nil {
			fault.File, fault.Line = name, line.Number
			return nil, fault
		}
	}
	file := settle.File{
		Name: name, Lines: r.lines, UsedFirst: true, InOrder: true, Dated: r.dated(), Warnings: r.warnings(),
		Processors: max(r.header.Number("MaxProcs"), 0),
		Nothing:    "a job is a line of 29 fields, the first of which are " + names[:strings.Index(names, " Average")],
	}
	trace, err := settle.Trace(file, r.jobs, opts)
	if err != nil {
		return nil, err
	}
	for key, value := range r.header {
		if _, known := trace.Header[key]; !known {
			trace.Header[key] = value
		}
	}
	return trace, nil
}

// dated reports whether all submit times are Unix times.
func (r *reader) dated() bool {
	return !slices.ContainsFunc(r.jobs, func(j settle.Record) bool { return 0 <= j.Submit && j.Submit < earliest })
}

// line reads a line: a comment, the names of the fields, or a job. The error is without its place.
func (r *reader) line(line settle.Line) *workload.Error {
	text := strings.TrimSpace(line.Text)
	comment := text != "" && (text[0] == '#' || text[0] == ';')
	bare := strings.TrimLeft(text, "#; \t")
	switch {
	case bare == "":
		return nil
	case strings.HasPrefix(strings.ToLower(bare), "jobid"):
		return named(strings.Fields(bare))
	case comment:
		r.comment(bare)
		return nil
	default:
		return r.job(strings.Fields(text), line.Number)
	}
}

// comment notes a line of the form "Key: value" whose key the header of a trace has.
func (r *reader) comment(text string) {
	key, value, found := strings.Cut(text, ":")
	for _, known := range []string{
		"MaxProcs", "UnixStartTime", "TimeZone", "TimeZoneString", "Computer", "Installation",
	} {
		if found && strings.EqualFold(key, known) && r.header[known] == "" {
			r.header[known] = strings.TrimSpace(value)
		}
	}
}

// named checks that the names of the fields are in their places.
func named(fields []string) *workload.Error {
	for i, want := range strings.Fields(names) {
		if i >= len(fields) || i >= needed+1 {
			return nil // what follows is not read, or may be left out
		}
		if !strings.EqualFold(fields[i], want) {
			return &workload.Error{
				Problem: fmt.Sprintf("field %d is named %.40q and not %s", i+1, fields[i], want),
				Hint:    "put the fields in the order of the Grid Workloads Format",
			}
		}
	}
	return nil
}

// job reads the line of a job.
func (r *reader) job(fields []string, line int) *workload.Error {
	if len(fields) < needed {
		return &workload.Error{
			Problem: fmt.Sprintf("the line has %d of 29 fields", len(fields)),
			Hint:    "complete the line (-1: unknown) or delete it; if it is the last one, the file may be cut off",
		}
	}
	var values [status + 1]int64
	for i := range values {
		value, fraction, fine := number(fields[i])
		if !fine {
			return settle.Fault("", 0, fmt.Sprintf("field %d (%s)", i+1, nameOf(i)), fields[i],
				"is no number up to 1e12", "correct the line (-1: unknown) or delete it")
		}
		if fraction && (i == runTime || i == reqTime) {
			value++ // who ran for half a second ran
		}
		values[i] = value
	}
	get := func(field int) string {
		if field < len(fields) {
			return r.texts.Keep(label(fields[field]))
		}
		return ""
	}
	j := settle.Record{
		Number: values[jobID], Line: line, Submit: values[submitTime], Start: -1, Run: values[runTime],
		Status: settle.Status(values[status]), Allocated: values[procs], Asked: values[reqProcs],
		Estimate: values[reqTime], User: get(userID), Group: get(groupID), Executable: get(executableID),
		Queue: get(queueID),
	}
	if values[waitTime] >= 0 && j.Submit >= 0 {
		j.Start = j.Submit + values[waitTime]
	}
	for _, other := range []int{void, project} {
		if j.Group == "" {
			j.Group = get(other)
		}
	}
	processors := j.Processors(r.field)
	j.Used, j.Requested = mib(values[usedMemory], processors), mib(values[reqMemory], processors)
	if len(fields) > jobStructure && strings.EqualFold(fields[jobStructure], "DAG") {
		r.depend++
	}
	r.jobs = append(r.jobs, j)
	return nil
}

// warnings says what of the trace is not heeded.
func (r *reader) warnings() []string {
	if r.depend == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d jobs are parts of graphs (field 19, DAG), and wait for no other job: each is "+
		"submitted when it was", r.depend)}
}
