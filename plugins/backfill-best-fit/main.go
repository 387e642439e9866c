// Command backfill-best-fit is the best-fit policy as a plugin.
package main

import (
	"github.com/condor-backfill/condor-backfill/backfill/policies/bestfit"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

func main() { sdk.Serve(bestfit.Spec()) }
