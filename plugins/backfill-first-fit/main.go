// Command backfill-first-fit is the first-fit policy as a plugin.
package main

import (
	"github.com/condor-backfill/condor-backfill/backfill/policies/firstfit"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

func main() { sdk.Serve(firstfit.Spec()) }
