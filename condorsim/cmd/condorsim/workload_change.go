package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

// cleanCommand is condorsim workload clean.
type cleanCommand struct {
	Trace string `arg:"" help:"${trace}"`
	rewriteFlags
	outFlags
}

// Help is shown below the flags.
func (*cleanCommand) Help() string {
	return `Drops partial executions and jobs that were cancelled before they started, as the studies of these
traces do; jobs without run time or processors, and those that the machine cannot hold, always. The lines
of the other jobs and of the header stay as they are, but for what flags ask for; the counts of jobs in the
header are those of what is left. Whatever is dropped or changed is counted, to standard error and in --json.

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
	trace, err := c.rewritten(p, c.Trace, change{}, out)
	if err != nil {
		return cli.Bad(err)
	}
	return out.write(trace)
}

// scaleCommand is condorsim workload scale.
type scaleCommand struct {
	Trace string `arg:"" help:"${trace}"`
	rewriteFlags
	modelFlags
	Load float64 `group:"Workload" nonzero:"" placeholder:"F" help:"Scale the load: times between submissions are divided by F."`
	Jobs int     `group:"Workload" nonzero:"" placeholder:"N" help:"Keep the first N jobs only."`
	outFlags
}

// Help is shown below the flags.
func (*scaleCommand) Help() string {
	return `Cuts first, then scales widths, models memory and estimates, scales estimates, and scales the load. What
is written runs as the original does under the same flags of condorsim run; whatever they do not ask for
stays as it is, line by line. Whatever is dropped or changed is counted, to standard error and in --json.
Waits (field 3) are unknown once the load or the widths are others: they happened under those that there
were. Estimates that jobs run beyond (liars) have no place in a file: condorsim run and sweeps make them up.

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
	trace, err := c.rewritten(p, c.Trace, c.transform(c.Load, c.Jobs), out)
	if err != nil {
		return cli.Bad(err)
	}
	return out.write(trace)
}

// mergeCommand is condorsim workload merge.
type mergeCommand struct {
	Traces []string `arg:"" help:"Two traces or more."`
	rewriteFlags
	modelFlags
	Load float64 `group:"Workload" nonzero:"" placeholder:"F" help:"${merge_load}"`
	Jobs int     `group:"Workload" nonzero:"" placeholder:"N" help:"Keep the first N jobs of the merged trace only."`
	outFlags
}

// Help is shown below the flags.
func (*mergeCommand) Help() string {
	return `Each job is submitted as long after the first one as in its own trace. The machine is the largest of
the traces' unless it is given; what else is asked for is done to the merged trace. Jobs are numbered
anew, users of different traces are different users, waits are unknown, and as the traces have no common
clock, second 0 has no date. The lines of each header become comments that name the trace.

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
	if x.Estimates.Lies() {
		return cli.Bad(workload.ErrLies)
	}
	out, err := c.create(p)
	if err != nil {
		return cli.Bad(err)
	}
	defer out.discard()
	traces := make([]*workload.Trace, len(c.Traces))
	names := make([]string, len(c.Traces))
	for i, file := range c.Traces {
		if traces[i], err = c.part(p, file, out); err != nil {
			return cli.Bad(err)
		}
		names[i] = traces[i].Name
	}
	if slices.ContainsFunc(traces, func(t *workload.Trace) bool { return t.Header.Start() > 0 }) {
		out.also = append(out.also, workload.Change{What: "UnixStartTime: the traces have no common clock"})
	}
	merged, err := x.of(p, workload.Merge(strings.Join(names, "+"),
		workload.Machine{Processors: c.Cpus, Memory: c.Memory, GPUs: c.Gpus}, traces...))
	if err != nil {
		return cli.Bad(err)
	}
	return out.write(merged)
}

// part reads one of the traces. Its memory is that of the model only if that is a field of it; other models
// are of the merged trace.
func (c *mergeCommand) part(p *process, file string, out *outFile) (*workload.Trace, error) {
	x := change{}
	x.Memory = "given"
	if model := workload.MemoryModel(c.MemoryModel); model.IsField() {
		x.Memory = model
	}
	return c.rewritten(p, file, x, out)
}
