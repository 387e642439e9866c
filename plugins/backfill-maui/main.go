// Command backfill-maui is the maui policy as a plugin.
package main

import (
	"github.com/condor-backfill/condor-backfill/backfill/policies/maui"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

func main() { sdk.Serve(maui.Spec()) }
