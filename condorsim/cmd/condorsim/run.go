package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/jobtable"
	"github.com/condor-backfill/condor-backfill/condorsim/output/report"
	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/plugins/choose"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// runCommand is condorsim run.
type runCommand struct {
	File string `arg:"" optional:"" help:"${run_file}"`

	Workload string  `group:"Workload" xor:"workload" placeholder:"FILE" help:"${run_workload}"`
	Instance string  `group:"Workload" xor:"workload" placeholder:"FILE" help:"${run_instance}"`
	Jobs     int     `group:"Workload" nonzero:"" placeholder:"N" help:"Take the first N jobs of the trace only."`
	Load     float64 `group:"Workload" nonzero:"" placeholder:"F" help:"${run_load}"`

	traceFlags
	modelFlags
	memoryFlags

	Cpus   int64  `group:"Pool" nonzero:"" placeholder:"N" help:"${run_cpus}"`
	Memory int64  `group:"Pool" placeholder:"MIB" help:"${run_memory}"`
	Gpus   int64  `group:"Pool" placeholder:"N" help:"${machine_gpus}"`
	Pool   string `group:"Pool" placeholder:"FILE" help:"${run_pool}"`
	// With and Without change the slots of the pool.
	With    []string `group:"Pool" sep:"none" placeholder:"SLOTS" help:"${run_with}"`
	Without []string `group:"Pool" placeholder:"PATTERN" help:"${run_without}"`
	// SlotEnd lists attributes of slots; nil: the usual one.
	SlotEnd   []string `group:"Pool" placeholder:"ATTRS" help:"${run_slot_end}"`
	Placement string   `group:"Pool" enum:"rank,pack,spread" default:"rank" help:"${run_placement}"`

	Policy    string            `group:"Policy" short:"p" default:"easy" help:"Policy's name, plugin's path, or auto."`
	PolicyOpt map[string]string `group:"Policy" placeholder:"K=V" help:"${run_policy_opt}" mapsep:"none"`
	Order     string            `group:"Policy" placeholder:"NAME" help:"${run_order}"`
	PlanDepth int               `group:"Policy" placeholder:"N" help:"${run_plan_depth}"`
	// PlanHorizon bounds whose jobs are promised a start.
	PlanHorizon int64 `group:"Policy" placeholder:"SECONDS" help:"${run_plan_horizon}"`
	Reorder     bool  `group:"Policy" help:"${run_reorder}"`
	// JitterKeys is a share of the keys of the order.
	JitterKeys float64 `group:"Policy" placeholder:"X" help:"${run_jitter_keys}"`
	priorityFlags
	Plugin      bool     `group:"Policy" help:"Run the policy in a process of its own even if it is linked in."`
	PluginReads []string `group:"Policy" type:"path" placeholder:"PATH" help:"${run_plugin_reads}"`
	PluginDir   []string `group:"Policy" placeholder:"DIR" help:"${run_plugin_dir}"`
	// Deadline limits each decision of a plugin; 0: nothing does.
	Deadline time.Duration `group:"Policy" default:"10s" placeholder:"DURATION" help:"${run_deadline}"`

	estimateFlags

	Fst         fstFlag `group:"Metrics" placeholder:"KINDS" help:"${run_fst}"`
	Eta         etaFlag `group:"Metrics" placeholder:"N" help:"${run_eta}"`
	Bound       int64   `group:"Metrics" default:"10" placeholder:"SECONDS" help:"${run_bound}"`
	CountEvents bool    `group:"Metrics" help:"${run_count_events}"`
	PerUser     bool    `group:"Metrics" help:"With --json: say what each user got."`
	// CompareWithHistory compares with recorded starts.
	CompareWithHistory bool `group:"Metrics" help:"${run_compare_with_history}"`
	OwnError           bool `group:"Metrics" help:"${run_own_error}"`

	JobsOut     string `group:"Output" placeholder:"FILE" help:"${run_jobs_out}"`
	Predictions bool   `group:"Output" help:"${run_predictions}"`
	RawNames    bool   `group:"Output" help:"${run_raw_names}"`
	Gantt       string `group:"Output" placeholder:"FILE" help:"${run_gantt}"`
	Record      string `group:"Output" placeholder:"FILE" help:"${run_record}"`
	Anonymise   bool   `group:"Output" help:"With --record: name users, groups, machines and paths by pseudonyms."`
	JSON        bool   `group:"Output" name:"json" help:"Print the summary as one JSON object."`
	Timing      bool   `group:"Output" help:"${run_timing}"`
	DumpDir     string `group:"Output" default:"." placeholder:"DIR" help:"${run_dump_dir}"`
	DumpRefused string `group:"Output" placeholder:"DIR" help:"${run_dump_refused}"`
	LogLevel    string `group:"Output" enum:"trace,debug,info,warn,error,off" default:"warn" help:"${run_log_level}"`

	cli.PprofFlags
}

