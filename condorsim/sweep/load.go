package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// BadInput says that the jobs or the history of a cell cannot be read or made.
type BadInput struct{ Err error }

func (e *BadInput) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *BadInput) Unwrap() error { return e.Err }

// options returns how to read the source.
func (s Source) options() workload.Options {
	return workload.Options{
		Clean: workload.Clean(s.Clean), ProcsField: workload.ProcsField(s.ProcsField),
		Overrun: workload.Overrun(s.Overrun), Dependencies: workload.Dependencies(s.Dependencies),
		CPUs: s.CPUs, Memory: s.Memory, GPUs: s.GPUs, Zone: s.Zone,
	}
}

// trace reads the trace's files and merges them if there are several; nil if the jobs are generated.
// Of merged job ads the ads are not kept.
func (in *input) trace() (*formats.Jobs, error) {
	sources := in.sources()
	if sources == nil {
		return nil, nil // nil: not a trace
	}
	parts := make([]*formats.Jobs, len(sources))
	for i, s := range sources {
		part, err := in.read(in.files[i], s)
		if err != nil {
			return nil, &BadInput{err}
		}
		in.doubt(part.Misreadings()...)
		parts[i] = part
	}
	whole := parts[0]
	if in.Merge != nil {
		traces := make([]*workload.Trace, len(parts))
		for i, part := range parts {
			traces[i] = part.Trace
		}
		machine := workload.Machine{Processors: in.CPUs, Memory: in.readingMemory(), GPUs: in.GPUs}
		whole = &formats.Jobs{Trace: workload.Merge(in.Name, machine, traces...)}
	}
	if err := change(whole, workload.Transform{Max: in.jobs, Load: in.Load}); err != nil {
		return nil, &BadInput{err}
	}
	if len(whole.Jobs) == 0 {
		return nil, &BadInput{fmt.Errorf("trace %w", whole.Nothing(in.Name, "clean: none"))}
	}
	return whole, nil
}

// change changes the trace of jobs that were read.
func change(jobs *formats.Jobs, x workload.Transform) (err error) {
	if !x.IsZero() {
		jobs.Trace, err = jobs.Transform(x)
	}
	return err
}

func (in *input) read(file located, s Source) (*formats.Jobs, error) {
	text, err := file.open()
	if err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	defer text.Close() //nolint:errcheck // only read
	source, err := formats.Open(text, file.path)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	if err = s.suits(source.Format); err != nil {
		return nil, fmt.Errorf("%s: %w", file.path, err)
	}
	jobs, err := source.Read(condorsim.ReadingFor(in.pool, formats.Options{
		Options: s.options(), Ads: history.Options{Estimates: s.estimates()},
	}, in.orders...))
	if err != nil {
		return nil, err
	}
	if s.From+s.Until == "" && s.Max == 0 {
		return jobs, nil
	}
	x, notes, err := workload.Cut{From: s.From, Until: s.Until}.Of(jobs.Trace, workload.Transform{Max: s.Max})
	if err != nil {
		return nil, &BadInput{fmt.Errorf("trace %s: %w", file.path, err)}
	}
	in.doubt(notes...)
	return jobs, change(jobs, x)
}

// suits returns an error if the source says how to read what a file of that format does not leave
// open.
func (s Source) suits(f *formats.Format) error {
	switch {
	case f.OfAds && s.ProcsField != "":
		return errors.New("procs_field says how a trace is read; the file holds job ads")
	case f.OfAds && s.Clean == string(workload.CleanStrong):
		return errors.New("clean: strong is for traces; the file holds job ads")
	case !f.OfAds && s.EstimateAttr != "":
		return errors.New("estimate_attr says how job ads are read; the file holds none")
	case s.Zone != "" && slices.Contains([]*formats.Format{
		formats.SWF, formats.Ads, formats.Instance, formats.Batsim, formats.GWF, formats.Record,
	}, f):
		return fmt.Errorf("zone is that of the dates of an accounting; the file holds %s, which has none", f.Holds)
	case (f == formats.Instance || f == formats.Record) && s.Clean+s.ProcsField+s.Overrun != "":
		return fmt.Errorf("clean, procs_field and overrun say how a trace is read; %s is taken as it is", f.Holds)
	default:
		return nil
	}
}

