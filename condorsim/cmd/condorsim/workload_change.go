package main

import (
	"errors"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

// cleanCommand is condorsim workload clean.
type cleanCommand struct {
	Trace string `arg:"" help:"${trace}"`
	traceFlags
	machineFlags
	outFlags
}

// Help is shown below the flags.
func (*cleanCommand) Help() string {
	return `Drops partial executions and jobs that were cancelled before they started, as the studies of these
traces do; jobs without run time or processors, and those that the machine cannot hold, always.

Examples:
  condorsim workload clean KTH-SP2-1996-2.swf.gz --out kth.swf.gz
  condorsim workload clean trace.swf --clean partial --overrun kill > cleaned.swf`
}

// Run cleans.
func (c *cleanCommand) Run(p *process) error {
	out, err := c.create(p)
	if err != nil {
		return cli.Bad(err)
	}
	defer out.discard()
	trace, err := c.open(p, c.Trace, c.options(c.machineFlags, ""), change{})
	if err != nil {
		return cli.Bad(err)
	}
	return out.write(trace)
}

// scaleCommand is condorsim workload scale.
type scaleCommand struct {
	Trace string `arg:"" help:"${trace}"`
	traceFlags
	machineFlags
	modelFlags
	Load float64 `group:"Workload" nonzero:"" placeholder:"F" help:"Scale the load: times between submissions are divided by F."`
	Jobs int     `group:"Workload" nonzero:"" placeholder:"N" help:"Keep the first N jobs only."`
	outFlags
}

// Help is shown below the flags.
func (*scaleCommand) Help() string {
	return `Cuts first, then scales widths, models memory and estimates, scales estimates, and scales the load.

` + instant.Help + `

Examples:
  condorsim workload scale kth.swf --load 1.2 --out kth-1.2.swf.gz
  condorsim workload scale kth.swf --from 864000 --until 1728000 --jobs 1000
  condorsim workload scale kth.swf --from 1996-11-01 --until 1996-12-01 --out november.swf
  condorsim workload scale kth.swf --estimate-model tsafrir --seed 7 --out kth-tsafrir.swf
  condorsim workload scale kth.swf --memory 65536 --memory-model lognormal:512:1 --out kth-memory.swf`
}

// Run transforms.
func (c *scaleCommand) Run(p *process) error {
	out, err := c.create(p)
	if err != nil {
		return cli.Bad(err)
	}
	defer out.discard()
	trace, err := c.open(p, c.Trace, c.options(c.machineFlags, c.MemoryModel), c.transform(c.Load, c.Jobs))
	if err != nil {
		return cli.Bad(err)
	}
	return out.write(trace)
}

// mergeCommand is condorsim workload merge.
type mergeCommand struct {
	Traces []string `arg:"" help:"Two traces or more."`
	traceFlags
	machineFlags
	modelFlags
	Load float64 `group:"Workload" nonzero:"" placeholder:"F" help:"${merge_load}"`
	Jobs int     `group:"Workload" nonzero:"" placeholder:"N" help:"Keep the first N jobs of the merged trace only."`
	outFlags
}

// Help is shown below the flags.
func (*mergeCommand) Help() string {
	return `Each job is submitted as long after the first one as in its own trace. The machine is the largest of
the traces' unless it is given; what else is asked for is done to the merged trace. Jobs are numbered
anew, and users of different traces are different users.

Examples:
  condorsim workload merge LANL-CM5.swf.gz METACENTRUM.swf.gz --cpus 1024 --memory 1048576 --out mixed.swf.gz
  condorsim workload merge a.swf b.swf c.swf --load 0.5 > merged.swf`
}

// Run merges.
func (c *mergeCommand) Run(p *process) error {
	if len(c.Traces) < 2 {
		return cli.Bad(errors.New("name two traces or more to be merged"))
	}
	x := c.transform(c.Load, c.Jobs)
	if err := x.Validate(); err != nil {
		return cli.Bad(err)
	}
	out, err := c.create(p)
	if err != nil {
		return cli.Bad(err)
	}
	defer out.discard()
	traces := make([]*workload.Trace, len(c.Traces))
	names := make([]string, len(c.Traces))
	for i, file := range c.Traces {
		if traces[i], err = c.open(p, file, c.options(c.machineFlags, c.MemoryModel),
			change{}); err != nil {
			return cli.Bad(err)
		}
		names[i] = traces[i].Name
	}
	merged, err := x.of(p, workload.Merge(strings.Join(names, "+"),
		workload.Machine{Processors: c.Cpus, Memory: c.Memory}, traces...))
	if err != nil {
		return cli.Bad(err)
	}
	return out.write(merged)
}
