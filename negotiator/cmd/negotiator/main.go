// Command negotiator schedules a pool with an interchangeable backfill policy.
package main

import (
	"os"

	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/cli/grammar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/serve"
)

const description = `Schedules a pool with an interchangeable backfill policy.

Without flags it runs 54 MPI-like jobs on a built-in four-node pool, in scaled
time, with the ibb policy in a process of its own.

Examples:
  negotiator --policy easy
  negotiator --policy conservative --speed max
  negotiator --policy easy --order wfp
  negotiator --pool slots.ads --workload jobs.ads --policy ./backfill-mine
  negotiator explain 1.23 --at 60
  negotiator start-times --at 60 --policy conservative
  negotiator policies
  negotiator plugin check ./backfill-mine
  negotiator config check negotiator.yaml

On a real HTCondor pool it takes the place of condor_negotiator: under condor_master
(setup does what that needs), with what HTCondor's configuration says, or standing alone.

  negotiator setup --observe
  negotiator --pool htcondor --observe
  negotiator --pool htcondor://cm.site:9618 --token condor.token --once
  negotiator explain 12.0
  negotiator start-times --owner alice --limit 20
  negotiator what-if --cpus 16 --memory 64GiB --time 2h
  negotiator observe-report --html report.html

The flags of run, which schedules, can be given without its name: negotiator run --help lists
them.

While it runs, kill -HUP or condor_reconfig has it read its configuration anew and start
the policy anew.

Exit codes: 0 done, 1 failed, 2 bad input, 130 interrupted.`

// commands is the grammar of the command line.
type commands struct {
	Run        runCommand        `cmd:"" default:"withargs" help:"Schedule a pool (the default)."`
	Explain    explainCommand    `cmd:"" help:"Say why a job waits, or since when it runs."`
	StartTimes startTimesCommand `cmd:"" help:"List when the waiting jobs are expected to start."`
	WhatIf     whatIfCommand     `cmd:"" help:"${command_what_if}"`
	Drain      drainCommand      `cmd:"" help:"${command_drain}"`
	Policies   policiesCommand   `cmd:"" help:"${command_policies}"`
	Plugin     pluginCommands    `cmd:"" help:"Work with policy plugins."`
	Config     configCommands    `cmd:"" help:"Work with configuration files."`
	Setup      setupCommand      `cmd:"" help:"${command_setup}"`

	Observed observeReportCommand `cmd:"" name:"observe-report" help:"${command_observe_report}"`

	ImportAccounting importCommand `cmd:"" help:"${command_import_accounting}"`
	ExportAccounting exportCommand `cmd:"" help:"${command_export_accounting}"`
}

func main() {
	serve.IfChild(os.Args[1:], policies.All())
	os.Exit(cli.Main("negotiator", description, &commands{}, stock(os.Args[1:], daemon.Inherited()), helpTexts,
		grammar.Speaks(policyv1.Name()), cli.Values(policies.All(), auto.Name)))
}
