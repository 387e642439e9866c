package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/condorsim/output/report"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// realFlags are settings for real pools.
type realFlags struct {
	Token   *string `group:"Real pool" placeholder:"FILE" help:"${real_token}"`
	State   *string `group:"Real pool" placeholder:"DIR" help:"Where guarantees and usage outlive the process."`
	HTTP    *string `group:"Real pool" name:"http" placeholder:"ADDR" help:"Tell metrics and start times at HOST:PORT."`
	Observe bool    `group:"Real pool" help:"${real_observe}"`
}

// daemonFlags say how a daemon runs. The function stock translates HTCondor's own spellings.
type daemonFlags struct {
	Once      bool   `group:"Real pool" help:"One cycle, print the plan, and exit."`
	Name      string `group:"Real pool" short:"n" help:"The negotiator's name in the pool."`
	LocalName string `group:"Real pool" placeholder:"NAME" help:"${real_local_name}"`
	Terminal  bool   `group:"Real pool" short:"t" help:"Log to the terminal."`
	Front     bool   `short:"f" hidden:"" help:"Stay in the foreground, as always."`
}

// stock translates the arguments that condor_master gives to daemons into ours. If no sub-command
// comes first, and condor_master started us (inherited) or there is a -f, -t or -n, it chooses the
// pool of this machine's HTCondor, unless --pool is given.
func stock(args []string, inherited bool) []string {
	onReal := inherited && (len(args) == 0 || strings.HasPrefix(args[0], "-"))
	var translated []string
	for _, arg := range args {
		switch arg {
		case "-local-name":
			arg = "--local-name"
		case "-f", "-t", "-n":
			onReal = onReal || strings.HasPrefix(args[0], "-")
		}
		translated = append(translated, arg)
	}
	if onReal && !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--pool") }) {
		translated = append([]string{"--pool", config.LocalPool}, translated...)
	}
	return translated
}

// meansRealPool reports whether a flag was given that only a real pool has.
func (c *runCommand) meansRealPool() bool {
	return c.Token != nil || c.State != nil || c.HTTP != nil || c.Observe || c.Once || c.Name != "" ||
		c.LocalName != "" || c.Terminal
}

// onRealPool reports whether the pool is a real one, by the flag or the file.
func (c *poolFlags) onRealPool() (bool, error) {
	if c.Pool != nil {
		return config.ForPool(*c.Pool).OnRealPool(), nil
	}
	if c.Config == "" {
		return false, nil
	}
	s, err := config.Load(c.Config)
	return s.OnRealPool(), err
}

// underFlags returns the configuration that the flags override.
func (c *poolFlags) underFlags() (config.Config, error) {
	onReal, err := c.onRealPool()
	switch {
	case err != nil:
		return config.Config{}, err
	case onReal && c.htcondor.Load() != nil:
		return c.htcondor.Load().Settings(c.Config)
	case onReal && c.Config != "":
		return config.LoadOver(config.ForPool(config.LocalPool), c.Config)
	case onReal:
		return config.ForPool(config.LocalPool), nil
	case c.Config != "":
		return config.Load(c.Config)
	default:
		return config.Default(), nil
	}
}

// process is a daemon and all that belongs to it.
type process struct {
	activator
	command    *runCommand
	site       daemon.Site
	file       *daemon.LogFile                // nil: the log goes to the terminal
	matchLog   atomic.Pointer[daemon.LogFile] // nil: there is none
	state      *daemon.State
	accountant *accountant.Accountant
	temporary  string                         // a folder for this run only; "": there is none
	key        atomic.Pointer[backfill.Order] // the queue's order by the pool's fair share
	who        atomic.Pointer[condorconfig.Permissions]
	limits     *accountant.Limits
	secure     *security.Client
	server     *security.Server
	collector  *client.Collector
	daemon     *daemon.Daemon
	// present is the site as it is configured now, former the one before the last reload; site is
	// the one at the start.
	present, former daemon.Site
}

