package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload/packed"
	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
	"github.com/condor-backfill/condor-backfill/configs"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// workloadCommand is condorsim workload.
type workloadCommand struct {
	Info     infoCommand     `cmd:"" help:"Say what a trace holds."`
	Clean    cleanCommand    `cmd:"" help:"Drop jobs that never really ran."`
	Scale    scaleCommand    `cmd:"" help:"Scale load and widths, cut, and model estimates and memory anew."`
	Merge    mergeCommand    `cmd:"" help:"Make one trace of several."`
	Generate generateCommand `cmd:"" help:"Make up a trace."`
	Convert  convertCommand  `cmd:"" help:"Convert between formats and compressions."`
	Formats  formatsCommand  `cmd:"" help:"Describe the formats that are read."`
}

// traceFlags say how to read the lines of a trace.
type traceFlags struct {
	Clean      string `group:"Workload" enum:"papers,partial,cancelled,none" default:"papers" help:"${trace_clean}"`
	ProcsField string `group:"Workload" enum:"allocated,requested" default:"allocated" help:"${trace_procs_field}"`
	Overrun    string `group:"Workload" enum:"raise,kill" default:"raise" help:"${trace_overrun}"`

	EstimateAttr []string `group:"Workload" placeholder:"EXPR" sep:"none" help:"${trace_estimate_attr}"`
	Dependencies string   `group:"Workload" enum:"honour,ignore" default:"honour" help:"${trace_dependencies}"`
}

// machineFlags give the machine that a trace runs on.
type machineFlags struct {
	Cpus   int64 `group:"Pool" nonzero:"" placeholder:"N" help:"${machine_cpus}"`
	Memory int64 `group:"Pool" placeholder:"MIB" help:"${machine_memory}"`
}

// modelFlags change a trace after reading.
type modelFlags struct {
	From           string  `group:"Workload" placeholder:"T" help:"${model_from}"`
	Until          string  `group:"Workload" placeholder:"T" help:"Leave out jobs submitted at this time or later."`
	ScaleWidths    float64 `group:"Workload" nonzero:"" placeholder:"F" help:"Multiply the processors of each job by F."`
	ScaleEstimates float64 `group:"Workload" nonzero:"" placeholder:"F" help:"${model_scale_estimates}"`
	EstimateModel  string  `group:"Workload" placeholder:"MODEL" help:"${model_estimate_model}"`
	MemoryModel    string  `group:"Workload" placeholder:"MODEL" help:"${model_memory_model}"`
	Seed           uint64  `group:"Workload" placeholder:"N" help:"${model_seed}"`
}

// changes reports whether the flags change the trace. A seed alone does not.
func (f modelFlags) changes() bool {
	f.Seed = 0
	return f != modelFlags{}
}

// options returns the options for reading a trace.
func (f traceFlags) options(m machineFlags, memoryModel string) workload.Options {
	return workload.Options{
		Clean: workload.Clean(f.Clean), ProcsField: workload.ProcsField(f.ProcsField),
		MemoryModel: workload.MemoryModel(memoryModel), Overrun: workload.Overrun(f.Overrun),
		CPUs: m.Cpus, Memory: m.Memory, Dependencies: workload.Dependencies(f.Dependencies),
	}
}

// change is what flags change about a trace.
type change struct {
	workload.Transform
	cut workload.Cut
}

// transform returns the changes that the flags ask for, with a load and a number of jobs to keep.
func (f modelFlags) transform(load float64, jobs int) change {
	return change{workload.Transform{
		Max: jobs, Widths: f.ScaleWidths, Load: load, EstimateScale: f.ScaleEstimates,
		Memory: workload.MemoryModel(f.MemoryModel), Estimates: workload.EstimateModel(f.EstimateModel), Seed: f.Seed,
	}, workload.Cut{From: f.From, Until: f.Until}}
}

// of changes a trace, and says which bounds are outside of it.
func (x change) of(p *process, t *workload.Trace) (*workload.Trace, error) {
	if x.IsZero() && x.cut == (workload.Cut{}) {
		return t, nil
	}
	transform, notes, err := x.cut.Of(t, x.Transform)
	if err != nil {
		return nil, err
	}
	for _, note := range notes {
		if _, err = fmt.Fprintln(p.errs, note); err != nil {
			return nil, err
		}
	}
	return t.Transform(transform)
}

