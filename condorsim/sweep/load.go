package sweep

import (
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// BadInput says that a trace or a pool cannot be read.
type BadInput struct{ Err error }

func (e *BadInput) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *BadInput) Unwrap() error { return e.Err }

// anyWidth is as many chunks as a job may have: the pool, not the trace's
// machine, says what is too wide.
const anyWidth = 1 << 20

// options are how the source is read.
func (s Source) options(wide int64) workload.Options {
	cpus := s.CPUs
	if cpus == 0 {
		cpus = wide
	}
	return workload.Options{
		Clean: workload.Clean(s.Clean), ProcsField: workload.ProcsField(s.ProcsField), Overrun: workload.Overrun(s.Overrun),
		CPUs: cpus, Memory: s.Memory,
	}
}

// trace reads the trace's files; nil if it is one of job ads.
func (in *input) trace() (*workload.Trace, error) {
	sources := in.sources()
	if sources == nil {
		return nil, nil //nolint:nilnil // nil is a trace that is none
	}
	wide := int64(0)
	if in.Pool != "" || in.Nodes != nil {
		wide = anyWidth
	}
	parts := make([]*workload.Trace, len(sources))
	for i, s := range sources {
		part, err := read(in.files[i], s, wide)
		if err != nil {
			return nil, &BadInput{err}
		}
		parts[i] = part
	}
	whole := parts[0]
	if in.Merge != nil {
		whole = workload.Merge(in.Name, workload.Machine{Processors: in.CPUs, Memory: in.Memory}, parts...)
	}
	if in.jobs > 0 {
		var err error
		if whole, err = whole.Transform(workload.Transform{Max: in.jobs}); err != nil {
			return nil, &BadInput{err}
		}
	}
	if len(whole.Jobs) == 0 {
		return nil, &BadInput{fmt.Errorf("trace %s: no job is left to be run; clean: none keeps more", in.Name)}
	}
	return whole, nil
}

func read(file located, s Source, wide int64) (*workload.Trace, error) {
	in, err := file.open()
	if err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	defer in.Close() //nolint:errcheck // only read
	trace, err := workload.ReadSWF(in, file.path, s.options(wide))
	cut := workload.Transform{Until: s.Until, Max: s.Max}
	if err != nil || cut.IsZero() {
		return trace, err
	}
	return trace.Transform(cut)
}

// workload makes what is simulated: the trace, if it is one, with a load and an
// estimate model, on the pool. The seed is for what is drawn at random.
func (in *input) workload(t *workload.Trace, load float64, estimates string, seed uint64) (*condorsim.Workload, error) {
	w, err := in.make(t, workload.Transform{Load: load, Estimates: workload.EstimateModel(estimates), Seed: seed})
	if err != nil {
		return nil, &BadInput{err}
	}
	w.Seed = seed
	return w, nil
}

func (in *input) make(t *workload.Trace, x workload.Transform) (*condorsim.Workload, error) {
	pool, err := in.pool()
	switch {
	case err != nil:
		return nil, err
	case in.Ads != "":
		return in.fromAds(pool)
	case in.Generate != nil:
		if t, err = in.Generate.trace(in.Name, x.Seed); err != nil {
			return nil, err
		}
		x.Max = in.jobs
	}
	if !x.IsZero() {
		if t, err = t.Transform(x); err != nil {
			return nil, err
		}
	}
	if pool == nil {
		return condorsim.FromTrace(t, nil)
	}
	return condorsim.OnPool(t, pool)
}

// pool is what the trace runs on; nil: the machine of the trace.
func (in *input) pool() (*pools.Pool, error) {
	switch {
	case in.Pool != "":
		file := in.files[len(in.files)-1] // behind the workload's
		text, err := file.open()
		if err != nil {
			return nil, fmt.Errorf("read the pool: %w", err)
		}
		defer text.Close() //nolint:errcheck // only read
		return pools.Read(text, file.path)
	case in.Nodes != nil:
		text := in.Nodes.ads()
		return pools.FromAds("nodes", negotiator.DefaultSchema(), classad.ReadAds(strings.NewReader(text), "nodes"))
	default:
		return nil, nil //nolint:nilnil // nil is a pool that is not wanted
	}
}

// ads describes the nodes.
func (n *Nodes) ads() string {
	var text strings.Builder
	for i := range n.Count {
		fmt.Fprintf(&text, `Name = "slot1@node%d"
Cpus = %d
Memory = %d
Requirements = MY.Cpus >= TARGET.RequestCpus && MY.Memory >= TARGET.RequestMemory

`, i+1, n.CPUs, n.Memory)
	}
	return text.String()
}

func (in *input) fromAds(pool *pools.Pool) (*condorsim.Workload, error) {
	file := in.files[0]
	text, err := file.open()
	if err != nil {
		return nil, fmt.Errorf("read the jobs: %w", err)
	}
	defer text.Close() //nolint:errcheck // only read
	w, err := condorsim.FromAds(file.path, pool.Schema, pool.Slots, classad.ReadAds(text, file.path))
	if err != nil {
		return nil, err
	}
	w.Outages, w.GiveUpAfter = pool.Outages, pool.GiveUpAfter
	if in.jobs > 0 && in.jobs < len(w.Jobs) {
		w.Jobs = w.Jobs[:in.jobs]
	}
	return w, nil
}
