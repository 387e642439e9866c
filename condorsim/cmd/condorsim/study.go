package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/hashicorp/go-hclog"

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
	"github.com/condor-backfill/condor-backfill/configs"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/plugins/version"
)

// studyCommand is condorsim study.
type studyCommand struct {
	File string `arg:"" optional:"" help:"${study_file}"`

	Workload string `group:"Workload" placeholder:"FILE" help:"${run_workload}"`
	Jobs     int    `group:"Workload" placeholder:"N" help:"Take the first N jobs only."`
	From     string `group:"Workload" placeholder:"T" help:"${model_from}"`
	Until    string `group:"Workload" placeholder:"T" help:"Leave out jobs submitted at this time or later."`
	traceFlags

	Cpus      int64  `group:"Pool" placeholder:"N" help:"${run_cpus}"`
	Memory    int64  `group:"Pool" placeholder:"MIB" help:"${run_memory}"`
	Pool      string `group:"Pool" placeholder:"FILE" help:"${run_pool}"`
	Placement string `group:"Pool" enum:"rank,pack,spread" default:"rank" help:"${run_placement}"`

	Policies []string `group:"Compared" short:"p" default:"slack,easy,conservative" help:"${study_policies}"`
	Order    string   `group:"Compared" placeholder:"NAME" help:"${run_order}"`
	// With, Without and ScaleEstimates are changes, each of which is looked at alone.
	With           []string `group:"Compared" sep:"none" placeholder:"SLOTS" help:"${run_with}"`
	Without        []string `group:"Compared" placeholder:"PATTERN" help:"${run_without}"`
	ScaleEstimates float64  `group:"Compared" placeholder:"F" help:"${model_scale_estimates}"`

	HTML     pageFlag `group:"Output" name:"html" placeholder:"FILE" help:"${study_html}"`
	JSON     bool     `group:"Output" name:"json" help:"Print all measures as one JSON object, with times in seconds."`
	Parallel int      `group:"Output" placeholder:"N" help:"How many simulations at a time; by default one a core."`
	LogLevel string   `group:"Output" enum:"trace,debug,info,warn,error,off" default:"warn" help:"${run_log_level}"`
}

// Help is shown below the flags.
func (*studyCommand) Help() string {
	return `Compares, side by side and in hours, what really happened to the jobs of a pool with what would have
been under some policies: on the pool as it is, with more slots (--with), with fewer (--without), and
with other stated run times (--scale-estimates), each of these changes alone.

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
  condorsim study lublin-128 --policies easy,./backfill-mine

condorsim sweep runs more of the kind: loads, orders, estimators, seeds.`
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
	if c.Jobs < 0 || c.Parallel < 0 {
		return cli.Bad(errors.New("--jobs and --parallel must not be negative"))
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
	done := map[string]*results.Cell{}
	failures, err := simulateCells(ctx, plan, c.cells(plan, w), c.Parallel, nil,
		func(key results.Key, cell results.Cell, err error) {
			if view.finished(key, cell, err); err == nil {
				done[key.ID] = &cell
			}
		}, view)
	if err != nil {
		return err
	}
	failed := view.failed(failures)
	if len(done) == 0 {
		return cmp.Or(failed, errors.New("nothing was simulated"))
	}
	s := c.compared(plan, w, done)
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
	return failed
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
		modelFlags: modelFlags{From: c.From, Until: c.Until}, Cpus: c.Cpus, Memory: c.Memory, Pool: c.Pool,
		With: c.With, Without: c.Without, Placement: c.Placement, Policy: "each policy", Order: c.Order,
		Bound: metrics.DefaultBound, Gantt: string(c.HTML),
		priorityFlags: priorityFlags{PriorityHalflife: int64(condorsim.DefaultHalfLife)},
	}
}

// scales reports whether estimates are scaled.
func (c *studyCommand) scales() bool { return c.ScaleEstimates != 0 && c.ScaleEstimates != 1 }

// The names of the study's traces: the pool as it is, and with each change.
const (
	asItIs     = "as-it-is"
	withMore   = "with"
	withFewer  = "without"
	withScaled = "scaled"
)

