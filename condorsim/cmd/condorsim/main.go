// Command condorsim replays workloads on a simulated pool.
package main

import (
	"os"

	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/plugins/serve"
)

const description = `Replays workloads on a simulated pool, with the negotiator's own code.

Examples:
  condorsim run --workload KTH-SP2-1996-2.swf.gz --policy easy
  condorsim run --workload trace.swf --policy easy --order wfp
  condorsim run --workload trace.swf --policy easy --order 'expr:WaitTime * Width'
  condorsim run --workload trace.swf --policy conservative --json --jobs-out jobs.csv
  condorsim run --workload trace.swf --policy easy --policy-opt depth=4 --load 1.2
  condorsim run --workload trace.swf --pool slots.ads --placement spread
  condorsim run --workload trace.swf --policy conservative --gantt gantt.html
  condorsim run --instance small.json --policy ./backfill-mine
  condorsim report results/ --baseline easy

Exit codes: 0 done, 1 failed, 2 bad input, 130 interrupted.`

// commands is the grammar of the command line.
type commands struct {
	Run    runCommand    `cmd:"" help:"Run one workload under one policy."`
	Report reportCommand `cmd:"" help:"Show the results of a sweep in one HTML page."`
}

func main() {
	serve.IfChild(os.Args[1:], policies.All())
	os.Exit(cli.Main("condorsim", description, &commands{}, os.Args[1:]))
}
