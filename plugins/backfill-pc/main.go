// Command backfill-pc is the pc policy as a plugin.
package main

import (
	"github.com/condor-backfill/condor-backfill/backfill/policies/pc"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

func main() { sdk.Serve(pc.Spec()) }