// sweepOf returns the study as a sweep: its traces are the pool as it is and with each change.
func (c *studyCommand) sweepOf(w *condorsim.Workload) *sweep.File {
	unless := func(usual, text string) string {
		if text == usual {
			return ""
		}
		return text
	}
	base := sweep.Trace{Name: asItIs, Pool: c.poolFile(), Source: sweep.Source{
		File: c.Workload, CPUs: c.Cpus, Memory: c.Memory, Clean: unless("papers", c.Clean),
		ProcsField: unless("allocated", c.ProcsField), Overrun: unless("raise", c.Overrun), Max: c.Jobs, From: c.From,
		Until: c.Until, EstimateAttr: strings.Join(c.EstimateAttr, ","), Dependencies: unless("honour", c.Dependencies),
	}}
	f := &sweep.File{Name: "study", PerUser: true, Traces: []sweep.Trace{base}}
	add := func(wanted bool, name string, change func(*sweep.Trace)) {
		if wanted {
			t := base
			t.Name = name
			change(&t)
			f.Traces = append(f.Traces, t)
		}
	}
	add(len(c.With) > 0, withMore, func(t *sweep.Trace) { t.With = c.With })
	add(len(c.Without) > 0, withFewer, func(t *sweep.Trace) { t.Without = c.Without })
	add(c.scales(), withScaled, func(t *sweep.Trace) { t.ScaleEstimates = c.ScaleEstimates })
	if recorded(w) > 0 {
		f.Schedulers = append(f.Schedulers, sweep.Scheduler{Policy: condorsim.HistoryPolicy})
	}
	for _, policy := range c.Policies {
		f.Schedulers = append(f.Schedulers, sweep.Scheduler{
			Label: filepath.Base(policy), Policy: policy, Order: c.Order, Placement: c.Placement,
		})
	}
	return f
}

// poolFile returns the name of the pool as sweeps have it: built-in ones are in a folder.
func (c *studyCommand) poolFile() string {
	if _, err := os.Stat(c.Pool); c.Pool == "" || err == nil {
		return c.Pool
	}
	found, _ := fs.Glob(configs.Files(), path.Join("pools", c.Pool+".*")) // it was read, so it is there
	return append(found, c.Pool)[0]
}

// plan makes the cells of the study's sweep.
func (c *studyCommand) plan(ctx context.Context, w *condorsim.Workload, logger hclog.Logger) (*sweep.Sweep, error) {
	file := c.sweepOf(w)
	if err := file.Check(); err != nil {
		return nil, err
	}
	version, err := version.ID()
	if err != nil {
		return nil, err
	}
	return sweep.Prepare(ctx, file, sweep.Settings{
		Places:   sweep.Places{Dirs: []string{"."}, BuiltIn: configs.Files(), TracePath: configs.TracePath},
		Policies: makePolicies(logger), Version: version, Command: c.command(),
	})
}

// cells are those to run: what really happened is the same on all pools.
func (c *studyCommand) cells(plan *sweep.Sweep, w *condorsim.Workload) (todo []int) {
	for i, key := range plan.Manifest.Cells {
		if key.Policy != condorsim.HistoryPolicy || key.Trace == asItIs && recorded(w) > 0 {
			todo = append(todo, i)
		}
	}
	return todo
}

// command returns a command that repeats the study.
func (c *studyCommand) command() string {
	words := []string{"condorsim", "study"}
	flag := func(name string, values ...string) {
		for _, value := range values {
			if value != "" {
				words = append(words, "--"+name, quoted(value))
			}
		}
	}
	number := func(name string, value float64) {
		if value != 0 {
			flag(name, fmt.Sprint(value))
		}
	}
	flag("pool", c.Pool)
	flag("workload", c.Workload)
	flag("policies", strings.Join(c.Policies, ","))
	flag("order", c.Order)
	flag("with", c.With...)
	flag("without", c.Without...)
	number("scale-estimates", c.ScaleEstimates)
	flag("from", c.From)
	flag("until", c.Until)
	number("jobs", float64(c.Jobs))
	number("cpus", float64(c.Cpus))
	number("memory", float64(c.Memory))
	flag("estimate-attr", c.EstimateAttr...)
	for _, choice := range [][3]string{
		{"clean", c.Clean, "papers"},
		{"procs-field", c.ProcsField, "allocated"},
		{"overrun", c.Overrun, "raise"},
		{"dependencies", c.Dependencies, "honour"},
		{"placement", c.Placement, "rank"},
	} {
		if choice[1] != choice[2] {
			flag(choice[0], choice[1])
		}
	}
	flag("html", string(c.HTML))
	return strings.Join(words, " ")
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
