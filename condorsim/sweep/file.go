package sweep

import (
	"cmp"

	"github.com/goccy/go-yaml/ast"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// File is the content of a sweep's file.
type File struct {
	// Name is the name of the folder of results, unless another is given. Title and Description are
	// for people.
	Name        string `yaml:"name"`
	Title       string `yaml:"title"`
	Description string `yaml:"description"`
	// Paper names the paper to compare the results with; see package papers.
	Paper string `yaml:"paper"`
	// Baseline is the label of the scheduler that others are compared with; "": none.
	Baseline string `yaml:"baseline"`
	// FST are the fair start times to find: strict, relaxed.
	FST []string `yaml:"fst"`
	// CountEvents counts profile events.
	CountEvents bool `yaml:"count_events"`
	// PerUser keeps what each user got, which makes the results larger.
	PerUser bool `yaml:"per_user"`
	// PerQueue measures what the jobs of each queue of a trace got, if it has from two to twelve.
	PerQueue bool `yaml:"per_queue"`

	// The dimensions of the matrix. Without loads, estimate models, scales of estimates or seeds, the
	// trace is unchanged and the seed 0.
	Traces         []Trace     `yaml:"traces"`
	Schedulers     []Scheduler `yaml:"schedulers"`
	Loads          []float64   `yaml:"loads"`
	EstimateModels []string    `yaml:"estimate_models"`
	// ScaleEstimates multiply what users stated, or what an estimate model says that they did; without
	// them, each trace has its own.
	ScaleEstimates []float64 `yaml:"scale_estimates"`
	Seeds          []uint64  `yaml:"seeds"`
	// JitterKeys is the share by which the keys of the queue's order are moved at random; see
	// [condorsim.Jitter].
	JitterKeys float64 `yaml:"jitter_keys"`

	path string
	text []byte
	tree *ast.File // for the places of faults
}

// Trace is a workload and what it runs on. It is one of: a trace's file, job ads, several merged
// traces, a generated trace.
type Trace struct {
	Name   string `yaml:"name"`
	Source `yaml:",inline"`
	Merge  []Source `yaml:"merge"`
	// MemoryShare is the memory of the machine as a share of what its processors would need, and MemoryFrom a
	// trace from whose jobs the memory of those is drawn that do not say it; see [workload.Transform].
	MemoryShare float64 `yaml:"memory_share"`
	MemoryFrom  string  `yaml:"memory_from"`
	// Load divides the times between submissions, besides the sweep's loads; 0: 1.
	Load float64 `yaml:"load"`
	// Ads is another word for File.
	Ads string `yaml:"ads"`
	// Generate generates a trace.
	Generate *Generate `yaml:"generate"`
	// Pool is a file of slot ads or a description of a pool, Nodes a number of slots that are all
	// alike; if neither is given, the trace's machine is one slot.
	Pool  string `yaml:"pool"`
	Nodes *Nodes `yaml:"nodes"`
	// With are slots that the pool has besides its own, Without patterns of those that it does not have; see
	// [pools.Change].
	With    []string `yaml:"with"`
	Without []string `yaml:"without"`
	// ScaleEstimates multiplies what users stated; see [workload.Transform]. A list of the sweep's own
	// takes its place.
	ScaleEstimates float64 `yaml:"scale_estimates"`
	// History is a trace or job ads that estimators learn from beforehand. They learn from the
	// first HistoryShare (0 to 1) of the jobs as well, which are not run.
	History      string  `yaml:"history"`
	HistoryShare float64 `yaml:"history_share"`
	// EstimatesOptions are the estimators' options on this trace, such as the label that stands for
	// projects; options of a scheduler have precedence.
	EstimatesOptions map[string]string `yaml:"estimates_options"`
}

// Source is a file of jobs, in any format that is read, and how to read it, as the flags of
// condorsim run. In a merged trace, the whole gives what its parts leave out.
type Source struct {
	File       string `yaml:"file"`
	CPUs       int64  `yaml:"cpus"`
	Memory     int64  `yaml:"memory"` // MiB
	GPUs       int64  `yaml:"gpus" json:",omitempty"`
	Clean      string `yaml:"clean"`
	ProcsField string `yaml:"procs_field"`
	Overrun    string `yaml:"overrun"`
	Max        int    `yaml:"max"` // the first jobs
	// From and Until are instants, as [workload.Cut] reads them: jobs submitted then or later, and before.
	From  string `yaml:"from"`
	Until string `yaml:"until"`
	// EstimateAttr says where job ads have the estimates; see [history.ParseEstimates].
	EstimateAttr string `yaml:"estimate_attr"`
	// Dependencies is ignore if jobs are submitted when they were, whatever they waited for.
	Dependencies string `yaml:"dependencies"`
	// Zone is the time zone of the dates of an accounting; see [workload.Options].
	Zone string `yaml:"zone"`
}

// Nodes is a number of slots that are all alike.
type Nodes struct {
	Count  int   `yaml:"count"`
	CPUs   int64 `yaml:"cpus"`
	Memory int64 `yaml:"memory"` // MiB
}

// Scheduler is one scheduler, or all combinations of some policies, orders and estimators.
type Scheduler struct {
	// Label is the scheduler's name in results. By default it is the policy and, if given, the
	// order and the estimators: pc-sjf, easy-wfp-combined. Without an order, the policy's counts.
	Label     string            `yaml:"label"`
	Policy    string            `yaml:"policy"`
	Policies  []string          `yaml:"policies"`
	Order     string            `yaml:"order"`
	Orders    []string          `yaml:"orders"`
	Options   map[string]string `yaml:"options"`
	Placement string            `yaml:"placement"`
	// SlotEnd is the attribute of slots that tells when they end, by default that of pilots; none: the
	// scheduler does not know.
	SlotEnd string `yaml:"slot_end"`
	// HalfLife (in seconds) and Factors say how the priorities of users are simulated, under the order
	// fairshare; 0 and none: as HTCondor's.
	HalfLife  int64              `yaml:"priority_halflife"`
	Factors   map[string]float64 `yaml:"priority_factors"`
	Estimates `yaml:",inline"`
}

// sources returns the files of the trace and how to read each; nil if the jobs are generated.
func (t *Trace) sources() []Source {
	whole := t.Source
	whole.Memory = t.readingMemory()
	switch {
	case t.Merge != nil:
		parts := make([]Source, len(t.Merge))
		for i, part := range t.Merge {
			parts[i] = part.within(whole)
		}
		return parts
	case t.File+t.Ads != "":
		whole.File += t.Ads
		return []Source{whole}
	default:
		return nil
	}
}

// readingMemory returns the memory of the machine for which the trace is read.
func (t *Trace) readingMemory() int64 {
	if t.MemoryShare != 0 {
		return workload.AnyMemory
	}
	return t.Memory
}

// within fills in, from the whole, what a part of a merged trace leaves out.
func (s Source) within(whole Source) Source {
	if s.CPUs == 0 {
		s.CPUs = whole.CPUs
	}
	if s.Memory == 0 {
		s.Memory = whole.Memory
	}
	s.GPUs = cmp.Or(s.GPUs, whole.GPUs)
	if s.Clean == "" {
		s.Clean = whole.Clean
	}
	if s.ProcsField == "" {
		s.ProcsField = whole.ProcsField
	}
	s.Overrun = cmp.Or(s.Overrun, whole.Overrun)
	s.EstimateAttr = cmp.Or(s.EstimateAttr, whole.EstimateAttr)
	s.Dependencies = cmp.Or(s.Dependencies, whole.Dependencies)
	s.Zone = cmp.Or(s.Zone, whole.Zone)
	return s
}

// files returns the names of the files that the jobs come from.
func (t *Trace) files() []string {
	var names []string
	for _, s := range t.sources() {
		names = append(names, s.File)
	}
	return names
}
