// Command backfill-conservative is the conservative policy as a plugin.
package main

import (
	"github.com/condor-backfill/condor-backfill/backfill/policies/conservative"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

func main() { sdk.Serve(conservative.Spec()) }
