package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/console"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/condorsim/output/page"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
	"github.com/condor-backfill/condor-backfill/condorsim/sweep"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// studyCommand is condorsim study.
type studyCommand struct {
	File string `arg:"" optional:"" help:"${study_file}"`

	Workload string `group:"Workload" placeholder:"FILE" help:"${run_workload}"`
	Jobs     int    `group:"Workload" nonzero:"" placeholder:"N" help:"Take the first N jobs only."`
	From     string `group:"Workload" placeholder:"T" help:"${model_from}"`
	Until    string `group:"Workload" placeholder:"T" help:"Leave out jobs submitted at this time or later."`
	traceFlags

	Cpus      int64  `group:"Pool" nonzero:"" placeholder:"N" help:"${run_cpus}"`
	Memory    int64  `group:"Pool" placeholder:"MIB" help:"${run_memory}"`
	Gpus      int64  `group:"Pool" placeholder:"N" help:"${machine_gpus}"`
	Pool      string `group:"Pool" placeholder:"FILE" help:"${run_pool}"`
	Placement string `group:"Pool" enum:"rank,pack,spread" default:"rank" help:"${run_placement}"`

	Policies []string `group:"Compared" short:"p" default:"slack,easy,conservative" help:"${study_policies}"`
	// PolicyOpt goes to those of the policies that have such options.
	PolicyOpt map[string]string `group:"Compared" placeholder:"K=V" help:"${study_policy_opt}" mapsep:"none"`
	Order     string            `group:"Compared" placeholder:"NAME" help:"${run_order}"`
	// With, Without and ScaleEstimates are changes, each of which is looked at alone, and then all of them.
	With           []string `group:"Compared" sep:"none" placeholder:"SLOTS" help:"${run_with}"`
	Without        []string `group:"Compared" placeholder:"PATTERN" help:"${run_without}"`
	ScaleEstimates float64  `group:"Compared" nonzero:"" placeholder:"F" help:"${model_scale_estimates}"`

	OwnError bool `group:"Compared" help:"${run_own_error}"`

	jitterFlags `group:"Compared"`
	priorityFlags
	estimateFlags

	Out      string   `group:"Output" placeholder:"DIR" help:"${study_out}"`
	Fresh    bool     `group:"Output" help:"With --out: run also what is finished already."`
	HTML     pageFlag `group:"Output" name:"html" placeholder:"FILE" help:"${study_html}"`
	JSON     bool     `group:"Output" name:"json" help:"Print all measures as one JSON object, with times in seconds."`
	Parallel int      `group:"Output" placeholder:"N" help:"How many simulations at a time; by default one a core."`
	LogLevel string   `group:"Output" enum:"trace,debug,info,warn,error,off" default:"warn" help:"${run_log_level}"`
}

// Help is shown below the flags.
func (*studyCommand) Help() string {
	return `Compares, side by side and in hours, what really happened to the jobs of a pool with what would have
been under some policies: on the pool as it is, with more slots (--with), with fewer (--without), and
with other stated run times (--scale-estimates): each of these changes alone, and all of them together.

The pool is what condor_status -long prints, the workload what condor_history -long prints; all else
that condorsim run reads will do. What happened is known of jobs whose file records a start. If others
are there, they are simulated, and left out of all rows.

--scale-estimates 0.5 halves what users stated. Unknown run times stay unknown. Where half is less than
the job ran, the job is planned with its run time, or, with --overrun kill, ended there.

Examples:
  condorsim study --pool status.long --workload history.long
  condorsim study --pool status.long --workload history.long --policies slack,easy \
    --with 'cpus=64,memory=256GiB,count=4' --scale-estimates 0.5 --html study.html
  condorsim study --pool status.long history.long.gz --without 'old*' --from 2026-03-01 --json
  condorsim study --pool status.long history.long --estimate-attr MaxWallTimeMins:min --html
  condorsim study lublin-128 --policies slack,easy --policy-opt factor=4 --estimates combined
  condorsim study pool.rec --policies slack,pc --own-error
  condorsim study lublin-128 --policies easy,conservative --out study && condorsim report study

With --out, the results are kept in a folder, which condorsim report reads; the same command goes on
where it was interrupted, and only runs what is new or has changed.

condorsim sweep runs more of the kind: loads, several orders and estimators, seeds.

` + estimate.Help()
}

// pageFlag is where the page goes; "": there is none.
type pageFlag string

// usualPage is where the page goes if its file is not named.
const usualPage = "study.html"

// Decode reads the name of the file, which may be missing.
func (f *pageFlag) Decode(ctx *kong.DecodeContext) error {
	*f = usualPage
	if token := ctx.Scan.Peek(); token.IsValue() {
		if text, ok := token.Value.(string); ok && text != "" {
			ctx.Scan.Pop()
			*f = pageFlag(text)
		}
	}
	return nil
}

