// Command backfill-drain is the drain policy as a plugin.
package main

import (
	"github.com/condor-backfill/condor-backfill/backfill/policies/drain"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

func main() { sdk.Serve(drain.Spec()) }
