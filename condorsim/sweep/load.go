package sweep

import (
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim"
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
		whole = merge(in.Name, workload.Machine{Processors: in.CPUs, Memory: in.Memory}, parts...)
	}
	whole = cut(whole, 0, in.jobs)
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
	if err != nil {
		return nil, err
	}
	return cut(trace, s.Until, s.Max), nil
}

// workload makes what is simulated: the trace, if it is one, with a load and an
// estimate model, on the pool.
func (in *input) workload(t *workload.Trace, load float64, estimates string, seed uint64) (*condorsim.Workload, error) {
	slots, err := in.slots()
	if err != nil {
		return nil, &BadInput{err}
	}
	if t == nil {
		return in.fromAds(slots)
	}
	if t, err = transform(t, load, estimates, seed); err != nil {
		return nil, &BadInput{err}
	}
	return condorsim.FromTrace(t, slots)
}

// slots are those of the pool; nil: the machine of the trace.
func (in *input) slots() ([]*negotiator.Slot, error) {
	schema := negotiator.DefaultSchema()
	switch {
	case in.Pool != "":
		file := in.files[len(in.files)-1] // behind the workload's
		text, err := file.open()
		if err != nil {
			return nil, fmt.Errorf("read the pool: %w", err)
		}
		defer text.Close() //nolint:errcheck // only read
		return condorsim.SlotsFromAds(file.path, schema, classad.ReadAds(text, file.path))
	case in.Nodes != nil:
		text := in.Nodes.ads()
		return condorsim.SlotsFromAds("nodes", schema, classad.ReadAds(strings.NewReader(text), "nodes"))
	default:
		return nil, nil
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

func (in *input) fromAds(slots []*negotiator.Slot) (*condorsim.Workload, error) {
	file := in.files[0]
	text, err := file.open()
	if err != nil {
		return nil, &BadInput{fmt.Errorf("read the jobs: %w", err)}
	}
	defer text.Close() //nolint:errcheck // only read
	w, err := condorsim.FromAds(file.path, negotiator.DefaultSchema(), slots, classad.ReadAds(text, file.path))
	if err != nil {
		return nil, &BadInput{err}
	}
	if in.jobs > 0 && in.jobs < len(w.Jobs) {
		w.Jobs = w.Jobs[:in.jobs]
	}
	return w, nil
}
