package eventlog

import (
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/input/settle"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// event is one of a log.
type event struct {
	line    int
	kind    int64
	cluster int64
	proc    int64
	at      int64
	node    int64 // of a parallel job; below 0: the event is of the job as a whole
	// says is what it says of the job, in the terms of job ads; nil: nothing.
	says *classad.ClassAd
}

var header = regexp.MustCompile(`^(\d{3}) \((-?\d+)\.(-?\d+)\.(-?\d+)\) (\d\S*[ T]\d\d:\S+) ?(.*)$`)

// classic iterates over the events of a log of the classic form. The last one may be an error.
func (r *reader) classic(text io.Reader) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		var open *event // whose lines are read
		var body []string
		for line, err := range settle.Lines(text, r.name) {
			if err != nil {
				yield(event{}, err)
				return
			}
			r.lines = line.Number
			trimmed := strings.TrimRight(line.Text, " \t\r")
			parts := headOf(trimmed)
			switch {
			case trimmed == "..." || parts != nil:
				if !r.closed(open, body, yield) {
					return
				}
				open, body = nil, body[:0]
			case open != nil:
				body = append(body, trimmed)
			case trimmed != "" && trimmed[0] != '#':
				yield(event{}, r.noEvent(line))
				return
			}
			if parts == nil {
				continue
			}
			if open, err = r.head(line, parts); err != nil {
				yield(event{}, err)
				return
			}
			body = append(body, parts[len(parts)-1])
		}
		r.closed(open, body, yield)
	}
}

// headOf returns the parts of the first line of an event; nil if the line is none.
func headOf(line string) []string {
	if line == "" || line[0] < '0' || line[0] > '9' { // as most lines are none
		return nil
	}
	return header.FindStringSubmatch(line)
}

// noEvent is the error for a line at which an event was to begin.
func (r *reader) noEvent(line settle.Line) error {
	return settle.Fault(r.name, line.Number, "event", line.Text, "is no beginning of one",
		"events begin such as 000 (12.000.000) 2024-06-01 10:00:00, and end with a line of three points; correct or delete it")
}

// head reads the first line of an event.
func (r *reader) head(line settle.Line, parts []string) (*event, error) {
	e := &event{line: line.Number, node: -1}
	for i, to := range []*int64{&e.kind, &e.cluster, &e.proc} {
		n, err := strconv.ParseInt(parts[i+1], 10, 64)
		if err != nil {
			return nil, r.noEvent(line)
		}
		*to = n
	}
	at, fine := r.clock.read(parts[5])
	if !fine {
		return nil, settle.Fault(r.name, line.Number, "date", parts[5], "is no date",
			"dates are written such as 2024-06-01 10:00:00 or 06/01 10:00:00; correct or delete the event")
	}
	e.at = at
	return e, nil
}

// closed yields an event when its lines were read, unless it is nil, and reports whether reading is to go on.
func (r *reader) closed(e *event, body []string, yield func(event, error) bool) bool {
	if e == nil {
		return true
	}
	err := r.body(e, body)
	if err != nil {
		yield(event{}, err)
		return false
	}
	return yield(*e, nil)
}

var (
	nodeNumber = regexp.MustCompile(`^Node (\d+) `)
	assigned   = regexp.MustCompile(`^\s*(Cpus|Memory|GPUs|Disk) = (\S+)$`)
	usage      = regexp.MustCompile(`^\s*(\d+)\s+-\s+(MemoryUsage|ResidentSetSize) of job`)
)

// body reads the lines of an event: the end of its first line, and those below it.
func (r *reader) body(e *event, lines []string) error {
	ad := classad.New()
	switch e.kind {
	case executes, nodeExecutes, nodeTerminated:
		if number := nodeNumber.FindStringSubmatch(lines[0]); number != nil {
			e.node, _ = strconv.ParseInt(number[1], 10, 32)
		}
		for _, line := range lines[1:] {
			if parts := assigned.FindStringSubmatch(line); parts != nil {
				note(ad, []resource{{name: parts[1], allocated: parts[2]}})
			}
		}
	case imageSize:
		for _, line := range lines[1:] {
			if parts := usage.FindStringSubmatch(line); parts != nil {
				n, _ := strconv.ParseInt(parts[1], 10, 64)
				ad.SetInt(parts[2], n)
			}
		}
	case adInformation:
		parsed, err := classad.ParseOld(strings.Join(lines[1:], "\n"))
		if err != nil {
			return &workload.Error{
				File: r.name, Line: e.line, Err: err, Problem: fmt.Sprintf("the attributes of the event: %v", err),
				Hint: "correct or delete the event",
			}
		}
		ad = parsed
	}
	if e.kind == terminated || e.kind == evicted || e.kind == nodeTerminated {
		note(ad, table(lines[1:]))
	}
	if ad.Len() > 0 {
		e.says = ad
	}
	return nil
}