// Help is shown below the flags.
func (*runCommand) Help() string {
	return `What to run is named once: as FILE, with --workload, or with --instance. What it holds is seen by how
it begins, whatever its name; condorsim workload formats describes what is read.

Examples:
  condorsim run lublin-128
  xzcat trace.swf.xz | condorsim run - --policy easy
  condorsim run --workload lublin-128 --policy conservative --order sjf --load 1.2 --json
  condorsim run --workload lublin-128 --pool four-nodes --jobs-out jobs.csv --gantt gantt.html
  condorsim run history.long --pool status.long --with 'cpus=64,memory=256GiB,count=4' --without 'old*'
  condorsim run --workload lublin-128 --policy conservative --scale-estimates 0.5
  condorsim run lublin-128 --policy slack --jitter-keys 0.02 --seed 3
  condorsim run pool.rec --policy pc --compare-with-history --own-error
  cat pool.rec.2026* pool.rec | condorsim run - --policy pc
  condorsim run --workload lublin-128 --order wfp --estimates combined --history-share 0.2
  condorsim run --workload lublin-128 --order wfp --estimates combined` +
		` --estimates-opt threshold=20 --history last-year.swf.gz

The settings S001 to S111 of Tang et al., in which actual run times take the place of requests:
  S001  --estimates-running accurate
  S010  --estimates-backfill accurate
  S100  --estimates-order accurate
  S110  --estimates-order accurate --estimates-backfill accurate
  S111  --estimates accurate

` + auto.Help() + `
Decisions that did not count, and that the fallback took instead, are in the summary ("refused" with
--json). A policy that fails in 100 rounds running, or in more than 100 of 10,000, is given up: the
results are the fallback's, and the exit code is 1 then. So it is if the fallback took more than half
of the rounds. --dump-refused DIR writes the rounds that went wrong, to be run alone.

` + negotiator.OrderHelp() + "\n" + estimate.Help()
}

