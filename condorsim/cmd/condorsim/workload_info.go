package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/output/survey"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// infoCommand is condorsim workload info.
type infoCommand struct {
	Trace string `arg:"" help:"${trace}"`
	traceFlags
	machineFlags
	Pool string `group:"Pool" placeholder:"FILE" help:"${info_pool}"`
	modelFlags
	JSON  bool   `group:"Output" name:"json" help:"Print one JSON object."`
	Plots string `group:"Output" placeholder:"DIR" help:"Draw SVG charts into this folder as well."`
}

// Help is shown below the flags.
func (*infoCommand) Help() string {
	return `Prints the header, the job lines by their status, what cleaning drops, the offered load, and how
widths, run times, accuracy of estimates, memory and submissions are distributed, and GPUs; of job ads also
disk and what else they ask for. With --pool the load is that of the pool, for each resource.

Examples:
  condorsim workload info lublin-128
  condorsim workload info KTH-SP2-1996-2.swf.gz --plots charts
  condorsim workload info LANL-CM5-1994-4.1-cln.swf.gz --memory 32768 --json
  condorsim workload info trace.swf --clean none
  condorsim workload info history.long --pool status.long`
}

// Run prints the survey.
func (c *infoCommand) Run(p *process) error {
	o := c.options(c.machineFlags, c.MemoryModel)
	o.KeepRecorded = true
	var pool *pools.Description
	var capacity map[string]int64
	if err := c.onOne(c.Pool); err != nil {
		return cli.Bad(err)
	}
	if c.Pool != "" {
		var err error
		if pool, err = readPool(c.Pool, cli.Logger("condorsim", "warn", p.errs)); err != nil {
			return cli.Bad(err)
		}
		capacity = pool.Capacity()
		o.CPUs, o.Memory, o.GPUs = capacity["cpus"], capacity["memory"], capacity["gpus"]
	}
	reading := condorsim.ReadingFor(pool, c.withAds(o))
	reading.Ads.WithOthers = true
	jobs, err := c.jobs(p, reading)
	if err != nil {
		return cli.Bad(err)
	}
	found := survey.Of(jobs.Trace)
	if jobs.History != nil {
		found.AddResources(jobs.Trace, jobs.History, capacity)
	}
	if c.JSON {
		encoder := json.NewEncoder(p.out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(found)
	} else {
		err = found.Table(p.out)
	}
	if err != nil || c.Plots == "" {
		return err
	}
	files, err := found.Plots(c.Plots)
	if err != nil {
		return cli.Bad(err)
	}
	for _, file := range files {
		if _, err = fmt.Fprintln(p.errs, "drew", file); err != nil {
			return err
		}
	}
	return nil
}

// jobs reads the jobs of the file, and changes their trace.
func (c *infoCommand) jobs(p *process, opts formats.Options) (*formats.Jobs, error) {
	x := c.transform(0, 0)
	if err := errors.Join(opts.Validate(), x.Validate()); err != nil {
		return nil, err
	}
	in, err := p.openJobs(c.Trace)
	if err != nil {
		return nil, err
	}
	defer in.close()
	if err = c.suits(in.Format, c.machineFlags, c.Trace); err != nil {
		return nil, err
	}
	jobs, err := p.readFrom(in, opts)
	if err == nil {
		jobs.Trace, err = x.of(p, jobs.Trace)
	}
	return jobs, err
}
