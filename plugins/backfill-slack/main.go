// Command backfill-slack is the slack policy as a plugin.
package main

import (
	"github.com/condor-backfill/condor-backfill/backfill/policies/slack"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

func main() { sdk.Serve(slack.Spec()) }
