package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/condorsim/fleet"
	"github.com/condor-backfill/condor-backfill/condorsim/output/console"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/condorsim/sweep"
	"github.com/condor-backfill/condor-backfill/configs"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/plugins/choose"
	"github.com/condor-backfill/condor-backfill/plugins/host"
	"github.com/condor-backfill/condor-backfill/plugins/version"
)

// sweepCommand is condorsim sweep.
type sweepCommand struct {
	File string `arg:"" help:"File of the sweep, or the name of one that is built in."`

	Traces []string `placeholder:"DIR" help:"Where to look for traces first; may be repeated."`
	Jobs   int      `placeholder:"N" help:"Take the first N jobs of each trace only."`
	jitterFlags

	Out   string `placeholder:"DIR" help:"Folder of the results; by default the sweep's name."`
	Only  string `placeholder:"GLOB" help:"Run only cells with such names, as --list shows them."`
	Fresh bool   `help:"Run also what is finished already; with --only, of those cells."`
	List  bool   `help:"Show the cells and what is done of them, and run nothing."`

	poolFlags
	Parallel int    `placeholder:"N" help:"How many simulations at a time; by default one a core."`
	JSON     bool   `name:"json" help:"Print the results, or the list, as one JSON object."`
	LogLevel string `enum:"trace,debug,info,warn,error,off" default:"warn" help:"What is logged, to standard error."`
}

// Help is shown below the flags.
func (*sweepCommand) Help() string {
	return `Sweeps that are built in: ` + strings.Join(sweep.BuiltIn(configs.Files()), ", ") + `.

Examples:
  condorsim sweep guarantees --traces ~/traces
  condorsim sweep guarantees --traces ~/traces --only 'KTH-SP2,*' --list
  condorsim sweep mine.yaml --out mine && condorsim sweep mine.yaml --out mine --json
  condorsim sweep mine.yaml --jitter-keys 0.02 --seeds 4
  condorsim sweep mine.yaml --on htcondor --slots 200 --submit 'accounting_group = physics'

condorsim keys sweep shows what the file of a sweep may have, each key with an example.

Every file that a sweep names (traces, pools, job ads, histories, plugins) is looked for in
--traces, beside the sweep's file, and here; all but plugins may also be built in, as the trace
lublin-128. Traces that are not there are left out, which is said, and stands in the results.

One run is noise: with --jitter-keys 0.02 --seeds 4 each scheduler runs four times, each time with other
small changes of the keys of the queue's order, and tables have means and their 95 % intervals. fcfs and
fairshare have no keys for that: such schedulers run the same four times.

The folder of results has a file for each finished simulation (cells/*.json). The same command goes
on where it was interrupted, and only runs what is new or has changed: the sweep's file, a trace, or
the program. At the end there are results.csv, results.json and results.parquet, with a row for each
simulation; if some failed, they are called results-incomplete. An interrupted sweep has neither, and
older ones are removed: they come with the end of the same command.

With --on htcondor each simulation is a job of an HTCondor pool, and the results are the same. It runs where
jobs are submitted, and shows what becomes of them. An interrupt removes the jobs; if the sweep is killed,
they go on, and the same command takes them over.
`
}

// Run sweeps and prints.
func (c *sweepCommand) Run(ctx context.Context, p *process) error {
	if c.Jobs < 0 || c.Parallel < 0 {
		return cli.Bad(errors.New("--jobs and --parallel must not be negative"))
	}
	if err := c.checkPool(); err != nil {
		return cli.Bad(err)
	}
	logger := cli.Logger("condorsim", c.LogLevel, p.errs)
	plan, err := c.plan(ctx, logger)
	if err != nil {
		return cli.Bad(err)
	}
	out := c.Out
	if out == "" {
		out = plan.Manifest.Name
	}
	say := &sweepView{out: p.errs}
	say.skipped(plan.Manifest.Skipped)
	if c.List {
		return c.list(p.out, plan, out)
	}
	if c.On == onHTCondor {
		if err = fleet.CheckDir(out); err != nil {
			return cli.Bad(err)
		}
	}
	done, failures, err := c.fill(ctx, plan, out, say)
	if err != nil {
		return err
	}
	if err = c.print(p.out, done); err != nil {
		return err
	}
	say.results(done)
	return say.failed(failures)
}

// fill runs the cells (simulations of the sweep) that are not finished in a folder of results, and
// returns what is in it then.
func (c *sweepCommand) fill(ctx context.Context, plan *sweep.Sweep, out string,
	say *sweepView,
) (*results.Folder, []sweep.Failure, error) {
	folder, err := results.Open(out)
	if err != nil {
		return nil, nil, cli.Bad(err)
	}
	defer folder.Close() //nolint:errcheck // nothing is lost
	if c.Fresh {
		if err = c.remove(plan, folder); err != nil {
			return nil, nil, err
		}
	}
	state := plan.Split(out)
	todo, err := c.only(plan, state.Todo)
	if err != nil {
		return nil, nil, cli.Bad(err)
	}
	say.state(plan, state, len(todo))
	if err = folder.Manifest(plan.Manifest); err != nil {
		return nil, nil, err
	}
	var failures []sweep.Failure
	if c.On == onHTCondor {
		failures, err = c.onPool(ctx, plan, todo, out, folder, say)
	} else {
		failures, err = simulateCells(ctx, plan, todo, c.Parallel, folder.Cell, say.finished, say)
	}
	if err != nil {
		say.givenUp(out)
		return nil, nil, err
	}
	done, err := folder.Tables()
	return done, failures, err
}