// Run simulates and prints.
//
//nolint:funlen // the steps of a run, in their order
func (c *runCommand) Run(ctx context.Context, p *process) error {
	began := time.Now()
	logger := cli.Logger("condorsim", c.LogLevel, p.errs)
	if err := c.check(); err != nil {
		return cli.Bad(err)
	}
	c.Workload = cmp.Or(c.Workload, c.File)
	if err := c.checkAuto(); err != nil {
		return cli.Bad(err)
	}
	if c.DumpRefused != "" {
		if err := os.MkdirAll(c.DumpRefused, 0o777); err != nil {
			return cli.Bad(fmt.Errorf("--dump-refused: %w", err))
		}
	}
	out, err := c.create()
	if err != nil {
		return cli.Bad(err)
	}
	defer out.discard()
	collectAt(mostPercent) // most of what is read stays
	w, err := c.load(p, logger)
	if err != nil {
		return cli.Bad(err)
	}
	chooser, err := c.chooser(ctx, w, logger)
	if err != nil {
		return cli.Bad(err)
	}
	config, closePolicy, err := c.config(ctx, w, chooser, logger)
	if err != nil {
		return cli.Bad(err)
	}
	defer closePolicy()
	policy := chosenBy(chooser, config.Policy.Spec())
	var estimates *report.Estimates
	settings := c.under(policy, policy.OrderUnless(c.Order), logger)
	if err = c.checkUse(settings, c.Eta != 0); err != nil {
		return cli.Bad(err)
	}
	if config.Estimates, estimates, err = estimatorsOf(settings, w, policy.Guarantees); err != nil {
		return cli.Bad(err)
	}
	if err = warnUnmatched(w, config.Estimates, logger); err != nil {
		return cli.Bad(err)
	}
	counter, err := c.counter(w, &config)
	if err != nil {
		return cli.Bad(err)
	}
	collectSeldom(len(w.Jobs))

	recorder, err := c.recording(w, &config, settings)
	if err != nil {
		return cli.Bad(err)
	}
	timing := c.timed(&config)
	bar := cli.NewProgress("jobs")
	sinks := c.dumping(w, &config, logger, []negotiator.Sink{&progress{bar: bar, total: int64(len(w.Jobs))}})
	result, err := c.simulate(ctx, w, config, choosing(chooser, config, sinks)...)
	bar.Done()
	recorded := ended(recorder) // a full disk takes nothing but the record
	if err != nil {
		return c.saved(err)
	}
	result.Bound = backfill.Time(c.Bound)
	if counter != nil {
		if err = counter.Add(result); err != nil {
			return err
		}
	}
	extras, err := c.extras(ctx, w, result, logger)
	if err != nil {
		return err
	}
	if c.Timing {
		extras.Timing = timing.summary(time.Since(began))
	}
	if err = out.write(c.title(w, policy)+report.ByFallback(result), result); err != nil {
		return err
	}
	if result.Unordered {
		logger.Warn(negotiator.UnorderedText, "order", c.Order)
	}
	run := report.Run{
		Policy: policy.Name, Order: policy.OrderUnless(c.Order), Options: c.PolicyOpt, Estimates: estimates,
		PlanDepth: c.PlanDepth, PlanHorizon: c.PlanHorizon, Reorder: c.Reorder,
	}
	if chooser != nil {
		run.Order, run.Auto = "", chooser.Summary()
	}
	run.Jitter = c.jittered(policy, run.Order, logger)
	if c.Order == negotiator.FairShare {
		run.Priorities = report.PrioritiesOf(c.priorities())
	}
	return cmp.Or(c.print(p.out, run, result, extras), report.NotGivenUp(result), report.OwnResults(result), recorded)
}

// print prints the summary.
func (c *runCommand) print(out io.Writer, run report.Run, result *condorsim.Result, extras *report.Extras) error {
	if c.JSON {
		return report.JSON(out, run, result, extras)
	}
	return report.Table(out, run, result, extras)
}

// title returns the title of the Gantt chart. It names the order if the user or the policy does.
func (c *runCommand) title(w *condorsim.Workload, policy backfill.PolicySpec) string {
	title := w.Name + " under " + policy.Name
	if order := cmp.Or(c.Order, policy.Order); order != "" {
		title += ", order " + order
	}
	return title
}

// mostPercent is the rarest that garbage is collected.
const mostPercent = 400

// collectAt sets by how much memory may grow before garbage is collected, in percent of what stayed
// the last time, unless GOGC or GOMEMLIMIT is set.
func collectAt(percent int64) {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(int(percent))
	}
}

// collectSeldom makes garbage collection as rare as 60 MB of memory and 500 bytes for each job
// allow. It collects once, to know what stays.
func collectSeldom(jobs int) {
	const (
		allowed, perJob = 40 << 20, 260 // bytes; the program and the metrics need the rest
		outcome         = 100           // bytes of a job's result
		least           = 50
	)
	runtime.GC()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	kept := int64(live[0].Value.Uint64()) + outcome*int64(jobs) + 1<<20
	collectAt(min(mostPercent, max(least, 100*(allowed+perJob*int64(jobs))/kept-100)))
}

// outputs are the files that a run writes; nil: not wanted.
type outputs struct {
	jobs  *jobtable.File
	gantt *wholefile.File
}

// create makes the files that are wanted, before the run. None may be an input file.
func (c *runCommand) create() (out outputs, err error) {
	if err = c.spares(append(c.settings().Files(), c.Workload, c.Instance, c.Pool, c.History)...); err != nil {
		return out, err
	}
	if out.jobs, err = c.createJobs(); err != nil {
		return out, err
	}
	if out.gantt, err = c.createGantt(out.jobs.File()); err != nil {
		out.jobs.Discard()
	}
	return out, err
}

