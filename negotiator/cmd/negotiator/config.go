package main

import (
	"context"
	"os"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
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
	JSON bool   `name:"json" help:"Print what becomes of HTCondor's own settings as one JSON object."`
	File string `arg:"" optional:"" help:"YAML file; without one, HTCondor's configuration on this machine."`
}

// Help is shown below the flags.
func (*configCheck) Help() string {
	return `It does all that a start would: it reads the pool and the workload, and starts and ends the plugin.
For a real pool it reads HTCondor's configuration, and asks the collector how the slots' START and RANK are set.
It lists the site's own settings of HTCondor's negotiator, and what becomes of each: honoured, not heeded, or not
applicable.

Examples:
  negotiator config check negotiator.yaml
  negotiator config check
  negotiator config check --json | jq '.knobs[] | select(.fate == "not heeded")'

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
	report := checked{Configuration: what, Knobs: []condorconfig.Found{}}
	if site := from.HTCondor(); site != nil && c.File == "" {
		report.Knobs = append(report.Knobs, site.StockSettings()...)
	}
	if c.JSON {
		return cli.JSON(os.Stdout, report)
	}
	_, err = os.Stdout.WriteString(report.text())
	return err
}

// checked is what a check of a configuration that is right has found.
type checked struct {
	Configuration string               `json:"configuration"`
	Knobs         []condorconfig.Found `json:"knobs"` // of the stock negotiator's, those that the site has set
}

// text says what becomes of each knob, and that the configuration is right.
func (c checked) text() string {
	end := c.Configuration + ": ok\n"
	if len(c.Knobs) == 0 {
		return end
	}
	const longest = 40
	t := cli.Table("HTCondor's negotiator has", "here it is", "set at")
	for _, k := range c.Knobs {
		value := backfill.Printable(strings.Join(strings.Fields(k.Value), " "), longest)
		t.AppendRow([]any{k.Knob + " = " + value, k.Becomes(), k.Place})
	}
	return t.Render() + "\n\n" + end
}
