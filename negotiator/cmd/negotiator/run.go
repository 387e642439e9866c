package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/report"
	"github.com/condor-backfill/condor-backfill/configs"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
)

// poolFlags set what is scheduled and how. A flag that is not given leaves the setting as it is
// configured.
type poolFlags struct {
	Config string `placeholder:"FILE" help:"Configuration file (YAML); flags come after it."`
	// htcondor is HTCondor's configuration, once it was read.
	htcondor atomic.Pointer[condorconfig.Config]

	Pool     *string `group:"Pool" placeholder:"FILE" help:"${run_pool}"`
	Workload *string `group:"Pool" placeholder:"FILE" help:"${run_workload}"`
	Speed    *string `group:"Pool" placeholder:"X" help:"Simulated seconds in a second, or max."`

	Policy    *string           `group:"Policy" short:"p" placeholder:"NAME" help:"${run_policy}"`
	PolicyOpt map[string]string `group:"Policy" placeholder:"K=V" mapsep:"none" help:"${run_policy_opt}"`
	Order     *string           `group:"Policy" placeholder:"NAME" help:"${run_order}"`
	Placement *string           `group:"Policy" placeholder:"RULE" help:"How slots are chosen: rank, pack or spread."`
	PluginDir []string          `group:"Policy" placeholder:"DIR" help:"${run_plugin_dir}"`
	InProcess bool              `group:"Policy" help:"${run_in_process}"`

	estimateFlags
	realFlags

	LogLevel *string `group:"Output" placeholder:"LEVEL" help:"trace, debug, info, warn, error or off."`
}

// runCommand is negotiator run.
type runCommand struct {
	poolFlags
	daemonFlags
	JSON bool `group:"Output" name:"json" help:"Print the summary, with --once the plan, as one JSON object."`

	cli.PprofFlags
}

// Help is shown below the flags.
func (*poolFlags) Help() string { return negotiator.OrderHelp() + "\n" + estimate.Help() }

// settings returns the configuration, overridden by the flags.
func (c *poolFlags) settings() (config.Config, error) {
	s, err := c.underFlags()
	if err != nil {
		return s, err
	}
	for _, flag := range []struct {
		value, target *string
	}{
		{c.Pool, &s.Pool},
		{c.Workload, &s.Workload},
		{c.Speed, &s.Speed},
		{c.Policy, &s.Policy},
		{c.Order, &s.Order},
		{c.Placement, &s.Placement},
		{c.LogLevel, &s.LogLevel},
		{c.State, &s.State},
		{c.HTTP, &s.HTTP},
		{c.Token, &s.Token},
	} {
		if flag.value != nil {
			*flag.target = *flag.value
		}
	}
	if c.PolicyOpt != nil {
		s.Options = c.PolicyOpt
	}
	c.over(&s)
	s.Observe = s.Observe || c.Observe
	s.Plugins.Dirs = slices.Concat(c.PluginDir, s.Plugins.Dirs)
	s.Plugins.InProcess = s.Plugins.InProcess || c.InProcess
	return s, c.nameFlags(s.Validate())
}

