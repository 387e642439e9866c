// Command backfill-bb is the bb policy as a plugin.
package main

import (
	"github.com/condor-backfill/condor-backfill/backfill/policies/bb"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

func main() { sdk.Serve(bb.Spec()) }
