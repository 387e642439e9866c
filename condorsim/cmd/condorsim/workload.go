package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
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
	Clean      string `group:"Workload" enum:"papers,partial,cancelled,none,strong" default:"papers" help:"${trace_clean}"`
	ProcsField string `group:"Workload" enum:"allocated,requested" default:"allocated" help:"${trace_procs_field}"`
	Overrun    string `group:"Workload" enum:"raise,kill" default:"raise" help:"${trace_overrun}"`

	EstimateAttr []string `group:"Workload" placeholder:"EXPR" sep:"none" help:"${trace_estimate_attr}"`
	Dependencies string   `group:"Workload" enum:"honour,ignore" default:"honour" help:"${trace_dependencies}"`
	Zone         string   `group:"Workload" placeholder:"NAME" help:"${trace_zone}"`
}

// machineFlags give the machine that a trace runs on.
type machineFlags struct {
	Cpus   int64 `group:"Pool" nonzero:"" placeholder:"N" help:"${machine_cpus}"`
	Memory int64 `group:"Pool" placeholder:"MIB" help:"${machine_memory}"`
	Gpus   int64 `group:"Pool" placeholder:"N" help:"${machine_gpus}"`
}

// onOne returns an error if a pool takes the place of the machine.
func (f machineFlags) onOne(pool string) error {
	if pool == "" || f == (machineFlags{}) {
		return nil
	}
	return errors.New("--cpus, --memory and --gpus are those of one machine, and --pool says what there is instead; leave them out")
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
		CPUs: m.Cpus, Memory: m.Memory, GPUs: m.Gpus, Dependencies: workload.Dependencies(f.Dependencies),
		Zone: f.Zone,
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

// suits returns an error for flags that have no meaning for jobs in a format. The file is that of the jobs.
func (f traceFlags) suits(format *formats.Format, m machineFlags, file string) error {
	given := func(value, usual string) bool { return value != "" && value != usual }
	switch ads := format.OfAds; {
	case ads && given(f.ProcsField, "allocated"):
		return fmt.Errorf("--procs-field says how a trace is read; %s holds job ads", formats.Shown(file))
	case ads && f.Clean == string(workload.CleanStrong):
		return fmt.Errorf("--clean strong is for traces; %s holds job ads", formats.Shown(file))
	case ads && given(f.Dependencies, "honour"):
		return fmt.Errorf("--dependencies is about the preceding jobs that a trace names; %s holds job ads", formats.Shown(file))
	case f.Zone != "" && slices.Contains([]*formats.Format{
		formats.SWF, formats.Ads, formats.Instance, formats.Batsim, formats.GWF, formats.Record,
	}, format):
		return fmt.Errorf("--zone is that of the dates of an accounting; %s holds %s, which has none", formats.Shown(file),
			format.Holds)
	case format == formats.Batsim && (given(f.ProcsField, "allocated") || given(f.Clean, "papers") && f.Clean != "none"):
		return fmt.Errorf("--procs-field and --clean go by fields of SWF; %s holds a workload of Batsim", formats.Shown(file))
	case !ads && len(f.EstimateAttr) > 0:
		return errors.New("--estimate-attr says how job ads are read; the workload holds none")
	case format == formats.Record && (m != machineFlags{} || given(f.Clean, "papers") ||
		given(f.ProcsField, "allocated") || given(f.Overrun, "raise") || given(f.Dependencies, "honour")):
		return errors.New("--cpus, --memory, --clean, --procs-field, --overrun and --dependencies say how a trace is read; " +
			"a record is taken as it is: its jobs, its slots")
	case format == formats.Instance && (m != machineFlags{} || given(f.Clean, "papers") ||
		given(f.ProcsField, "allocated") || given(f.Overrun, "raise") || given(f.Dependencies, "honour")):
		return errors.New("--cpus, --memory, --gpus, --clean, --procs-field, --overrun and --dependencies say how a trace is " +
			"read; an instance is taken as it is")
	default:
		return nil
	}
}

// readFrom reads the jobs of an open file, and warns of what is not read as it may have been meant.
func (p *process) readFrom(in *jobsFile, opts formats.Options) (*formats.Jobs, error) {
	jobs, err := in.Read(opts)
	if err != nil {
		return nil, err
	}
	for _, warning := range jobs.Misreadings() {
		cli.Logger("condorsim", "warn", p.errs).Warn(warning)
	}
	return jobs, nil
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

// openInstance opens a file that holds an instance.
func (p *process) openInstance(name string) (*jobsFile, error) {
	file, err := p.files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read instance: %w; check the path", err)
	}
	return newJobsFile(file, name, formats.OpenInstance)
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
