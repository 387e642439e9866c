// Command condorsim replays workloads on a simulated pool.
package main

import (
	"io"
	"os"

	"github.com/alecthomas/kong"

	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
	"github.com/condor-backfill/condor-backfill/configs"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/cli/grammar"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/serve"
)

const description = `Replays workloads on a simulated pool, with the negotiator's own code.

Examples:
  condorsim run lublin-128
  condorsim run --workload KTH-SP2-1996-2.swf.gz --policy easy
  condorsim run --workload trace.swf --policy easy --order wfp
  condorsim run --workload trace.swf --policy easy --order 'expr:WaitTime * Width'
  condorsim run --workload trace.swf --policy conservative --json --jobs-out jobs.csv
  condorsim run --workload trace.swf --policy easy --policy-opt depth=4 --load 1.2
  condorsim run --workload trace.swf --pool slots.ads --placement spread
  condorsim run --workload trace.swf --pool failing --seed 7
  condorsim run --workload history.ads --pool pool.yaml --estimate-attr MaxRuntime
  condorsim run --workload trace.swf --policy pc --order sjf --count-events
  condorsim run --workload trace.swf --policy easy --bound 60 --per-user --json
  condorsim run --workload trace.swf --policy conservative --gantt gantt.html
  condorsim run --workload trace.swf --order wfp --estimates combined --history-share 0.2
  condorsim run --instance small.json --policy ./backfill-mine
  condorsim run --workload lublin-128 --policy conservative --estimate-model accurate
  condorsim run --workload trace.swf --policy slack --record slack.rec && condorsim replay slack.rec
  condorsim sweep guarantees --traces ~/traces --out guarantees
  condorsim report guarantees --baseline easy
  condorsim compare easy.csv slack.csv --html policies.html
  condorsim keys sweep
  condorsim study --pool status.long --workload history.long --with 'cpus=64,count=4' --html study.html
  condorsim workload info KTH-SP2-1996-2.swf.gz
  condorsim workload generate lublin --jobs 5000 --cpus 256 --seed 1 --out lublin.swf.gz

Exit codes: 0 done, 1 failed, 2 bad input, 130 interrupted.`

// commands is the grammar of the command line.
type commands struct {
	Run      runCommand      `cmd:"" help:"Run one workload under one policy."`
	Sweep    sweepCommand    `cmd:"" help:"Run a matrix of workloads and policies."`
	Cell     cellCommand     `cmd:"" help:"For machines: run one cell of a sweep, as its jobs on HTCondor do."`
	Study    studyCommand    `cmd:"" help:"What happened on a pool, and what would have been: policies, more slots, limits."`
	Replay   replayCommand   `cmd:"" help:"Decide the rounds of a record again, and compare."`
	Compare  compareCommand  `cmd:"" help:"Compare runs of the same jobs, job by job, or finished sweeps."`
	Report   reportCommand   `cmd:"" help:"Show the results of a sweep in one HTML page."`
	Workload workloadCommand `cmd:"" help:"Look at traces, change them and make them up."`
	Keys     keysCommand     `cmd:"" help:"Show every key of a sweep's file or a pool's description, with an example."`
}

func main() {
	serve.IfChild(os.Args[1:], policies.All())
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// process is what a command has of its process.
type process struct {
	files     *formats.Files
	out, errs io.Writer
}

// run runs a command line and returns its exit code.
func run(args []string, in *os.File, out, errs io.Writer) int {
	defer wholefile.Abandon() // an interrupted command may still be writing
	files := &formats.Files{Stdin: in, BuiltIn: configs.Files(), TracePath: configs.TracePath}
	return cli.Main("condorsim", description, &commands{}, args, helpTexts, kong.Writers(out, errs),
		kong.Bind(&process{files, out, errs}), grammar.Speaks(policyv1.Name()), cli.Values(policies.All(), auto.Name))
}
