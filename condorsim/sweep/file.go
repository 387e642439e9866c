package sweep

import "github.com/goccy/go-yaml/ast"

// File is what a sweep's file may say.
type File struct {
	// Name is that of the folder of results, unless another is given. Title and
	// Description are for people.
	Name        string `yaml:"name"`
	Title       string `yaml:"title"`
	Description string `yaml:"description"`
	// Paper names the one whose statements the results are held against; see package papers.
	Paper string `yaml:"paper"`
	// Baseline is the label of the scheduler that others are compared with; "": none.
	Baseline string `yaml:"baseline"`
	// FST are the fair start times to be found: strict, relaxed.
	FST []string `yaml:"fst"`
	// CountEvents counts the events of the profile that are examined.
	CountEvents bool `yaml:"count_events"`

	// The dimensions of the matrix. No loads, estimate models or seeds: the trace as it
	// is, and seed 0.
	Traces         []Trace     `yaml:"traces"`
	Schedulers     []Scheduler `yaml:"schedulers"`
	Loads          []float64   `yaml:"loads"`
	EstimateModels []string    `yaml:"estimate_models"`
	Seeds          []uint64    `yaml:"seeds"`

	path string
	text []byte
	tree *ast.File // where things stand
}

// Trace is a workload and what it runs on. It is one of: a trace's file, job ads,
// several traces merged, a trace that is made up.
type Trace struct {
	Name   string `yaml:"name"`
	Source `yaml:",inline"`
	Merge  []Source `yaml:"merge"`
	// Ads is a file of job ads.
	Ads string `yaml:"ads"`
	// Generate makes a trace up.
	Generate *Generate `yaml:"generate"`
	// Pool is a file of slot ads or a description of a pool, Nodes a number of slots
	// that are all alike; if neither is given, the trace's machine is one slot.
	Pool  string `yaml:"pool"`
	Nodes *Nodes `yaml:"nodes"`
	// History is a trace or job ads that estimators learn from beforehand. From the
	// first HistoryShare (0 to 1) of the jobs they learn, too: these are not run.
	History      string  `yaml:"history"`
	HistoryShare float64 `yaml:"history_share"`
	// EstimatesOptions are the estimators' on this trace, such as the label that stands
	// for projects in it; those that a scheduler gives go before.
	EstimatesOptions map[string]string `yaml:"estimates_options"`
}

// Source is a trace's file and how it is read, as the flags of condorsim run say.
// Of what is merged, the whole says what the parts do not.
type Source struct {
	File       string `yaml:"file"`
	CPUs       int64  `yaml:"cpus"`
	Memory     int64  `yaml:"memory"` // MiB
	Clean      string `yaml:"clean"`
	ProcsField string `yaml:"procs_field"`
	Overrun    string `yaml:"overrun"`
	Max        int    `yaml:"max"`   // the first so many jobs
	Until      int64  `yaml:"until"` // those submitted before this second of the trace
}

// Nodes is a number of slots that are all alike.
type Nodes struct {
	Count  int   `yaml:"count"`
	CPUs   int64 `yaml:"cpus"`
	Memory int64 `yaml:"memory"` // MiB
}

// Scheduler is one scheduler, or all combinations of some policies, orders and
// estimators.
type Scheduler struct {
	// Label is the scheduler's name in results. By default it is the policy and, if
	// they are given, the order and the estimators: pc-sjf, easy-wfp-combined.
	Label     string            `yaml:"label"`
	Policy    string            `yaml:"policy"`
	Policies  []string          `yaml:"policies"`
	Order     string            `yaml:"order"`
	Orders    []string          `yaml:"orders"`
	Options   map[string]string `yaml:"options"`
	Placement string            `yaml:"placement"`
	Estimates `yaml:",inline"`
}

// sources are the traces' files that are read.
func (t *Trace) sources() []Source {
	switch {
	case t.Merge != nil:
		parts := make([]Source, len(t.Merge))
		for i, part := range t.Merge {
			parts[i] = part.within(t.Source)
		}
		return parts
	case t.File != "":
		return []Source{t.Source}
	default:
		return nil
	}
}

// within fills in what a part of a merged trace does not say.
func (s Source) within(whole Source) Source {
	if s.CPUs == 0 {
		s.CPUs = whole.CPUs
	}
	if s.Memory == 0 {
		s.Memory = whole.Memory
	}
	if s.Clean == "" {
		s.Clean = whole.Clean
	}
	if s.ProcsField == "" {
		s.ProcsField = whole.ProcsField
	}
	if s.Overrun == "" {
		s.Overrun = whole.Overrun
	}
	return s
}

// files are the names of the files that the jobs come from.
func (t *Trace) files() []string {
	var names []string
	for _, s := range t.sources() {
		names = append(names, s.File)
	}
	if t.Ads != "" {
		names = append(names, t.Ads)
	}
	return names
}