// estimates returns where job ads have the estimates; nil: where they usually have them.
func (s Source) estimates() []string {
	if s.EstimateAttr == "" {
		return nil
	}
	return []string{s.EstimateAttr}
}

// doubt warns of what makes results of the trace doubtful, once of each.
func (in *input) doubt(texts ...string) {
	for _, text := range texts {
		if _, told := in.doubts.LoadOrStore(text, true); !told && in.warn != nil {
			in.warn(text, "trace", in.Name)
		}
	}
}

// workload makes the workload of a cell: the jobs with a load and what users stated, on the pool. t
// is the trace, nil if the jobs are generated. The seed determines all that is random.
func (in *input) workload(t *formats.Jobs, load float64, stated estimates, seed uint64) (*condorsim.Workload, error) {
	w, err := in.make(t, workload.Transform{
		EstimateScale: cmp.Or(stated.scale, in.ScaleEstimates), Load: load, Estimates: workload.EstimateModel(stated.model),
		Seed: seed, MemoryShare: in.MemoryShare,
	})
	if err != nil {
		return nil, &BadInput{err}
	}
	if in.warn != nil {
		in.told.Do(func() {
			w.Warn(func(text string, details ...any) { in.warn(text, append([]any{"trace", in.Name}, details...)...) })
		})
	}
	w.Seed = seed
	w.LearnFrom(in.HistoryShare)
	in.doubt(w.Cleaning.Doubts()...)
	if in.ended != nil {
		ended, err := in.ended()
		if err != nil {
			return nil, &BadInput{err}
		}
		w.Remember(ended)
	}
	return w, nil
}

// readHistory reads the ended jobs of the history file, from which estimators learn before the run.
// It is an error if there are none.
func (in *input) readHistory() ([]estimate.Ended, error) {
	file, err := in.history.open()
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	ended, err := formats.ReadEnded(file, in.history.path, formats.EndedOptions{EstimateAttributes: in.estimates()})
	if err == nil && len(ended) == 0 {
		err = fmt.Errorf("the history %s: no job in it ran to its end, so there is nothing to learn", in.history.path)
	}
	return ended, err
}

// make makes the workload of a trace, changed.
func (in *input) make(read *formats.Jobs, x workload.Transform) (*condorsim.Workload, error) {
	var jobs formats.Jobs
	if in.sample != nil {
		var err error
		if x.MemoryFrom, err = in.sample(); err != nil {
			return nil, err
		}
	}
	if in.Generate == nil {
		jobs = *read // other cells share it
	} else {
		var err error
		if jobs.Trace, err = in.Generate.trace(in.Name, x.Seed); err != nil {
			return nil, err
		}
		x.Max = in.jobs
	}
	if err := change(&jobs, x); err != nil {
		return nil, err
	}
	return condorsim.From(&jobs, in.pool)
}

// readPool reads the pool that replaces the trace's machine, if the sweep's file gives one.
func (in *input) readPool(places Places) (err error) {
	switch {
	case in.Pool != "":
		file := in.files[len(in.files)-1]
		text, openErr := file.open()
		if openErr != nil {
			return fmt.Errorf("read the pool: %w", openErr)
		}
		defer text.Close() //nolint:errcheck // only read
		in.pool, err = pools.ReadWith(func(path string) (io.ReadCloser, error) { return places.at(path).open() }, text,
			file.path)
		if err == nil && in.pool.Ads != "" {
			in.files = append(in.files, places.at(in.pool.Ads))
		}
	case in.Nodes != nil:
		in.pool, err = pools.FromAds("nodes", negotiator.DefaultSchema(),
			classad.ReadAds(strings.NewReader(in.Nodes.ads()), "nodes"))
	}
	if err == nil && in.pool != nil {
		in.pool, err = in.pool.Changed(pools.Change{With: in.With, Without: in.Without})
	}
	return err
}

// ads returns the text of one slot ad for each node.
func (n *Nodes) ads() string {
	var text strings.Builder
	for i := range n.Count {
		fmt.Fprintf(&text, `Name = "slot1@node%d"
PartitionableSlot = true
Cpus = %d
Memory = %d
Requirements = MY.Cpus >= TARGET.RequestCpus && MY.Memory >= TARGET.RequestMemory

`, i+1, n.CPUs, n.Memory)
	}
	return text.String()
}
