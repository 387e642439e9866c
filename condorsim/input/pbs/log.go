package pbs

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/condorsim/input/settle"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// entry is what is known of a job so far.
type entry struct {
	settle.Record
	created int64 // ctime; below 0: unknown
	begun   int64 // when it started last, by the date of that record; below 0: it is not running
	runs    int   // how often it started
	deleted bool
	closed  bool // its end is recorded
}

// reader reads a log.
type reader struct {
	name   string
	texts  settle.Texts
	jobs   []entry
	byID   map[string]int // the latest of each name, in jobs
	others map[string]int // records that are not read, by their letter
	lines  int
}

// record is a line of a log.
type record struct {
	line     int
	at       int64  // the date, in seconds as if it were in UTC: only differences of dates count
	kind, id string // the letter, and the job's name
	rest     string // attributes, or text
}

// Read reads an accounting log and makes a trace of it; see [settle.Trace]. The text is decompressed
// already. Errors are of type *[workload.Error], or those of options.
func Read(text io.Reader, name string, opts workload.Options) (*workload.Trace, error) {
	r, err := read(text, name)
	if err != nil {
		return nil, err
	}
	return settle.Trace(settle.File{
		Name: name, Lines: r.lines, Dated: true, Warnings: r.warnings(),
		Nothing: "give the accounting logs of days on which jobs ended: server_priv/accounting/YYYYMMDD",
	}, r.records(), opts)
}

// read reads all records of a log.
func read(text io.Reader, name string) (*reader, error) {
	r := &reader{name: name, texts: settle.Texts{}, byID: map[string]int{}, others: map[string]int{}}
	for line, err := range settle.Lines(text, name) {
		if err != nil {
			return nil, err
		}
		r.lines = line.Number
		if strings.TrimSpace(line.Text) == "" || line.Text[0] == '#' {
			continue
		}
		if fault := r.line(line); fault != nil {
			return nil, fault
		}
	}
	return r, nil
}

// line reads a line of the log.
func (r *reader) line(line settle.Line) *workload.Error {
	rec, fault := parse(r.name, line)
	if fault != nil {
		return fault
	}
	if strings.Contains(rec.id, "[]") {
		return nil // an array as a whole, whose jobs have records of their own
	}
	switch rec.kind {
	case "Q":
		return r.queued(rec)
	case "S":
		return r.started(rec)
	case "E":
		return r.ended(rec)
	case "R":
		r.entry(rec, -1).begun = -1
	case "D", "A":
		r.removed(rec)
	case "L": // licences, every few minutes
	default:
		r.others[rec.kind]++
	}
	return nil
}

// parse cuts a line at its first three semicolons.
func parse(name string, line settle.Line) (rec record, fault *workload.Error) {
	const hint = "a line of an accounting log is DATE TIME;LETTER;JOB;ATTRIBUTES; complete or delete it; if it is the " +
		"last one, the file may be cut off"
	parts := strings.SplitN(line.Text, ";", 4)
	if len(parts) < 4 {
		return rec, &workload.Error{
			File: name, Line: line.Number, Problem: fmt.Sprintf("the line has %d of 4 parts", len(parts)), Hint: hint,
		}
	}
	at, err := time.Parse("01/02/2006 15:04:05", parts[0])
	if err != nil {
		return rec, settle.Fault(name, line.Number, "date", parts[0], "is no date such as 06/30/2024 23:59:59", hint)
	}
	return record{line.Number, at.Unix(), parts[1], parts[2], parts[3]}, nil
}

// entry returns the entry of the job that a record is of. It is a new one if the number is that of another
// job, which was created at another time: servers begin again at 0.
func (r *reader) entry(rec record, created int64) *entry {
	i, known := r.byID[rec.id]
	if known && created >= 0 && r.jobs[i].created >= 0 && r.jobs[i].created != created {
		known = false
	}
	if !known {
		i = len(r.jobs)
		e := entry{created: -1, begun: -1}
		e.Number, e.Part = number(rec.id)
		e.Submit, e.Start, e.Run, e.Status, e.End = -1, -1, -1, settle.Unknown, settle.Unfinished
		r.jobs = append(r.jobs, e)
		r.byID[strings.Clone(rec.id)] = i
	}
	e := &r.jobs[i]
	e.Line = rec.line
	if e.created < 0 {
		e.created = created
	}
	return e
}

var jobID = regexp.MustCompile(`^(\d+)(?:\[(\d+)\]|-(\d+))?(?:\.|$)`)

// number returns the number in the name of a job such as 12.server, and its index in an array, as in
// 12[3].server and 12-3.server; -1 if the name has another form.
func number(id string) (sequence, index int64) {
	parts := jobID.FindStringSubmatch(id)
	if parts == nil {
		return -1, 0
	}
	sequence, fine := whole(parts[1])
	if !fine {
		return -1, 0
	}
	if text := parts[2] + parts[3]; text != "" {
		index, _ = whole(text)
		index++ // the first one may have index 0
	}
	return sequence, index
}

// queued reads the record of a job that enters a queue.
func (r *reader) queued(rec record) *workload.Error {
	all := attributes(rec.rest)
	_, _, fault := r.filled(rec, all)
	return fault
}

// started reads the record of a job's start.
func (r *reader) started(rec record) *workload.Error {
	all := attributes(rec.rest)
	e, times, fault := r.filled(rec, all)
	if fault != nil {
		return fault
	}
	e.begun, e.Start, e.closed, e.deleted = rec.at, times["start"], false, false
	e.Run, e.End, e.Status = -1, settle.Unfinished, settle.Unknown
	e.runs++
	return nil
}

