// Command backfill-dc is the dc policy as a plugin.
package main

import (
	"github.com/condor-backfill/condor-backfill/backfill/policies/dc"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

func main() { sdk.Serve(dc.Spec()) }
