package main

import (
	"context"
	"os"

	"github.com/condor-backfill/condor-backfill/condorsim/rehearsal"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/process"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
)

// configCommands are the commands about configuration files.
type configCommands struct {
	Check configCheck `cmd:"" help:"Say whether a configuration file is right."`
}

// configCheck is negotiator config check.
type configCheck struct {
	File string `arg:"" optional:"" help:"YAML file; without one, HTCondor's configuration on this machine."`
}

// Help is shown below the flags.
func (*configCheck) Help() string {
	return `It does all that a start would: it reads the pool and the workload, and starts and ends the plugin.
For a real pool it reads HTCondor's configuration, and asks the collector how the slots' START and RANK are set.

Examples:
  negotiator config check negotiator.yaml
  negotiator config check

` + condorconfig.Help()
}

// Run does all that a start would, and then ends the policy.
func (c *configCheck) Run(ctx context.Context) error {
	from := &source.Settings{File: c.File}
	onReal, err := from.OnRealPool()
	if err != nil {
		return cli.Bad(err)
	}
	what := c.File
	if onReal || c.File == "" {
		if what == "" {
			what = "HTCondor's configuration"
		}
		if err = process.Check(ctx, from, os.Stderr); err == nil && c.File == "" {
			err = process.CheckSlots(ctx, from, os.Stderr)
		}
	} else {
		var p *rehearsal.Rehearsal
		if p, err = prepare(ctx, from, "warn"); err == nil {
			p.Close()
		}
	}
	if err != nil {
		return cli.Bad(err)
	}
	_, err = os.Stdout.WriteString(what + ": ok\n")
	return err
}
