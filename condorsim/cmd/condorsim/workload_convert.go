package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

// convertCommand is condorsim workload convert.
type convertCommand struct {
	From string `arg:"" help:"${trace}"`
	rewriteFlags
	outFlags
}

// Help is shown below the flags.
func (*convertCommand) Help() string {
	return `From SWF to SWF every line stays as it is, and flags that say how to read it are refused. From or to
another format the jobs are cleaned; --clean none keeps all that can run. Job ads become a trace of one
machine, as large as they ever were together unless --cpus says otherwise. What jobs ask for besides cpus and
memory, and what they require of slots, has no place in it: that is named, and --drop has it left out. An
instance has no header, and other formats have no place for the results that it expects. SWF has the GPUs of
jobs in a nineteenth field, if the machine has some (--gpus). Batsim's workloads have memory, users and
whatever else Batsim has no field for in extra_data.

Examples:
  condorsim workload convert trace.swf.gz --out trace.swf.zst
  condorsim workload convert history.ads --drop resources,requirements --out history.swf.gz
  condorsim workload convert small.json --out small.swf
  condorsim workload convert small.swf --out small.json
  condorsim workload convert trace.swf.gz --out trace.batsim.json`
}

// Run converts.
func (c *convertCommand) Run(p *process) error {
	out, err := c.create(p)
	if err != nil {
		return cli.Bad(err)
	}
	defer out.discard()
	trace, err := c.convert(p, out)
	if err != nil {
		return cli.Bad(err)
	}
	if trace == nil {
		return c.repack(p, out)
	}
	return out.write(trace)
}

// convert reads a trace in any format. SWF that is to stay SWF is only checked for faults, and the
// trace is nil: its text is copied.
func (c *convertCommand) convert(p *process, out *outFile) (*workload.Trace, error) {
	in, err := p.openJobs(c.From)
	if err != nil {
		return nil, err
	}
	defer in.close()
	if in.Format != formats.SWF || out.format != formats.SWF {
		return c.read(p, c.From, in, change{}, out)
	}
	if !c.isZero() {
		return nil, errors.New("from SWF to SWF every line stays as it is, so no flag says how to read it; condorsim workload " +
			"clean and scale write a trace as flags say")
	}
	const large = 1 << 20 // checks the lines for a machine that holds any job
	_, err = p.readFrom(in, formats.Options{Options: workload.Options{Clean: workload.CleanNone, CPUs: large}})
	return nil, err
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
