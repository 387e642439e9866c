// Command backfill-easy is the easy policy as a plugin.
package main

import (
	"github.com/condor-backfill/condor-backfill/backfill/policies/easy"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

func main() { sdk.Serve(easy.Spec()) }
