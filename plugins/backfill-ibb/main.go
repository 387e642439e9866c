// Command backfill-ibb is the ibb policy as a plugin.
package main

import (
	"github.com/condor-backfill/condor-backfill/backfill/policies/ibb"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

func main() { sdk.Serve(ibb.Spec()) }
