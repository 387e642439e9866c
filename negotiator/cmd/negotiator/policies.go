package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/catalogue"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// policiesCommand is negotiator policies.
type policiesCommand struct {
	Policy    []string `arg:"" optional:"" help:"Policy's name or plugin's path; without any, all that are linked in."`
	PluginDir []string `placeholder:"DIR" help:"List the plugins in it, backfill-NAME, as well; may be repeated."`
	JSON      bool     `name:"json" help:"Print a JSON array."`
}

// Help is shown below the flags.
func (*policiesCommand) Help() string {
	return `To ask a plugin what it is and what can be set, it is started and ended again.
One in a directory that cannot be asked is listed with the reason; one that is
named is an error.

Examples:
  negotiator policies
  negotiator policies easy ./backfill-mine
  negotiator policies --plugin-dir /usr/local/lib/condor-backfill --json`
}

// Run lists the policies.
func (c *policiesCommand) Run(ctx context.Context) error {
	all, err := catalogue.Find(ctx, c.Policy, c.PluginDir)
	if err != nil {
		return cli.Bad(err)
	}
	if c.JSON {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(all)
	}
	out := catalogue.Tables(all)
	if len(c.Policy) == 0 {
		out += "\n" + negotiator.OrderHelp()
	}
	_, err = os.Stdout.WriteString(out)
	return err
}
