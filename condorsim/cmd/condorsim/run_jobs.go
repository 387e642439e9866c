package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// load reads the workload and the pool.
func (c *runCommand) load(p *process, logger hclog.Logger) (w *condorsim.Workload, err error) {
	cli.Tell("reading %s, to run it under %s", formats.Shown(cmp.Or(c.Workload, c.Instance)), c.Policy)
	var pool, asGiven *pools.Description
	if c.Pool != "" {
		if pool, err = readPool(c.Pool, logger); err != nil {
			return nil, err
		}
		if err = c.spares(pool.Ads); err != nil {
			return nil, err
		}
		asGiven = pool
		if pool, err = pool.Changed(pools.Change{With: c.With, Without: c.Without}); err != nil {
			return nil, fmt.Errorf("--%w", err)
		}
	}
	if w, err = c.jobs(p, pool, logger); err != nil {
		return nil, err
	}
	if (w.Preemption != nil || w.Scavengers != nil) && c.Fst != (fstFlag{}) {
		return nil, fmt.Errorf("--fst: %w", condorsim.ErrFairPreempted)
	}
	w.Warn(logger.Warn)
	if err = c.tellMore(w, asGiven, logger); err != nil {
		return nil, err
	}
	if c.SlotEnd != nil {
		if w = w.WithEnds(c.SlotEnd...); w.AbsentEnds() != "" {
			return nil, fmt.Errorf("--slot-end=%s: no slot has such an attribute; condor_status -long shows what slots have",
				strings.Join(c.SlotEnd, ","))
		}
	}
	w.Seed = c.Seed
	if err = c.learn(p, w); err != nil {
		return nil, err
	}
	if c.CompareWithHistory {
		if _, err = condorsim.Happened(w); err != nil {
			return nil, fmt.Errorf("--compare-with-history: %w", err)
		}
	}
	if c.OwnError && w.Recorded == nil {
		return nil, errNoRecord
	}
	if c.Order != negotiator.FairShare {
		return w, nil
	}
	return c.account(w, logger)
}

// tellMore warns of further slots that may not be what was meant.
func (c *runCommand) tellMore(w *condorsim.Workload, pool *pools.Description, logger hclog.Logger) error {
	for _, text := range c.With {
		more, err := w.More(pool, text)
		if err != nil {
			return fmt.Errorf("--with %s: %w", text, err)
		}
		if more.Doubtful() {
			logger.Warn(more.String(), "with", text)
		}
	}
	return nil
}

// jobs reads the jobs, for the pool or, without one, for a machine of their own.
func (c *runCommand) jobs(p *process, pool *pools.Description, logger hclog.Logger) (*condorsim.Workload, error) {
	in, err := c.openJobs(p)
	if err != nil {
		return nil, err
	}
	defer in.close()
	if in.Format == formats.Instance {
		c.Workload, c.Instance = "", cmp.Or(c.Instance, c.Workload)
	}
	if err = c.suits(in.Format, pool != nil); err != nil {
		return nil, err
	}
	jobs, err := c.read(p, in.Source, pool)
	if err != nil {
		return nil, err
	}
	if err = c.tell(jobs, in.Format, logger); err != nil {
		return nil, err
	}
	if jobs.History != nil && pool == nil {
		logger.Info("the machine", "processors", jobs.Machine.Processors, "most in use at one time", jobs.History.Peak)
	}
	return condorsim.From(jobs, pool)
}

// openJobs opens what is to be run.
func (c *runCommand) openJobs(p *process) (*jobsFile, error) {
	if c.Instance != "" {
		return p.openInstance(c.Instance)
	}
	return p.openJobs(c.Workload)
}

// suits returns an error for flags that have no meaning for jobs in that format.
func (c *runCommand) suits(format *formats.Format, pool bool) error {
	trace := c.traceFlags
	if c.History != "" {
		trace.EstimateAttr = nil // they may be of the ads to learn from
	}
	switch {
	case format.OfAds && pool && (c.ScaleWidths != 0 || c.MemoryModel+c.MemoryFrom != ""):
		return errors.New("--scale-widths, --memory-model and --memory-from change traces; on a pool, job ads say what " +
			"each job asks for")
	case format == formats.Record && (c.ScaleWidths != 0 || c.memoryFlags != memoryFlags{} || c.MemoryModel != ""):
		return errors.New("--scale-widths and the flags of memory change traces; a record says by the ads what each job asks for")
	case format == formats.Instance && (c.Jobs != 0 || c.Load != 0 || c.changes() || c.memoryFlags != memoryFlags{}):
		return errors.New("--jobs, --load and flags that change a trace say how it is read; an instance is taken as it is")
	default:
		return trace.suits(format, machineFlags{c.Cpus, c.Memory, c.Gpus}, cmp.Or(c.Workload, c.Instance))
	}
}

// read reads the jobs and changes them as the flags say.
func (c *runCommand) read(p *process, in *formats.Source, pool *pools.Description) (*formats.Jobs, error) {
	opts := c.withAds(c.options(machineFlags{c.Cpus, c.reading(c.Memory), c.Gpus}, c.MemoryModel))
	opts, x := condorsim.ReadingFor(pool, opts, c.Order), c.transform(c.Load, c.Jobs)
	err := c.complete(p, &x)
	if err = errors.Join(err, opts.Validate(), x.Validate()); err != nil {
		return nil, err
	}
	jobs, err := in.Read(opts)
	if err == nil {
		jobs.Trace, err = x.of(p, jobs.Trace)
	}
	return jobs, err
}

// tell logs what was read, and returns an error if there is no job.
func (c *runCommand) tell(trace *formats.Jobs, format *formats.Format, logger hclog.Logger) error {
	if format == formats.Instance {
		if len(trace.Jobs) == 0 {
			return fmt.Errorf("%s: there is no job in it", formats.Shown(c.Instance))
		}
		return nil
	}
	logger.Info("read", "trace", trace.Name, "jobs", trace.Cleaning.JobsLeft, "of", trace.Cleaning.JobsRead)
	if n := trace.Cleaning.TooWide; n > 0 {
		logger.Warn("dropped jobs that are wider than the machine", "count", n, "jobs",
			abridge(workload.Dropped(trace.Drops, workload.WhyTooWide)))
	}
	if n := trace.Cleaning.TooMuchMemory; n > 0 {
		logger.Warn("dropped jobs that need more memory than the machine has", "count", n, "jobs",
			abridge(workload.Dropped(trace.Drops, workload.WhyTooMuchMemory)))
	}
	if n := trace.Cleaning.TooManyGPUs; n > 0 {
		logger.Warn("dropped jobs that need more GPUs than the machine has", "count", n, "jobs",
			abridge(workload.Dropped(trace.Drops, workload.WhyTooManyGPUs)))
	}
	for _, doubt := range trace.Doubts() {
		logger.Warn(doubt)
	}
	if len(trace.Jobs) == 0 {
		return fmt.Errorf("%w; condorsim workload formats describes what is read",
			trace.Nothing(formats.Shown(c.Workload), "--clean none"))
	}
	return nil
}

// abridge lists the first 20 numbers, and says how many more there are.
func abridge(ids []int64) string {
	const most = 20
	text := strings.Trim(fmt.Sprint(ids[:min(most, len(ids))]), "[]")
	if len(ids) > most {
		text += fmt.Sprintf(" and %d more", len(ids)-most)
	}
	return text
}
