package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

// outFlags say where to write a trace.
type outFlags struct {
	Out  string `short:"o" default:"-" placeholder:"FILE" help:"${out_out}"`
	JSON bool   `name:"json" help:"With --out: say what was written as one JSON object."`
}

// outFile is a trace being written.
type outFile struct {
	name string // "-": standard output
	file *wholefile.File
	json bool
	// format is the one that the name asks for.
	format *formats.Format
	// also are changes that the trace does not know of.
	also []workload.Change

	*process
}

// madeTrace is the summary of a written trace.
type madeTrace struct {
	Out        string         `json:"out"`
	Jobs       int            `json:"jobs,omitempty"`
	Processors int64          `json:"processors,omitempty"`
	Dropped    map[string]int `json:"dropped,omitempty"` // number of jobs by reason
	// Changed is what the trace says otherwise than the file that was read.
	Changed []workload.Change `json:"changed,omitempty"`
}

// create opens the output, so that a wrong name is refused before the trace is read.
func (f outFlags) create(p *process) (*outFile, error) {
	if f.Out == "-" {
		if f.JSON {
			return nil, errors.New("--json: the trace itself goes to standard output; say with --out " +
				"where else it goes")
		}
		return &outFile{name: f.Out, format: formats.SWF, process: p}, nil
	}
	if end := filepath.Ext(f.Out); slices.Contains([]string{".bz2", ".zip", ".7z", ".lz4", ".br", ".Z"}, end) {
		return nil, fmt.Errorf("--out %s: there is no compression for %s; end the name with .gz, .xz or .zst, "+
			"or with none of these", f.Out, end)
	}
	format, err := formats.Named(f.Out)
	if err != nil {
		return nil, fmt.Errorf("--out %w", err)
	}
	file, err := wholefile.Create("the trace", f.Out)
	return &outFile{name: f.Out, file: file, json: f.JSON, format: format, process: p}, err
}

// discard removes the file if it is unfinished.
func (o *outFile) discard() { o.file.Discard() }

// write writes the trace. It prints to standard error what was dropped and changed, and to standard output
// a summary, unless the trace itself goes there.
func (o *outFile) write(trace *workload.Trace) error {
	made := madeTrace{
		Out: o.name, Jobs: len(trace.Jobs), Processors: trace.Machine.Processors,
		Dropped: map[string]int{}, Changed: o.changes(trace),
	}
	for _, left := range trace.Cleaning.Dropped() {
		made.Dropped[left.Why] = left.Jobs
		if _, err := fmt.Fprintf(o.errs, "dropped %d: %s\n", left.Jobs, left.Why); err != nil {
			return err
		}
	}
	for _, change := range made.Changed {
		if _, err := fmt.Fprintln(o.errs, change); err != nil {
			return err
		}
	}
	if len(trace.Jobs) == 0 {
		return cli.Bad(fmt.Errorf("no job of %s is left to be written", trace.Name))
	}
	encode := func(to io.Writer) error { return o.format.Write(trace, to) }
	return o.put(encode, made, fmt.Sprintf("%d jobs, %d processors", made.Jobs, made.Processors))
}

// changes lists what the trace says otherwise in this format than the file that was read.
func (o *outFile) changes(trace *workload.Trace) []workload.Change {
	if o.format == formats.SWF {
		return append(trace.Changes(), o.also...)
	}
	count := trace.Cleaning
	unknown := workload.Change{What: "unknown estimates, now the run time", Lines: count.EstimateUnknown}
	if o.format == formats.Batsim {
		unknown.Lines = 0 // such a job has no walltime
	}
	all := append(o.also, []workload.Change{
		unknown,
		{What: "estimates raised to the run time", Lines: count.EstimateRaised},
		{What: "run times cut to the estimate", Lines: count.RunCut},
	}...)
	return slices.DeleteFunc(all, func(c workload.Change) bool { return c == workload.Change{What: c.What} })
}

// put writes what the function encode writes, compressed as the end of the file's name says, and
// prints a summary. On standard output the trace is neither compressed nor followed by a summary.
func (o *outFile) put(encode func(io.Writer) error, made madeTrace, what string) error {
	if o.file == nil {
		return encode(o.out)
	}
	pack, err := packed.NewWriter(o.file, o.name)
	if err != nil {
		return o.file.Fault(err)
	}
	if err = errors.Join(encode(pack), pack.Close()); err != nil {
		return o.file.Fault(err)
	}
	if err = o.file.Commit(); err != nil {
		return err
	}
	if o.json {
		encoder := json.NewEncoder(o.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(made)
	}
	_, err = fmt.Fprintf(o.out, "%s: %s\n", o.name, what)
	return err
}