// discard removes the files that were not written.
func (o outputs) discard() {
	o.jobs.Discard()
	o.gantt.Discard()
}

// write fills the files.
func (o outputs) write(title string, result *condorsim.Result) error {
	if o.jobs != nil {
		if err := o.jobs.Write(result); err != nil {
			return err
		}
	}
	return writeGantt(o.gantt, title, result)
}

// createJobs creates the table of jobs; nil if none is requested.
func (c *runCommand) createJobs() (*jobtable.File, error) {
	if c.JobsOut == "" {
		return nil, nil //nolint:nilnil // nil is a table that is not wanted
	}
	file, err := jobtable.Create(c.JobsOut)
	if err == nil {
		file.Predictions, file.RawNames = c.Predictions, c.RawNames
	}
	return file, err
}

// config returns the configuration with the policy and its fallback, for the workload's pool, and a
// function that closes the policy. It tells what will run, and in which order.
func (c *runCommand) config(ctx context.Context, w *condorsim.Workload, chooser *auto.Chooser,
	logger hclog.Logger,
) (negotiator.Config, func(), error) {
	none := func() {}
	rule, err := profile.ParseRule(c.Placement)
	if err != nil {
		return negotiator.Config{}, none, err
	}
	if chooser != nil {
		return c.automatic(w, rule, chooser, logger), chooser.Close, nil
	}
	chosen, err := choose.Policy(ctx, c.request(w, logger))
	if err != nil {
		return negotiator.Config{}, none, err
	}
	planning := c.planning()
	spec := chosen.Main.Spec()
	name := spec.OrderUnless(c.Order)
	order, err := w.OrderNamed(name)
	if err != nil {
		chosen.Close()
		return negotiator.Config{}, none, err
	}
	if err = spec.Follows(planning); err != nil {
		chosen.Close()
		return negotiator.Config{}, none, fmt.Errorf("--plan-depth, --plan-horizon, --reorder: %w", err)
	}
	if c.Order != "" && spec.IgnoresOrder && !c.Reorder {
		logger.Warn("the policy ignores the order", "policy", spec.Name, "order", c.Order)
	}
	cli.Tell("running %d jobs of %s on %s, order %s", len(w.Jobs), w.Name, machineText(w), name)
	return negotiator.Config{
		Placement: rule, Order: c.jitter().Of(order), Policy: chosen.Main, Fallback: chosen.Fallback, Planning: planning,
		Trust:   estimate.Trust(c.EstimateTrust),
		Refused: cli.LogRefusals(logger),
	}, chosen.Close, nil
}

// request asks for the policy, for the workload's pool.
func (c *runCommand) request(w *condorsim.Workload, logger hclog.Logger) choose.Request {
	return choose.Request{
		Others: []string{auto.Name},
		Policy: c.Policy, Options: c.PolicyOpt, Resources: w.Schema.Resources, Dirs: c.PluginDir, InProcess: !c.Plugin,
		Plugins: choose.Plugins{Run: host.Options{
			NoMTLS: true, Logger: logger, User: host.Nobody, Reads: c.PluginReads, // the socket is private
			Deadline: cmp.Or(c.Deadline, host.NoDeadline),
		}},
	}
}

// progress advances the bar by the jobs that have ended.
type progress struct {
	bar         *cli.Progress
	done, total int64
}

// Cycle counts the jobs that ended in a cycle.
func (p *progress) Cycle(r *negotiator.Report) error {
	p.done += int64(len(r.Delta.Completed))
	if r.Scavengers != nil {
		p.done += int64(len(r.Scavengers.Completed))
	}
	p.bar.Update(p.done, p.total)
	return nil
}

// planning returns how far a policy that gives guarantees plans.
func (c *runCommand) planning() backfill.Planning {
	return backfill.Planning{Depth: c.PlanDepth, Reorder: c.Reorder, Horizon: backfill.Time(c.PlanHorizon)}
}
