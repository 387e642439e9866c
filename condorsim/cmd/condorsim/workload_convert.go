package main

import (
	"fmt"
	"io"

	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload/packed"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// convertCommand is condorsim workload convert.
type convertCommand struct {
	From string `arg:"" help:"${trace}"`
	traceFlags
	machineFlags
	dropFlags
	outFlags
}

// Help is shown below the flags.
func (*convertCommand) Help() string {
	return `From SWF to SWF every line stays as it is. Job ads are cleaned and become a trace of one machine, as
large as they ever were together unless --cpus says otherwise. What jobs ask for besides cpus and memory, and
what they require of slots, has no place in it: that is named, and --drop has it left out. From SWF to a JSON instance ` +
		`the jobs are cleaned; --clean none
keeps all that can run. An instance has neither users nor a header, and SWF has no place for the results
that an instance expects.

Examples:
  condorsim workload convert trace.swf.gz --out trace.swf.zst
  condorsim workload convert history.ads --drop resources,requirements --out history.swf.gz
  condorsim workload convert small.json --out small.swf
  condorsim workload convert small.swf --out small.json`
}

// Run converts.
func (c *convertCommand) Run(p *process) error {
	out, err := c.create(p)
	if err != nil {
		return cli.Bad(err)
	}
	defer out.discard()
	trace, err := c.read(p, out)
	if err != nil {
		return cli.Bad(err)
	}
	if trace == nil {
		return c.repack(p, out)
	}
	return out.write(trace)
}

// read reads a trace in any format. SWF that is to stay SWF is only checked for faults, and the
// trace is nil: its text is copied.
func (c *convertCommand) read(p *process, out *outFile) (*workload.Trace, error) {
	opts, target := c.options(c.machineFlags, ""), formats.Named(out.name)
	in, err := p.openJobs(c.From)
	if err != nil {
		return nil, err
	}
	defer in.close()
	copied := in.Format == formats.SWF && target == formats.SWF
	if copied {
		const large = 1 << 20 // checks the lines for a machine that holds any job
		opts = workload.Options{Clean: workload.CleanNone, CPUs: large}
	}
	if err = opts.Validate(); err != nil {
		return nil, err
	}
	jobs, err := p.readFrom(in, c.withAds(keepingMemory(opts, in.Format, target)))
	if err != nil || copied {
		return nil, err
	}
	if err = c.check(jobs, target); err != nil {
		return nil, err
	}
	return withoutAnyMemory(jobs.Trace), nil
}

// repack copies the text of the file as it is, compressed as the output's name says.
func (c *convertCommand) repack(p *process, out *outFile) error {
	file, err := p.files.Open(c.From)
	if err != nil {
		return cli.Bad(err)
	}
	defer file.Close() //nolint:errcheck // only read
	text, err := packed.NewReader(file)
	if err != nil {
		return cli.Bad(fmt.Errorf("%s: %w", formats.Shown(c.From), err))
	}
	defer text.Close() //nolint:errcheck // only read
	return out.put(func(w io.Writer) error {
		_, copyErr := io.Copy(w, text)
		return copyErr
	}, madeTrace{Out: out.name}, "every line as it was")
}
