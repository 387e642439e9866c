package sweep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
)

// Settings are what a sweep depends on besides its file.
type Settings struct {
	Places Places
	// Policies makes a policy and its fallback for a pool with these resources. An executable is
	// given by a path that is right for this process.
	Policies func(ctx context.Context, policy string, options map[string]string, resources []string) (Deciders, error)
	// Jobs limits each trace to its first jobs; 0: all.
	Jobs int
	// Version is the program's version: results of another version do not count.
	Version string
	// Command is the command line that repeats the sweep, for the manifest.
	Command string
	// Warn is told what is wrong with a trace that can be run anyway, in several goroutines; may be nil.
	Warn func(text string, about ...any)
}

// Deciders are a policy and its fallback.
type Deciders struct {
	Main, Fallback backfill.Decider
	Close          func() // may be nil

	chooser *auto.Chooser // of a pool that chooses its own policy; instead of all others
	history bool          // what really happened; instead of all others
}

// deciders makes a policy and its fallback, or what chooses them on the way.
func (s Settings) deciders(ctx context.Context, policy string, options map[string]string,
	resources []string,
) (d Deciders, err error) {
	if policy == condorsim.HistoryPolicy {
		if len(options) > 0 {
			return d, errors.New("what really happened has no options")
		}
		return Deciders{history: true}, nil
	}
	if policy == auto.Name {
		const workers = 1 // there are as many cells at a time as there are cores
		d.chooser, err = auto.New(options, workers, s.candidates(ctx, resources))
		if err != nil {
			return d, err
		}
		d.Close = d.chooser.Close
		if s.Warn != nil {
			d.chooser.Chosen = func(made *auto.Choice) { made.LogFailed(s.Warn) }
			d.chooser.LookedBack = func(h *auto.Hindsight) { h.LogFailed(s.Warn) }
		}
		return d, nil
	}
	if policy, err = s.Places.executable(policy); err != nil {
		return d, err
	}
	return s.Policies(ctx, policy, options, resources)
}

// candidates finds the candidates of a pool that chooses its own policy.
func (s Settings) candidates(ctx context.Context, resources []string) auto.Find {
	return func(policy string, options map[string]string) (main, fallback backfill.Repeatable, end func(), err error) {
		if policy, err = s.Places.executable(policy); err != nil {
			return nil, nil, nil, err
		}
		d, err := s.Policies(ctx, policy, options, resources)
		if err != nil {
			return nil, nil, nil, err
		}
		main, one := d.Main.(backfill.Repeatable)
		fallback, other := d.Fallback.(backfill.Repeatable)
		if !one || !other {
			d.close()
			return nil, nil, nil, fmt.Errorf("policy %s cannot be played ahead: there is one of it alone", policy)
		}
		return main, fallback, d.close, nil
	}
}

// spec describes the policy.
func (d Deciders) spec() backfill.PolicySpec {
	switch {
	case d.chooser != nil:
		return d.chooser.Spec()
	case d.history:
		return backfill.PolicySpec{Name: condorsim.HistoryPolicy, IgnoresOrder: true}
	}
	return d.Main.Spec()
}

func (d Deciders) close() {
	if d.Close != nil {
		d.Close()
	}
}

// Sweep is a sweep that is ready to run.
type Sweep struct {
	Manifest results.Manifest
	file     *File
	settings Settings
	one      int                            // the number of the only cell that is prepared; below 0: all are
	cells    []cell                         // as in Manifest.Cells
	policies map[string]backfill.PolicySpec // by the name in the file

	fair        condorsim.Fair
	countEvents bool
	perUser     bool
	perQueue    bool
	history     bool // a row is what really happened, and the others are of the same jobs
}

// cell is one simulation to run.
type cell struct {
	number    int // its place among all cells of the file, also of traces that are not there
	key       results.Key
	input     *input
	scheduler scheduler
	estimates estimates
}