// Run schedules the pool: a real one until a signal, a simulated one until all its jobs have ended.
func (c *runCommand) Run(ctx context.Context) error {
	if c.Pool == nil && c.Config == "" && c.meansRealPool() {
		local := config.LocalPool
		c.Pool = &local
	}
	switch onReal, err := c.onRealPool(); {
	case err != nil:
		return cli.Bad(err)
	case onReal:
		return c.runDaemon(ctx)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	defer signal.Stop(signals)
	p, err := c.prepare(ctx, "info")
	if err != nil {
		return cli.Bad(err)
	}
	defer func() { p.policy.Close() }()
	result, err := p.showAndReload(ctx, signals)
	if err != nil {
		return err
	}
	p.warnUnordered(result.Unordered)
	if p.chooser != nil {
		p.ran.Auto = p.chooser.Summary()
	}
	if c.JSON {
		return report.JSON(os.Stdout, p.ran, result, nil)
	}
	return report.Table(os.Stdout, p.ran, result, nil)
}

// prepared is a pool with its jobs and a policy, ready to be scheduled.
type prepared struct {
	activator
	speed    float64
	log      *cli.Holdable
	workload *condorsim.Workload
	config   negotiator.Config
}

// prepare reads the pool and the workload and starts the policy. All its errors are caused by the
// input. logLevel is for the case that neither a flag nor a configuration file sets one.
func (c *poolFlags) prepare(ctx context.Context, logLevel string) (*prepared, error) {
	s, err := c.settings()
	if err != nil {
		return nil, err
	}
	p := &prepared{
		activator: activator{flags: c, logLevel: func() string { return logLevel }},
		log:       cli.NewHoldable(os.Stderr),
	}
	p.logger = cli.Logger("negotiator", cmp.Or(s.LogLevel, logLevel), p.log)
	rule, err := profile.ParseRule(s.Placement)
	if err != nil {
		return nil, err
	}
	if p.speed, err = config.ParseSpeed(s.Speed); err != nil {
		return nil, err
	}
	if p.workload, err = c.load(s); err != nil {
		return nil, err
	}
	p.resources, p.labels = p.workload.Schema.Resources, append(s.Schema().Labels, negotiator.EveryLabel()...)
	if err = p.learnFrom(s); err != nil {
		return nil, err
	}
	if p.active, err = p.startPolicy(ctx, s); err != nil {
		return nil, err
	}
	name, order := p.asked()
	p.ran = report.Run{
		Policy: name, Order: order, Options: s.Options,
		Estimates: summaryOf(s.EstimateSettings(), p.guarantees, p.estimates.History().Len()),
	}
	p.config = negotiator.Config{
		Placement: rule, Order: p.order, Policy: p.policy.Main, Fallback: p.policy.Fallback, Estimates: p.estimates,
		Planning: s.Planning(), Actual: p.actual,
		DefaultEstimate: backfill.Time(time.Duration(s.DefaultEstimate) / time.Second), Clock: time.Now,
		Refused: p.refused,
	}
	return p, nil
}

// learnFrom reads the history from which the estimators learn at the start.
func (p *prepared) learnFrom(s config.Config) error {
	if len(p.workload.Jobs) == 0 {
		return nil
	}
	ended, err := p.past(s, p.workload.Jobs[0].Submit)
	p.history = estimate.NewHistory(0)
	for _, e := range ended {
		p.history.Add(e)
	}
	return err
}

// actual returns how long a job will run: at most until its limit.
func (p *prepared) actual(id backfill.JobID) backfill.Time {
	j := p.workload.Jobs[id]
	return min(j.Run, cmp.Or(j.Limit, j.Run))
}

// showAndReload runs the workload, and reloads the configuration at each signal.
func (p *prepared) showAndReload(ctx context.Context, signals <-chan os.Signal) (*condorsim.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	changes := make(chan negotiator.Change)
	p.config.Changes = changes
	var reloading sync.WaitGroup
	reloading.Go(func() { p.reload(ctx, signals, changes) })
	defer reloading.Wait()
	defer cancel()
	return p.show(ctx)
}

// show runs the workload on the simulated pool, in scaled time: on a terminal with a live view,
// elsewhere with log lines.
func (p *prepared) show(ctx context.Context) (*condorsim.Result, error) {
	var watch negotiator.Sink = &logLines{logger: p.logger, w: p.workload}
	if cli.IsTerminal(os.Stdout) && !math.IsInf(p.speed, 0) {
		view := newView(os.Stdout, p.workload, p.settings.Speed)
		view.fallbackInUse, view.news = p.fallbackInUse, p.log.Last
		var twins negotiator.Twins
		defer twins.Close()
		view.look = shortly(ctx, &twins)
		view.policy = func() string {
			width, _ := view.room()
			return p.aboutPolicy(width)
		}
		p.log.Hold() // log lines would damage the picture
		defer p.log.Release()
		defer view.close()
		running, quit := context.WithCancel(ctx)
		defer quit()
		ctx = running
		defer view.interact(ctx, quit)()
		watch = view
	} else {
		about := []any{
			"policy", p.ran.Policy, "order", p.ran.Order, "jobs", len(p.workload.Jobs), "slots", len(p.workload.Slots), "speed",
			p.settings.Speed,
		}
		if !p.estimates.Requested() {
			about = append(about, "estimates", p.ran.Estimates)
		}
		p.logger.Info("scheduling", about...)
	}
	return condorsim.Run(ctx, p.workload, p.config, scaled(p.speed), watch, logLifted{p.logger}, p)
}

// warnUnordered warns if the order's expression gave no job a number, so that it ordered nothing.
func (p *prepared) warnUnordered(unordered bool) {
	if unordered {
		p.logger.Warn(negotiator.UnorderedText, "order", p.settings.Order)
	}
}

// scaled returns a pace at which simulated time passes speed times as fast as real time, from the
// first instant on; nil, no waiting at all, if speed is infinite.
func scaled(speed float64) condorsim.Pace {
	if math.IsInf(speed, 0) {
		return nil
	}
	var began time.Time
	var first backfill.Time
	return func(ctx context.Context, t backfill.Time) error {
		if began.IsZero() {
			began, first = time.Now(), t
		}
		const longest = 1e9 // seconds; more is beyond time.Duration
		due := began.Add(time.Duration(min(float64(t-first)/speed, longest) * float64(time.Second)))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(due)):
			return nil
		}
	}
}