// Run studies and prints.
func (c *studyCommand) Run(ctx context.Context, p *process) error {
	switch {
	case c.Jobs < 0 || c.Parallel < 0:
		return cli.Bad(errors.New("--jobs and --parallel must not be negative"))
	case c.Fresh && c.Out == "":
		return cli.Bad(errors.New("--fresh is about the folder of results; say with --out where it is"))
	}
	if err := c.jitterFlags.check(); err != nil {
		return cli.Bad(err)
	}
	logger := cli.Logger("condorsim", c.LogLevel, p.errs)
	w, err := c.look(p, logger)
	if err != nil {
		return cli.Bad(err)
	}
	var out *wholefile.File
	if c.HTML != "" {
		if out, err = wholefile.Create("the page", string(c.HTML)); err != nil {
			return cli.Bad(err)
		}
		defer out.Discard()
	}
	plan, err := c.plan(ctx, w, logger)
	if err != nil {
		return cli.Bad(err)
	}
	view := &sweepView{out: p.errs}
	done, failures, err := c.simulate(ctx, plan, view)
	if err != nil {
		return err
	}
	failed := view.failed(failures)
	if len(done) == 0 {
		return cmp.Or(failed, errors.New("nothing was simulated"))
	}
	s := c.compared(plan, w, done)
	if c.OwnError {
		own, ownErr := ownError(ctx, w, nil, logger)
		if ownErr != nil {
			return ownErr
		}
		s.SimulatorError, s.Notes = own, append(s.Notes, own.String())
	}
	if out != nil {
		if err = out.Fill(s.HTML); err != nil {
			return err
		}
	}
	if err = c.print(p, s); err != nil {
		return err
	}
	if out != nil {
		view.line("the page is %s", c.HTML)
	}
	if c.Out != "" {
		view.line("the results are in %s", c.Out)
	}
	return failed
}

// simulate returns the finished cells (simulations of the study) by name, those that a folder of results
// has already among them.
func (c *studyCommand) simulate(ctx context.Context, plan *sweep.Sweep, view *sweepView,
) (done map[string]*results.Cell, failures []sweep.Failure, err error) {
	done = map[string]*results.Cell{}
	if c.Out == "" {
		failures, err = simulateCells(ctx, plan, plan.All(), c.Parallel, nil,
			func(key results.Key, cell results.Cell, err error) {
				if view.finished(key, cell, err); err == nil {
					done[key.ID] = &cell
				}
			}, view)
		return done, failures, err
	}
	kept, failures, err := (&sweepCommand{Fresh: c.Fresh, Parallel: c.Parallel}).fill(ctx, plan, c.Out, view)
	if err != nil {
		return nil, nil, err
	}
	for i := range kept.Cells {
		done[kept.Cells[i].ID] = &kept.Cells[i]
	}
	return done, failures, nil
}

// look reads the workload on the pool as it is, as condorsim run does, with its errors and warnings.
func (c *studyCommand) look(p *process, logger hclog.Logger) (*condorsim.Workload, error) {
	one := c.asRun()
	if one.File+one.Workload == "" {
		return nil, errors.New("name what happened: FILE or --workload FILE, such as what condor_history -long prints; " +
			"condorsim workload formats describes what is read")
	}
	if one.File == "-" || one.Workload == "-" {
		return nil, errors.New("-: the workload is read several times: name a file")
	}
	if err := one.check(); err != nil {
		return nil, err
	}
	one.Workload = cmp.Or(one.Workload, one.File)
	if err := one.spares(one.Workload, one.Pool); err != nil {
		return nil, fmt.Errorf("%s", strings.Replace(err.Error(), "--gantt", "--html", 1))
	}
	if err := (workload.Transform{EstimateScale: c.ScaleEstimates}).Validate(); err != nil {
		return nil, fmt.Errorf("--%w", err)
	}
	if c.Pool != "" {
		pool, err := readPool(c.Pool, hclog.NewNullLogger())
		for _, change := range []pools.Change{{With: c.With}, {Without: c.Without}} {
			if err == nil {
				if _, err = pool.Changed(change); err != nil {
					err = fmt.Errorf("--%w", err)
				}
			}
		}
		if err != nil {
			return nil, err
		}
	}
	one.With, one.Without = nil, nil
	w, err := one.load(p, logger)
	if err == nil && c.scales() && w.Cleaning.EstimateUnknown == len(w.Jobs) {
		err = errors.New("--scale-estimates: no job states a run time, so there is nothing to scale; name the attribute " +
			"of job ads that has it with --estimate-attr")
	}
	c.Workload = one.Workload + one.Instance
	return w, err
}

// asRun returns the command that runs one simulation of the study.
func (c *studyCommand) asRun() *runCommand {
	return &runCommand{
		File: c.File, Workload: c.Workload, Jobs: c.Jobs, traceFlags: c.traceFlags,
		modelFlags: modelFlags{From: c.From, Until: c.Until}, Cpus: c.Cpus, Memory: c.Memory, Gpus: c.Gpus, Pool: c.Pool,
		With: c.With, Without: c.Without, Placement: c.Placement, Policy: "each policy", Order: c.Order,
		Bound: metrics.DefaultBound, Gantt: string(c.HTML), OwnError: c.OwnError,
		priorityFlags: c.priorityFlags, estimateFlags: c.estimateFlags,
	}
}

// print prints the comparison.
func (c *studyCommand) print(p *process, s *page.SideBySide) error {
	if !c.JSON {
		return console.SideBySide(p.out, s)
	}
	encoder := json.NewEncoder(p.out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(s.JSON()); err != nil {
		return fmt.Errorf("print the comparison: %w", err)
	}
	return nil
}

// workloadName is what the page calls the workload.
func (c *studyCommand) workloadName() string { return filepath.Base(formats.Shown(c.Workload)) }