// plan reads the sweep's file, finds the files that it names and makes the cells, which are its
// simulations.
func (c *sweepCommand) plan(ctx context.Context, logger hclog.Logger) (*sweep.Sweep, error) {
	text, beside, err := sweep.ReadFile(c.File, configs.Files())
	if err != nil {
		return nil, err
	}
	file, err := sweep.Parse(c.File, text)
	if err != nil {
		return nil, err
	}
	if err = c.apply(file); err != nil {
		return nil, err
	}
	version, err := version.ID()
	if err != nil {
		return nil, err
	}
	return sweep.Prepare(ctx, file, sweep.Settings{
		Places: sweep.Places{
			Dirs: append(append([]string(nil), c.Traces...), beside...), BuiltIn: configs.Files(), TracePath: configs.TracePath,
		},
		Policies: makePolicies(logger), Jobs: c.Jobs, Version: version, Command: c.command(), Warn: logger.Warn,
	})
}

// command returns a command that repeats the sweep; it leaves out the output folder and the number
// of cores.
func (c *sweepCommand) command() string {
	words := []string{"condorsim", "sweep", cli.Quoted(c.File)}
	for _, dir := range c.Traces {
		words = append(words, "--traces", cli.Quoted(dir))
	}
	if c.Jobs > 0 {
		words = append(words, "--jobs", strconv.Itoa(c.Jobs))
	}
	words = append(words, c.words()...)
	return strings.Join(words, " ")
}

// pluginRequest asks for a policy of a sweep, linked in where possible.
func pluginRequest(policy string, options map[string]string, resources []string, logger hclog.Logger) choose.Request {
	return choose.Request{
		Policy: policy, Options: options, Resources: resources,
		InProcess: true, Plugins: choose.Plugins{Run: host.Options{NoMTLS: true, Logger: logger, User: host.Nobody}},
	}
}

// makePolicies returns a function that makes a policy and its fallback, linked in where possible.
func makePolicies(logger hclog.Logger) func(context.Context, string, map[string]string,
	[]string) (sweep.Deciders, error) {
	return func(ctx context.Context, policy string, options map[string]string,
		resources []string,
	) (sweep.Deciders, error) {
		request := pluginRequest(policy, options, resources, logger)
		request.Others = []string{auto.Name}
		chosen, err := choose.Policy(ctx, request)
		if err != nil {
			return sweep.Deciders{}, err
		}
		return sweep.Deciders{Main: chosen.Main, Fallback: chosen.Fallback, Close: chosen.Close}, nil
	}
}

// remove removes the results of the cells that --only selects, so that these simulations are run
// again.
func (c *sweepCommand) remove(plan *sweep.Sweep, folder *results.Writer) error {
	asked, err := c.only(plan, plan.All())
	if err != nil {
		return cli.Bad(err)
	}
	keys := make([]results.Key, len(asked))
	for i, n := range asked {
		keys[i] = plan.Manifest.Cells[n]
	}
	return folder.Remove(keys...)
}

// only returns those of the cells (simulations of the sweep) that --only selects. It is an error if
// no cell of the sweep has such a name.
func (c *sweepCommand) only(plan *sweep.Sweep, cells []int) ([]int, error) {
	if c.Only == "" {
		return cells, nil
	}
	matching, err := plan.Only(plan.All(), c.Only)
	if err != nil {
		return nil, fmt.Errorf("--only %s: %w", c.Only, err)
	}
	if len(matching) == 0 {
		return nil, fmt.Errorf("--only %s: no cell has such a name, the first is %s; --list shows them", c.Only,
			plan.Manifest.Cells[0].ID)
	}
	return plan.Only(cells, c.Only)
}

// Memory of a sweep, in bytes: what its simulations may need by estimate, and from where garbage is
// collected more often.
const (
	roomForCells = 1200 << 20
	softLimit    = 1700 << 20
)

// simulateCells runs cells, which are simulations of a sweep, so many at a time; 0: one a core.
func simulateCells(ctx context.Context, plan *sweep.Sweep, todo []int, parallel int, save func(results.Cell) error,
	finished func(results.Key, results.Cell, error), say *sweepView,
) ([]sweep.Failure, error) {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(300)
		debug.SetMemoryLimit(softLimit)
	}
	if parallel == 0 {
		parallel = runtime.GOMAXPROCS(0)
	}
	say.begin(len(todo), time.Now())
	defer say.end()
	return plan.Run(ctx, todo, sweep.Runner{
		Parallel: parallel, Memory: roomForCells, Save: save, Finished: finished, Progress: say.progress,
	})
}

// print prints the results of the finished cells.
func (c *sweepCommand) print(out io.Writer, done *results.Folder) error {
	if c.JSON {
		return results.WriteJSON(out, done)
	}
	return console.Results(out, done)
}
