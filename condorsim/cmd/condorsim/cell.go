package main

import (
	"context"
	"io"
	"os"
	"runtime/debug"

	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
	"github.com/condor-backfill/condor-backfill/condorsim/sweep"
	"github.com/condor-backfill/condor-backfill/configs"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/plugins/version"
)

// cellCommand is condorsim cell.
type cellCommand struct {
	Number int    `arg:"" help:"Number of the cell."`
	Kit    string `placeholder:"DIR" default:"." help:"Folder of the kit."`
	Out    string `placeholder:"FILE" required:"" help:"Where the result is written."`
	Memory int64  `placeholder:"MIB" help:"Memory that it has, in MiB: garbage is collected more often from 80 % of it on."`
}

// Help is shown below the flags.
func (*cellCommand) Help() string {
	return `For machines: the jobs of condorsim sweep --on htcondor run this. It runs one simulation of a sweep from a
kit, the folder that the sweep makes with the files that its cells need, and writes the cell's JSON
as the sweep would. Exit code 0 says that there is an answer, which may be why the cell failed.
`
}

// Run runs the cell.
func (c *cellCommand) Run(ctx context.Context, p *process) error {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(300)
		if c.Memory > 0 {
			debug.SetMemoryLimit(c.Memory << 20 / 10 * 8)
		}
	}
	kit, err := sweep.OpenKit(c.Kit)
	if err != nil {
		return cli.Bad(err)
	}
	id, err := version.ID()
	if err != nil {
		return err
	}
	logger := cli.Logger("condorsim", "warn", p.errs)
	plan, err := kit.Prepare(ctx, c.Number, sweep.Settings{
		Places:   sweep.Places{BuiltIn: configs.Files(), TracePath: configs.TracePath},
		Policies: makePolicies(logger), Version: id, Warn: logger.Warn,
	})
	if err != nil {
		return cli.Bad(err)
	}
	save := func(cell results.Cell) error { return wholefile.Write("the cell", c.Out, cell.Encode) }
	failures, err := plan.Run(ctx, plan.All(), sweep.Runner{Parallel: 1, Save: save})
	if err != nil {
		return err
	}
	if len(failures) == 0 {
		return nil
	}
	return wholefile.Write("why the cell failed", c.Out, func(out io.Writer) error {
		return sweep.WriteFailure(out, failures[0].Err)
	})
}