// gcPercent is GOGC unless the environment sets it. The low value keeps memory small: a central
// manager has less memory to spare than processor time, as a negotiator mostly sleeps.
const gcPercent = 30

// runDaemon runs the daemon until it ends.
func (c *runCommand) runDaemon(ctx context.Context) error {
	inherited, err := daemon.Inherit()
	if err != nil {
		return cli.Bad(err)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	defer signal.Stop(signals)
	p := &process{command: c, activator: activator{flags: &c.poolFlags}}
	p.logLevel = p.debugLevel
	p.site.Inherited = inherited
	if err = p.configure(ctx); err != nil {
		return cli.Bad(err)
	}
	defer p.close()
	if err = p.run(ctx, signals); err != nil {
		if p.file != nil {
			p.logger.Error("ending", "error", err)
		}
		if _, rival := errors.AsType[*daemon.RivalError](err); rival || errors.Is(err, daemon.ErrInUse) {
			return cli.Bad(err)
		}
	}
	return err
}

// configure reads the configuration, gives up the rights of root, and opens the log.
func (p *process) configure(ctx context.Context) (err error) {
	c := p.command
	p.site.Config = condorconfig.Parse("", "")
	pool := ""
	if c.Pool != nil {
		pool = *c.Pool
	}
	if pool == config.LocalPool || pool == "" {
		p.site.Config, err = condorconfig.Read(ctx, condorconfig.Source{LocalName: c.LocalName})
		if errors.Is(err, condorconfig.ErrNone) {
			return fmt.Errorf("%w. A simulated pool has no --http, --state, --token, --observe, --once, --name, "+
				"--local-name and -t: leave them out", err)
		}
		if err != nil {
			return err
		}
		c.htcondor.Store(p.site.Config)
	}
	if p.site.Settings, err = c.settings(); err != nil {
		return err
	}
	if err = errors.Join(p.site.Config.Check(), p.site.ReadSecrets()); err != nil {
		return err
	}
	if os.Geteuid() == 0 && c.htcondor.Load() != nil {
		owner, err := daemon.Owner(p.site.Config.Text("CONDOR_IDS"))
		if err != nil {
			return err
		}
		if err = daemon.Become(owner); err != nil {
			return err
		}
	}
	return p.openLog()
}

// close ends the policy and closes the state and the log.
func (p *process) close() {
	if p.active != nil {
		p.policy.Close()
	}
	if p.state != nil {
		if err := p.state.Close(); err != nil {
			p.logger.Warn("the state was not closed as it should be", "error", err)
		}
	}
	if p.temporary != "" {
		_ = os.RemoveAll(p.temporary) // if it stays, the system cleans it up
	}
	p.closeLogs()
}

// run makes the daemon and everything around it, and runs it until it ends.
func (p *process) run(ctx context.Context, signals chan os.Signal) error {
	s := p.site.Settings
	order := s.OrderUnder(backfill.PolicySpec{}) // on a real pool, no policy's own
	if p.file != nil {
		for _, line := range daemon.Banner(os.Getpid()) {
			p.logger.Info(line)
		}
	}
	p.logger.Info("starting", "pid", os.Getpid(), "uid", os.Getuid(), "policy", s.Policy, "order", order, "estimates",
		summaryOf(s.EstimateSettings(), false, 0), "observe", s.Observe, "state", cmp.Or(p.folder(), "none"))
	for _, warning := range p.site.Config.Warnings() {
		p.logger.Warn(warning)
	}
	if err := p.prepare(ctx); err != nil {
		return err
	}
	rule, err := profile.ParseRule(s.Placement)
	if err != nil {
		return cli.Bad(err)
	}
	listener, address, err := p.site.Listen(ctx)
	if err != nil {
		return err
	}
	p.limits, p.present = accountant.NewLimits(p.lookup), p.site
	changes := make(chan negotiator.Change)
	p.daemon = p.newDaemon(address.String(), rule, changes)
	return p.serve(ctx, listener, address, signals, changes)
}

// prepare opens the state and starts the policy.
func (p *process) prepare(ctx context.Context) error {
	s := p.site.Settings
	if err := p.openState(ctx); err != nil {
		return err
	}
	var err error
	if p.secure, err = p.site.Client(); err != nil {
		return cli.Bad(err)
	}
	if p.server, err = p.site.Server(&p.who); err != nil {
		return cli.Bad(err)
	}
	addresses, err := p.site.Collectors()
	if err != nil {
		return cli.Bad(err)
	}
	p.collector = &client.Collector{Security: p.secure, Addresses: addresses, Locate: p.command.locateCollector}
	p.resources, p.labels = append(slices.Clone(s.Resources), observe.Claims),
		append(s.Schema().Labels, observe.Labels()...)
	if err = p.learnFrom(); err != nil {
		return err
	}
	if p.active, err = p.startPolicy(ctx, s); err != nil {
		return cli.Bad(err)
	}
	name, order := p.asked()
	p.ran = report.Run{Policy: name, Order: order, Options: s.Options}
	return nil
}

// newDaemon makes the daemon, which takes changes of the policy from the channel.
func (p *process) newDaemon(address string, rule profile.Rule, changes <-chan negotiator.Change) *daemon.Daemon {
	s := p.site.Settings
	schema := s.Schema()
	schema.Resources = p.resources
	return daemon.New(daemon.Options{
		Name: p.site.Name(p.command.Name), Host: p.site.Host(), Address: address,
		Negotiator: negotiator.Config{
			Schema: schema, Placement: rule, Order: p.order, Policy: p.policy.Main, Fallback: p.policy.Fallback,
			Planning: p.settings.Planning(), Estimates: p.estimates,
			DefaultEstimate: seconds(s.DefaultEstimate), StartSlack: seconds(s.StartSlack), Refused: p.refused,
			Changes: changes,
		},
		Policy:    func() (string, string) { return p.inCharge() },
		InForce:   func() negotiator.Change { return p.change() },
		Chooser:   func() *auto.Chooser { return p.chooser },
		NewPool:   func() daemon.Pool { return p.newPool(schema) },
		Collector: p.collector, Answers: daemon.Answers(p.secure), Master: p.site.Master(p.secure),
		Sessions: func() int { return p.secure.Sessions() + p.server.Sessions() },
		Parent:   p.site.Inherited.Parent,
		State:    p.state, Accountant: p.accountant, Observe: s.Observe, Once: p.command.Once,
		Tuning: tuning(s), Logger: p.logger,
	})
}

// serve runs the daemon, its command port and its web server, and reloads the configuration at each
// signal, until the daemon ends.
func (p *process) serve(
	ctx context.Context, listener net.Listener, address cedar.Address, signals chan os.Signal,
	changes chan<- negotiator.Change,
) error {
	var helpers sync.WaitGroup
	defer helpers.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s := p.site.Settings; s.HTTP != "" && !p.command.Once {
		wait, failed := p.daemon.Web(ctx, s.HTTP)
		if failed != nil {
			return failed
		}
		defer wait()
	}
	again := make(chan os.Signal, 1)
	port := p.port(func() {
		select {
		case signals <- syscall.SIGHUP:
		default: // a signal waits already
		}
	})
	helpers.Go(func() { p.reload(ctx, again, changes) })
	helpers.Go(func() { p.reconfigure(ctx, signals, again) })
	helpers.Go(func() {
		if failed := port.Serve(ctx, listener); failed != nil {
			p.logger.Error("the command port is closed", "error", failed)
		}
	})
	p.writeAddress(address.String())
	p.logger.Info("listening", "address", address)
	err := p.daemon.Run(ctx)
	if err == nil && p.command.Once {
		err = p.command.printPlan(p.daemon)
	}
	return err
}

func seconds(d time.Duration) backfill.Time { return backfill.Time(d / time.Second) }