// load reads the pool and its jobs, from files or the built-in ones.
func (c *poolFlags) load(s config.Config) (*condorsim.Workload, error) {
	if s.OnRealPool() {
		return nil, c.locate(fmt.Errorf("pool %s: a real pool cannot be looked at as a simulated one", s.Pool),
			c.Pool != nil, "pool")
	}
	pool, err := readPool(s)
	if err != nil {
		return nil, c.locate(err, c.Pool != nil, "pool")
	}
	w, err := readWorkload(s, pool)
	if err != nil {
		return nil, c.locate(err, c.Workload != nil, "workload")
	}
	return w, nil
}

// readPool reads slot ads or the description of a pool.
func readPool(s config.Config) (*pools.Description, error) {
	file := s.Pool
	if file == "simulated" {
		file = ""
	}
	if _, err := os.Stat(file); file != "" && (err != nil || hasExtension(file, ".yaml", ".yml")) {
		pool, err := pools.Find(file, configs.Files())
		if err == nil { // the description says which resources there are
			pool.Schema.Estimates, pool.Schema.Labels = s.Schema().Estimates, s.Schema().Labels
		}
		return pool, err
	}
	pool := &pools.Description{Schema: s.Schema()}
	err := readAds(file, configs.FourNodes, func(file string, ads iter.Seq2[*classad.ClassAd, error]) (err error) {
		pool.Slots, err = condorsim.SlotsFromAds(file, pool.Schema, ads)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the pool: %w", err)
	}
	return pool, nil
}

// readWorkload reads a trace, or job ads.
func readWorkload(s config.Config, pool *pools.Description) (*condorsim.Workload, error) {
	if hasExtension(s.Workload, ".swf", ".swf.gz") {
		bounds := pool.Bounds()
		read, err := formats.ReadFile(s.Workload, formats.Options{
			Options: workload.Options{CPUs: bounds.Processors, Memory: bounds.Memory},
		})
		if err != nil {
			return nil, fmt.Errorf("read the workload: %w", err)
		}
		return condorsim.OnPool(read.Trace, pool)
	}
	var w *condorsim.Workload
	err := readAds(s.Workload, configs.NPB54, func(file string, ads iter.Seq2[*classad.ClassAd, error]) (err error) {
		w, err = condorsim.FromAds(file, pool.Schema, pool.Slots, ads)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the workload: %w", err)
	}
	w.Bundles, w.Outages, w.GiveUpAfter = pool.Bundles, pool.Outages, pool.GiveUpAfter
	if err = w.CheckChunks(); err != nil {
		return nil, fmt.Errorf("read the workload: %w", err)
	}
	return w, nil
}

// hasExtension reports whether a file's name ends with one of these extensions.
func hasExtension(file string, extensions ...string) bool {
	return slices.ContainsFunc(extensions, func(e string) bool { return strings.HasSuffix(file, e) })
}

// readAds calls the callback with the name and the ads of a file; "" is the built-in file.
func readAds(file, builtIn string, use func(string, iter.Seq2[*classad.ClassAd, error]) error) error {
	var in io.ReadCloser
	var err error
	if file == "" {
		file = builtIn
		in, err = configs.Files().Open(builtIn)
	} else {
		in, err = os.Open(file)
	}
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	return use(file, classad.ReadAds(in, file))
}
