package slurm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// printJSON is what to do about a faulty object.
const printJSON = "print jobs: sacct -a -S 2024-01-01 --json"

// objects reads what sacct --json prints, one job after the other.
type objects struct {
	source *counter
	read   *json.Decoder
	c      *collector
}

// readJSON reads what sacct prints with --json and gives each job to add.
func readJSON(text io.Reader, name string, c *collector) error {
	source := &counter{from: text}
	o := &objects{source, json.NewDecoder(source), c}
	source.allow(0)
	fault := o.whole()
	c.lines = source.lines()
	if fault == nil {
		return nil
	}
	fault.File = name
	return fault
}

// whole reads the object that holds all.
func (o *objects) whole() *workload.Error {
	if fault := o.open('{', "is no object"); fault != nil {
		return fault
	}
	found := false
	for o.read.More() {
		key, err := o.read.Token()
		if err != nil {
			return o.fault(err)
		}
		if key == "jobs" {
			found = true
			if fault := o.jobs(); fault != nil {
				return fault
			}
			continue
		}
		var other json.RawMessage // what is said of the command, and its warnings
		if err = o.read.Decode(&other); err != nil {
			return o.fault(err)
		}
	}
	if _, err := o.read.Token(); err != nil {
		return o.fault(err)
	}
	if !found {
		return &workload.Error{Problem: `has no "jobs"`, Hint: printJSON}
	}
	return nil
}

// jobs reads the list of jobs.
func (o *objects) jobs() *workload.Error {
	if fault := o.open('[', "the jobs are no list"); fault != nil {
		return fault
	}
	for first := true; o.read.More(); first = false {
		at := o.read.InputOffset()
		if !first {
			at += int64(len(",\n")) // the object begins behind the comma, mostly on the next line
		}
		o.source.allow(at)
		if fault := o.job(o.source.lineAt(at), at); fault != nil {
			return fault
		}
	}
	if _, err := o.read.Token(); err != nil {
		return o.fault(err)
	}
	return nil
}

// open reads a bracket.
func (o *objects) open(bracket json.Delim, problem string) *workload.Error {
	token, err := o.read.Token()
	if err != nil {
		return o.fault(err)
	}
	if token != bracket {
		return &workload.Error{Line: o.source.lineAt(o.read.InputOffset()), Problem: problem, Hint: printJSON}
	}
	return nil
}

// job reads one job, which begins at a line and a place.
func (o *objects) job(line int, at int64) *workload.Error {
	var j object
	if err := o.read.Decode(&j); err != nil {
		if wrong, isType := errors.AsType[*json.UnmarshalTypeError](err); isType {
			return &workload.Error{
				Line: o.source.lineAt(at + wrong.Offset), Err: err, Hint: printJSON,
				Problem: fmt.Sprintf("%s of a job is a %s", wrong.Field, wrong.Value),
			}
		}
		if faulty, isFault := errors.AsType[*numeralError](err); isFault {
			return &workload.Error{Line: line, Problem: "the job that begins here: " + faulty.Error(), Hint: printJSON, Err: err}
		}
		return o.fault(err)
	}
	missing := ""
	switch {
	case j.Time == nil && (j.JobState != nil || j.SubmitTime != nil):
		return &workload.Error{
			Line: line, Problem: "this is a job of squeue --json, which says nothing of jobs that ended", Hint: printJSON,
		}
	case j.JobID == nil || !j.JobID.known || j.JobID.n > infinite:
		missing = "job_id"
	case j.Time == nil || !j.Time.Submission.known && !j.Time.Eligible.known:
		missing = "time.submission"
	case !j.Time.Elapsed.known && (!j.Time.Start.known || !j.Time.End.known):
		missing = "time.elapsed"
	}
	if missing != "" {
		return &workload.Error{Line: line, Problem: "the job that begins here has no " + missing, Hint: printJSON}
	}
	r := j.record(line)
	if fault := o.c.add(&r); fault != nil {
		fault.Line = line
		return fault
	}
	o.c.steps += len(j.Steps)
	return nil
}

// fault returns the error for a text that is no JSON, or ends too early.
func (o *objects) fault(err error) *workload.Error {
	fault := &workload.Error{Err: err, Line: o.source.lineAt(o.read.InputOffset()), Hint: printJSON}
	syntax, isSyntax := errors.AsType[*json.SyntaxError](err)
	switch {
	case isSyntax:
		fault.Line, fault.Problem = o.source.lineAt(syntax.Offset), "is no JSON: "+syntax.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		fault.Line, fault.Problem = o.source.lines(), "ends in the middle of an object"
		fault.Hint = "the file may be truncated; print it again"
	default:
		fault.Problem, fault.Hint = "cannot be read: "+err.Error(), "if the file is damaged, fetch it again"
	}
	return fault
}

// maxObject bounds a job, in bytes. A job with thousands of steps has some million.
const maxObject = 256 << 20

// counter reads a text, and knows the lines of what was read last.
type counter struct {
	from   io.Reader
	at     int64
	limit  int64
	before int     // lines that end before those of ends
	ends   []int64 // places of line ends that were read, ascending
	open   bool    // the last line has no end
}

// Read reads, and notes where lines end.
func (c *counter) Read(b []byte) (int, error) {
	if c.at > c.limit {
		return 0, fmt.Errorf("a job has more than %d MiB", maxObject>>20)
	}
	n, err := c.from.Read(b)
	for i, letter := range b[:n] {
		if letter == '\n' {
			c.ends = append(c.ends, c.at+int64(i))
		}
	}
	c.at += int64(n)
	if n > 0 {
		c.open = b[n-1] != '\n'
	}
	return n, err
}

// allow lets an object begin at a place, and forgets the line ends before.
func (c *counter) allow(at int64) {
	gone := sort.Search(len(c.ends), func(i int) bool { return c.ends[i] >= at })
	c.before += gone
	c.ends = append(c.ends[:0], c.ends[gone:]...)
	c.limit = at + maxObject
}

// lineAt returns the line of a place, from 1.
func (c *counter) lineAt(at int64) int {
	return 1 + c.before + sort.Search(len(c.ends), func(i int) bool { return c.ends[i] >= at })
}

// lines returns how many lines were read.
func (c *counter) lines() int {
	if c.open {
		return c.before + len(c.ends) + 1
	}
	return c.before + len(c.ends)
}