// ended reads the record of a job's end.
func (r *reader) ended(rec record) *workload.Error {
	all := attributes(rec.rest)
	e, times, fault := r.filled(rec, all)
	if fault != nil {
		return fault
	}
	e.begun, e.closed, e.End, e.Run = -1, true, settle.Ended, -1
	e.Start = times["start"]
	if e.runs == 0 {
		e.runs = 1
	}
	if e.Start <= 0 {
		e.Start, e.Status = -1, settle.Cancelled // it was deleted in its queue
		return nil
	}
	if end := times["end"]; end >= 0 {
		e.Run = end - e.Start
	}
	switch status := all["Exit_status"]; {
	case e.deleted:
		e.Status = settle.Cancelled
	case status == "":
		e.Status = settle.Unknown
	case status == "0":
		e.Status = settle.Completed
	default:
		e.Status = settle.Failed
	}
	return nil
}

// removed reads the record of a job that was deleted, or aborted by the server.
func (r *reader) removed(rec record) {
	e := r.entry(rec, -1)
	switch {
	case e.closed:
	case e.begun >= 0:
		e.deleted, e.End, e.Run = true, settle.Removed, max(0, rec.at-e.begun)
	default:
		e.deleted, e.End, e.Run, e.Start, e.Status = true, settle.Ended, -1, -1, settle.Cancelled
	}
}

// filled returns the job's entry with what the attributes of a record say, and their times by name; those
// that are not given are -1.
func (r *reader) filled(rec record, all map[string]string) (*entry, map[string]int64, *workload.Error) {
	fault := func(f *fieldError) *workload.Error {
		return settle.Fault(r.name, rec.line, f.field, f.text, f.problem, f.hint)
	}
	times := map[string]int64{}
	for _, name := range []string{"ctime", "qtime", "etime", "start", "end"} {
		times[name] = -1
		if text := all[name]; text != "" {
			at, fine := whole(text)
			if !fine {
				return nil, nil, fault(&fieldError{name, text, "is no Unix time", correct})
			}
			times[name] = at
		}
	}
	asked, wrong := requested(all)
	if wrong != nil {
		return nil, nil, fault(wrong)
	}
	estimate := int64(-1)
	if text := all["Resource_List.walltime"]; text != "" {
		seconds, fine := duration(text)
		if !fine {
			return nil, nil, fault(&fieldError{"Resource_List.walltime", text, "is no time", timeHint})
		}
		estimate = seconds
	}
	used, wrong := sizeOf(all, "resources_used.mem")
	if wrong != nil {
		return nil, nil, fault(wrong)
	}
	e := r.entry(rec, times["ctime"])
	e.arrive(times)
	e.fill(asked, given(all), estimate, used)
	r.label(e, all)
	return e, times, nil
}

// arrive notes when the job could first run. A record of a later run counts no more: etime may be anew then.
func (e *entry) arrive(times map[string]int64) {
	if e.Submit >= 0 && e.runs > 0 {
		return
	}
	for _, name := range []string{"etime", "qtime", "ctime"} {
		if at := times[name]; at > 0 {
			e.Submit = at
			e.Held = name == "etime" && times["ctime"] > 0 && at > times["ctime"]
			return
		}
	}
}

// fill notes what the job asked for and got, as far as a record says it.
func (e *entry) fill(asked, got amounts, estimate, used int64) {
	note := func(to *int64, amounts ...int64) {
		for _, amount := range amounts {
			if amount >= 0 {
				*to = amount
				return
			}
		}
	}
	note(&e.Asked, asked.cpus)
	note(&e.Allocated, got.cpus)
	note(&e.GPUs, got.gpus, asked.gpus)
	note(&e.Estimate, estimate)
	const kib = 1024
	if asked.kib >= 0 {
		e.Requested = (asked.kib + kib - 1) / kib
	}
	if used >= 0 {
		e.Used = (used + kib - 1) / kib
	}
}

// noProject is the project of jobs that have none.
const noProject = "_pbs_project_default"

// label notes whose the job is.
func (r *reader) label(e *entry, all map[string]string) {
	for _, one := range []struct {
		to    *string
		names []string
	}{
		{&e.User, []string{"user", "owner"}},
		{&e.Group, []string{"group", "account", "project"}},
		{&e.Executable, []string{"jobname"}},
		{&e.Queue, []string{"queue"}},
	} {
		for _, name := range one.names {
			value := all[name]
			if name == "owner" {
				value, _, _ = strings.Cut(value, "@")
			}
			if value != "" && value != noProject {
				*one.to = r.texts.Keep(value)
				break
			}
		}
	}
}

// records returns the records of all jobs.
func (r *reader) records() []settle.Record {
	all := make([]settle.Record, len(r.jobs))
	for i := range r.jobs {
		all[i] = r.jobs[i].Record
	}
	return all
}

// warnings says what of the log counts otherwise than it may seem.
func (r *reader) warnings() (all []string) {
	again := 0
	for i := range r.jobs {
		if r.jobs[i].runs > 1 {
			again++
		}
	}
	if again > 0 {
		all = append(all, fmt.Sprintf("%d jobs ran more than once, as they were queued again: their last run counts", again))
	}
	if len(r.others) > 0 {
		list := make([]string, 0, len(r.others))
		for _, kind := range slices.Sorted(maps.Keys(r.others)) {
			list = append(list, fmt.Sprintf("%d of type %.20q", r.others[kind], kind))
		}
		all = append(all, "records that say nothing of the runs of jobs are not read: "+strings.Join(list, ", "))
	}
	return all
}