// input is a trace of the sweep whose files were found.
type input struct {
	Trace
	number int                             // of the trace in the file
	files  []located                       // as named by Trace.files, and those of the pool
	sums   []string                        // digests of the files, and of the history
	pool   *pools.Description              // nil: the machine of the trace
	jobs   int                             // Settings.Jobs
	warn   func(text string, about ...any) // Settings.Warn
	told   *sync.Once                      // that the time zone is unknown
	users  *sync.Map                       // what was told of users
	// orders are those of all schedulers, whose expressions may ask for attributes of job ads.
	orders []string
	doubts *sync.Map // what else was told

	memory located // Trace.MemoryFrom
	sample func() (*workload.MemorySample, error)

	history located // Trace.History
	ended   func() ([]estimate.Ended, error)
}

// Prepare finds the traces, checks the policies and makes the cells. Traces that are not found are
// listed in Manifest.Skipped; it is an error if none is found.
func Prepare(ctx context.Context, f *File, s Settings) (*Sweep, error) {
	return prepareCells(ctx, f, s, -1)
}

func prepareCells(ctx context.Context, f *File, s Settings, one int) (*Sweep, error) {
	p := &Sweep{file: f, one: one, settings: s, countEvents: f.CountEvents, perUser: f.PerUser, perQueue: f.PerQueue, fair: f.fair(), history: f.hasHistory(), Manifest: results.Manifest{
		Format: results.Format,
		Name:   f.Name, Title: f.Title, Description: f.Description, Paper: f.Paper, Baseline: f.Baseline,
		Version: s.Version, Command: s.Command, File: string(f.text),
	}}
	inputs, err := p.inputs(f)
	if err != nil {
		return nil, err
	}
	if p.policies, err = p.checkPolicies(ctx, f, inputs); err != nil {
		return nil, err
	}
	for _, in := range inputs {
		for i, file := range in.files {
			p.Manifest.Traces = append(p.Manifest.Traces,
				results.TraceFile{Name: in.Name, File: filepath.Base(file.name), SHA256: in.sums[i]})
		}
		if err = p.expand(f, in); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// inputs returns the traces whose files were found, and lists the others in Manifest.Skipped. It is
// an error if none is found.
func (p *Sweep) inputs(f *File) ([]*input, error) {
	var all []*input
	var missing []string
	places := p.settings.Places
	for i := range f.Traces {
		if !p.wants(i, -1) {
			continue
		}
		in := &input{
			Trace: f.Traces[i], number: i, jobs: p.settings.Jobs, warn: p.settings.Warn, told: new(sync.Once), users: new(sync.Map),
			doubts: new(sync.Map),
		}
		for _, s := range f.schedulers() {
			in.orders = append(in.orders, s.order)
		}
		if absent := in.find(places); len(absent) > 0 {
			missing = append(missing, fmt.Sprintf("trace %s: %s is not there; looked in %s", in.Name,
				strings.Join(absent, ", "), places.looked()))
			continue
		}
		if err := in.readPool(places); err != nil {
			return nil, fmt.Errorf("trace %s: %w", in.Name, err)
		}
		if err := in.sumUp(); err != nil {
			return nil, err
		}
		all = append(all, in)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: none of its traces is there; say with --traces where they are:\n  %s", f.path,
			strings.Join(missing, "\n  "))
	}
	p.Manifest.Skipped = append(p.Manifest.Skipped, missing...)
	return all, nil
}

// expand adds to the sweep the cells of a trace: one for each load, estimate model, scale of estimates,
// seed and scheduler.
func (p *Sweep) expand(f *File, in *input) error {
	number := in.number * f.cellsOfTrace()
	for _, load := range f.loads() {
		for _, stated := range f.estimates() {
			for _, seed := range f.seeds() {
				for n, s := range f.schedulers() {
					number++
					if p.one >= 0 && number-1 != p.one || !p.wants(in.number, n) {
						continue
					}
					s.estimates = p.estimatesOf(f, s)
					key := p.key(f, in.Name, s, load, stated, seed)
					var err error
					if key.Inputs, err = p.digest(f, in, s, key); err != nil {
						return err
					}
					p.Manifest.Cells = append(p.Manifest.Cells, key)
					p.cells = append(p.cells, cell{number: number - 1, key: key, input: in, scheduler: s, estimates: stated})
				}
			}
		}
	}
	return nil
}

// executables returns the paths of the policies that are not known by a name: the scheduler's own, or
// those of auto's portfolio.
func (s scheduler) executables() (all []string, err error) {
	named := []string{s.policy}
	if s.policy == auto.Name {
		if named, err = auto.Policies(s.options); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(named, func(policy string) bool { return filepath.Base(policy) == policy }), nil
}

// digest returns a digest of all that a cell's result depends on.
func (p *Sweep) digest(f *File, in *input, s scheduler, key results.Key) (string, error) {
	var plugins []string
	executables, err := s.executables()
	if err != nil {
		return "", err
	}
	for _, policy := range executables { // they may change
		file, _ := p.settings.Places.onDisk(policy) // it was found when it was checked
		sum, unread := file.digest()
		if unread != nil {
			return "", unread
		}
		plugins = append(plugins, sum)
	}
	estimates, err := p.settings.Places.digests(s.estimates)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(struct {
		Format      int
		Version     string
		Key         results.Key
		Placement   string
		Plugin      string
		Trace       Trace
		Files       []string
		Jobs        int
		FST         []string
		CountEvents bool
		PerUser     bool `json:",omitempty"`
		PerQueue    bool `json:",omitempty"`
		History     bool `json:",omitempty"`
		Estimates   []string
		Priorities  *condorsim.Priorities `json:",omitempty"` // nil: the usual ones
	}{
		results.Format, p.settings.Version, key, s.placement, strings.Join(plugins, " "), in.Trace, in.sums, in.jobs, f.FST,
		f.CountEvents, f.PerUser, f.PerQueue, p.history, estimates, s.unusual(),
	})
	if err != nil {
		return "", fmt.Errorf("sum up the inputs of %s: %w", key.ID, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

// checkPolicies makes each policy once for each list of resources that a pool of the sweep has, so
// that its faults are known before anything runs, and returns how the policies describe themselves.
func (p *Sweep) checkPolicies(ctx context.Context, f *File, inputs []*input) (map[string]backfill.PolicySpec, error) {
	s := p.settings
	var kinds [][]string
	for _, in := range inputs {
		r := in.resources()
		if !slices.ContainsFunc(kinds, func(k []string) bool { return slices.Equal(k, r) }) {
			kinds = append(kinds, r)
		}
	}
	c := &checker{}
	told := map[string]bool{}
	specs := map[string]backfill.PolicySpec{}
	for n, one := range f.schedulers() {
		if told[one.policyPath] || !p.wants(-1, n) {
			continue
		}
		for _, resources := range kinds {
			deciders, err := s.deciders(ctx, one.policy, one.options, resources)
			if err != nil {
				told[one.policyPath] = true
				c.say(one.policyPath, "%v", err)
				break
			}
			spec := deciders.spec()
			if deciders.chooser != nil && (f.CountEvents || len(f.FST) > 0) && !told[one.policyPath] {
				told[one.policyPath] = true
				c.say(one.policyPath, "profile events and fair start times are those of one policy, and auto changes it")
			}
			if deciders.history {
				c.history(f, one)
				told[one.policyPath] = true
			}
			specs[one.policy] = spec
			if one.order != "" && spec.IgnoresOrder && !told[one.policyPath] {
				told[one.policyPath] = true
				c.say(one.orderPath, "%s ignores the order: leave it out", one.policy)
			}
			c.estimators(one, spec, s.Places, told)
			deciders.close()
		}
	}
	return specs, f.report(c.faults)
}

// resources returns the resources of the pool that the trace runs on.
func (in *input) resources() []string {
	if in.pool != nil {
		return in.pool.Schema.Resources
	}
	list := []string{"cpus"}
	if in.Memory > 0 || in.Generate != nil && in.Generate.Memory > 0 {
		list = append(list, "memory")
	}
	if in.GPUs > 0 {
		list = append(list, "gpus")
	}
	return list
}
