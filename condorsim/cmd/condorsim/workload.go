package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

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

	EstimateAttr []string `group:"Workload" placeholder:"NAME" help:"${trace_estimate_attr}"`
}

// machineFlags give the machine that a trace runs on.
type machineFlags struct {
	Cpus   int64 `group:"Pool" placeholder:"N" help:"${machine_cpus}"`
	Memory int64 `group:"Pool" placeholder:"MIB" help:"${machine_memory}"`
}

// modelFlags change a trace after reading.
type modelFlags struct {
	From          int64   `group:"Workload" placeholder:"S" help:"${model_from}"`
	Until         int64   `group:"Workload" placeholder:"S" help:"Leave out jobs submitted at this second or later."`
	ScaleWidths   float64 `group:"Workload" placeholder:"F" help:"Multiply the processors of each job by F."`
	EstimateModel string  `group:"Workload" placeholder:"MODEL" help:"${model_estimate_model}"`
	MemoryModel   string  `group:"Workload" placeholder:"MODEL" help:"${model_memory_model}"`
	Seed          uint64  `group:"Workload" placeholder:"N" help:"${model_seed}"`
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
		CPUs: m.Cpus, Memory: m.Memory,
	}
}

// transform returns the changes that the flags ask for, with a load and a number of jobs to keep.
func (f modelFlags) transform(load float64, jobs int) workload.Transform {
	return workload.Transform{
		From: f.From, Until: f.Until, Max: jobs, Widths: f.ScaleWidths, Load: load,
		Memory: workload.MemoryModel(f.MemoryModel), Estimates: workload.EstimateModel(f.EstimateModel), Seed: f.Seed,
	}
}

// open reads a trace, with a progress bar, or job ads or an instance as a trace, and changes it. If
// no file has that name, it takes the built-in trace of the name.
func (f traceFlags) open(file string, opts workload.Options, x workload.Transform) (*workload.Trace, error) {
	if err := errors.Join(opts.Validate(), x.Validate()); err != nil {
		return nil, err
	}
	format, err := formatOf(file)
	if err != nil {
		return nil, err
	}
	var trace *workload.Trace
	switch format {
	case workload.FormatAds:
		trace, err = f.readAds(file, opts)
	case workload.FormatInstance:
		trace, err = readInstance(file)
	default:
		trace, err = readTrace(file, opts)
	}
	if err != nil || x.IsZero() {
		return trace, err
	}
	return trace.Transform(x)
}

// formatOf says what a file of jobs holds, by how it begins. If it cannot be read, reading it as a
// trace gives the error.
func formatOf(name string) (workload.Format, error) {
	file, err := openFile(name)
	if err != nil {
		return workload.FormatSWF, nil
	}
	defer file.Close() //nolint:errcheck // only read
	text, stop, err := workload.Text(file)
	if err != nil {
		return workload.FormatSWF, nil
	}
	defer stop()
	return workload.Recognise(text, shown(name))
}

// readAds reads job ads as a trace.
func (f traceFlags) readAds(name string, opts workload.Options) (*workload.Trace, error) {
	file, err := openFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the workload: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	return history.ReadTrace(file, shown(name), f.EstimateAttr, opts)
}

// readInstance reads an instance (a small JSON workload) as a trace.
func readInstance(name string) (*workload.Trace, error) {
	file, err := openFile(name)
	if err != nil {
		return nil, fmt.Errorf("read instance: %w; check the path", err)
	}
	defer file.Close() //nolint:errcheck // only read
	instance, err := workload.ReadInstance(file, shown(name))
	if err != nil {
		return nil, err
	}
	return instance.Trace, nil
}

// readTrace reads a trace in SWF, with a progress bar.
func readTrace(name string, opts workload.Options) (*workload.Trace, error) {
	bar := cli.NewProgress("reading")
	defer bar.Done()
	opts.Progress = bar.Update
	if pipe, err := openPipe(name); err != nil || pipe != nil {
		if err != nil {
			return nil, fmt.Errorf("read trace: %w", err)
		}
		return workload.ReadSWF(pipe, shown(name), opts)
	}
	trace, err := workload.Open(name, opts)
	if errors.Is(err, fs.ErrNotExist) {
		return readBuiltIn(name, opts, err)
	}
	return trace, err
}

// readBuiltIn reads the built-in trace of that name. If there is none, it returns the error
// missing, which says that there is no such file either, with the names of the built-in traces.
func readBuiltIn(name string, opts workload.Options, missing error) (*workload.Trace, error) {
	file, err := openBuiltIn(name)
	if err != nil {
		return nil, fmt.Errorf("%w, or name one that is built in: %s", missing, strings.Join(configs.Traces(), ", "))
	}
	defer file.Close() //nolint:errcheck // only read
	return workload.ReadSWF(file, name, opts)
}

func openBuiltIn(name string) (fs.File, error) {
	return configs.Files().Open(configs.TracePath(name))
}

// openFile opens a file or pipe; if there is none of that name, a built-in trace.
func openFile(name string) (fs.File, error) {
	if pipe, err := openPipe(name); err != nil || pipe != nil {
		return pipe, err
	}
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		if part, builtInErr := openBuiltIn(name); builtInErr == nil {
			return part, nil
		}
	}
	return file, err
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
}

// madeTrace is the summary of a written trace.
type madeTrace struct {
	Out        string         `json:"out"`
	Jobs       int            `json:"jobs,omitempty"`
	Processors int64          `json:"processors,omitempty"`
	Dropped    map[string]int `json:"dropped,omitempty"` // number of jobs by reason
}

// create opens the output, so that a wrong name is refused before the trace is read.
func (f outFlags) create() (*outFile, error) {
	if f.Out == "-" {
		if f.JSON {
			return nil, errors.New("--json: the trace itself goes to standard output; say with --out " +
				"where else it goes")
		}
		return &outFile{name: f.Out}, nil
	}
	if end := filepath.Ext(f.Out); slices.Contains([]string{".bz2", ".zip", ".7z", ".lz4", ".br", ".Z"}, end) {
		return nil, fmt.Errorf("--out %s: there is no compression for %s; end the name with .gz, .xz or .zst, "+
			"or with none of these", f.Out, end)
	}
	file, err := wholefile.Create("the trace", f.Out)
	return &outFile{f.Out, file, f.JSON}, err
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
		if _, err := fmt.Fprintf(os.Stderr, "dropped %d: %s\n", left.Jobs, left.Why); err != nil {
			return err
		}
	}
	if len(trace.Jobs) == 0 {
		return cli.Bad(fmt.Errorf("no job of %s is left to be written", trace.Name))
	}
	encode := trace.WriteSWF
	if o.isInstance() {
		encode = trace.WriteInstance
	}
	return o.put(encode, made, fmt.Sprintf("%d jobs, %d processors", made.Jobs, made.Processors))
}

// isInstance reports whether the trace is to be written as an instance (a small JSON workload) and
// not as SWF: the name ends with .json, before that of a compression.
func (o *outFile) isInstance() bool {
	_, plain := packed.ByName(o.name)
	return strings.HasSuffix(plain, ".json")
}

// put writes what the function encode writes, compressed as the end of the file's name says, and
// prints a summary. On standard output the trace is neither compressed nor followed by a summary.
func (o *outFile) put(encode func(io.Writer) error, made madeTrace, what string) error {
	if o.file == nil {
		return encode(os.Stdout)
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
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(made)
	}
	_, err = fmt.Printf("%s: %s\n", o.name, what)
	return err
}