// open reads the jobs of a file as a trace, and changes it.
func (f traceFlags) open(p *process, file string, opts workload.Options,
	x change,
) (*workload.Trace, error) {
	jobs, err := readJobs(p, file, f.withAds(opts), x)
	if err != nil {
		return nil, err
	}
	return jobs.Trace, nil
}

// readJobs reads the jobs of a file, and changes their trace.
func readJobs(p *process, file string, opts formats.Options, x change) (*formats.Jobs, error) {
	if err := errors.Join(opts.Validate(), x.Validate()); err != nil {
		return nil, err
	}
	in, err := p.openJobs(file)
	if err != nil {
		return nil, err
	}
	defer in.close()
	jobs, err := in.Read(opts)
	if err != nil {
		return nil, err
	}
	jobs.Trace, err = x.of(p, jobs.Trace)
	return jobs, err
}

// withAds adds to the options how to read job ads.
func (f traceFlags) withAds(opts workload.Options) formats.Options {
	return formats.Options{Options: opts, Ads: history.Options{Estimates: f.EstimateAttr}}
}

// jobsFile is a file of jobs that is open for reading, with a progress bar.
type jobsFile struct {
	*formats.Source
	file fs.File
	bar  *cli.Progress
}

// openJobs opens a file of jobs in any format that is read; if no file has that name, the built-in
// trace of the name.
func (p *process) openJobs(name string) (*jobsFile, error) {
	file, err := p.files.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read trace: %w; check the path, or name one that is built in: %s", err,
			strings.Join(configs.Traces(), ", "))
	case err != nil:
		return nil, fmt.Errorf("read trace: %w; check the path", err)
	default:
		return newJobsFile(file, name, formats.Open)
	}
}

// openInstance opens a file that holds an instance, whatever it begins with.
func (p *process) openInstance(name string) (*jobsFile, error) {
	file, err := p.files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read instance: %w; check the path", err)
	}
	return newJobsFile(file, name, formats.Instance.Open)
}

func newJobsFile(file fs.File, name string, open func(io.Reader, string) (*formats.Source, error)) (*jobsFile, error) {
	in := &jobsFile{file: file, bar: cli.NewProgress("reading")}
	var err error
	if in.Source, err = open(formats.WithProgress(file, in.bar.Update), formats.Shown(name)); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// close ends reading.
func (in *jobsFile) close() {
	if in.Source != nil {
		in.Close()
	}
	_ = in.file.Close() // it was only read
	in.bar.Done()
}

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

	*process
}

// madeTrace is the summary of a written trace.
type madeTrace struct {
	Out        string         `json:"out"`
	Jobs       int            `json:"jobs,omitempty"`
	Processors int64          `json:"processors,omitempty"`
	Dropped    map[string]int `json:"dropped,omitempty"` // number of jobs by reason
}

// create opens the output, so that a wrong name is refused before the trace is read.
func (f outFlags) create(p *process) (*outFile, error) {
	if f.Out == "-" {
		if f.JSON {
			return nil, errors.New("--json: the trace itself goes to standard output; say with --out " +
				"where else it goes")
		}
		return &outFile{name: f.Out, process: p}, nil
	}
	if end := filepath.Ext(f.Out); slices.Contains([]string{".bz2", ".zip", ".7z", ".lz4", ".br", ".Z"}, end) {
		return nil, fmt.Errorf("--out %s: there is no compression for %s; end the name with .gz, .xz or .zst, "+
			"or with none of these", f.Out, end)
	}
	file, err := wholefile.Create("the trace", f.Out)
	return &outFile{f.Out, file, f.JSON, p}, err
}

// discard removes the file if it is unfinished.
func (o *outFile) discard() { o.file.Discard() }

// write writes the trace. It prints to standard error what was dropped, and to standard output a
// summary, unless the trace itself goes there.
func (o *outFile) write(trace *workload.Trace) error {
	made := madeTrace{
		Out: o.name, Jobs: len(trace.Jobs), Processors: trace.Machine.Processors,
		Dropped: map[string]int{},
	}
	for _, left := range trace.Cleaning.Dropped() {
		made.Dropped[left.Why] = left.Jobs
		if _, err := fmt.Fprintf(o.errs, "dropped %d: %s\n", left.Jobs, left.Why); err != nil {
			return err
		}
	}
	if len(trace.Jobs) == 0 {
		return cli.Bad(fmt.Errorf("no job of %s is left to be written", trace.Name))
	}
	encode := func(to io.Writer) error { return formats.Named(o.name).Write(trace, to) }
	return o.put(encode, made, fmt.Sprintf("%d jobs, %d processors", made.Jobs, made.Processors))
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
