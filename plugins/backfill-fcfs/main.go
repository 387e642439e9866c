// Command backfill-fcfs is the fcfs policy as a plugin.
package main

import (
	"github.com/condor-backfill/condor-backfill/backfill/policies/fcfs"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

func main() { sdk.Serve(fcfs.Spec()) }
