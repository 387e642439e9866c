package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/active"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/broker"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/witness"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/access"
	"github.com/condor-backfill/condor-backfill/negotiator/record"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
)

// Options say how the daemon runs.
type Options struct {
	Source    *source.Settings
	Name      string // the negotiator's name in the pool; "": the configured one
	LocalName string // whose settings in HTCondor's configuration count; "": everybody's
	Terminal  bool   // log to the terminal, whatever is configured
	Log       io.Writer
	// Zone is the local time zone of expressions.
	Zone *time.Location
	// Once has it make one cycle; then Plan prints what it planned.
	Once bool
	Plan func([]daemon.JobForecast) error
	// ReadEnded reads the history from which estimators learn at the start.
	ReadEnded active.ReadEnded
}

// process is a daemon and all that belongs to it.
type process struct {
	active.Activator
	options    Options
	site       daemon.Site
	file       *daemon.LogFile                // nil: the log goes to the terminal
	matchLog   atomic.Pointer[daemon.LogFile] // nil: there is none
	noting     atomic.Bool                    // the log has lines about matches, too
	notes      daemon.Notes
	state      *daemon.State
	record     *witness.Record  // nil: none is kept
	recorder   *record.Recorder // nil: no record is written
	accountant *accountant.Accountant
	temporary  string                                      // a folder for this run only; "": there is none
	key        atomic.Pointer[backfill.Order]              // the queue's order by the pool's fair share
	submitter  atomic.Pointer[func(backfill.JobID) string] // of a job, in the pool
	who        atomic.Pointer[condorconfig.Permissions]
	limits     *accountant.Limits
	secure     *security.Client
	server     *security.Server
	collector  *client.Collector
	daemon     *daemon.Daemon
	sending    server.Sending    // of answers
	hidden     *access.Aliases   // pseudonyms in what is told over HTTP
	callbacks  *broker.Callbacks // from daemons behind brokers
	// present is the site as it is configured now, former the one before the last reload; site is
	// the one at the start.
	present, former daemon.Site

	rereading sync.Mutex
	again     chan os.Signal // requests a reload of the policy
}

// gcPercent is GOGC unless the environment sets it. The low value keeps memory small: a central
// manager has less memory to spare than processor time, as a negotiator mostly sleeps.
const gcPercent = 30

// Run runs the daemon until it ends.
func Run(ctx context.Context, o Options) error {
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
	p := &process{options: o, Activator: active.Activator{Source: o.Source}, notes: daemon.NewNotes(time.Now)}
	p.LogLevel = p.debugLevel
	p.site.Inherited = inherited
	if err = p.configure(ctx); err != nil {
		p.tell(err)
		return cli.Bad(err)
	}
	defer p.close()
	if err = p.run(ctx, signals); err != nil {
		if p.file != nil {
			p.Logger.Error("ending", "error", err)
		}
		if _, rival := errors.AsType[*daemon.RivalError](err); rival || errors.Is(err, daemon.ErrInUse) {
			return cli.Bad(err)
		}
	}
	return err
}

// configure reads the configuration, gives up the rights of root, and opens the log.
func (p *process) configure(ctx context.Context) (err error) {
	p.site.Config = condorconfig.Parse("", "")
	pool := ""
	if p.Source.Pool != nil {
		pool = *p.Source.Pool
	}
	if pool == config.LocalPool || pool == "" {
		p.site.Config, err = condorconfig.Read(ctx, condorconfig.Source{LocalName: p.options.LocalName})
		if errors.Is(err, condorconfig.ErrNone) {
			return fmt.Errorf("%w. A simulated pool has no --state, --token, --observe, --once, --name, "+
				"--local-name and -t: leave them out", err)
		}
		if err != nil {
			return err
		}
		p.Source.Use(p.site.Config)
	}
	if p.site.Settings, err = p.Source.Read(); err != nil {
		return err
	}
	if err = errors.Join(p.site.Config.Check(), p.site.ReadSecrets()); err != nil {
		return err
	}
	if err = p.giveUpRoot(); err != nil {
		return err
	}
	return p.openLog()
}

// giveUpRoot becomes HTCondor's user, if root runs us with HTCondor's configuration.
func (p *process) giveUpRoot() error {
	if os.Geteuid() != 0 || p.Source.HTCondor() == nil {
		return nil
	}
	owner, err := daemon.Owner(p.site.Config.Text("CONDOR_IDS"))
	if err != nil {
		return err
	}
	return daemon.Become(owner)
}

// close ends the policy and closes the state and the log.
func (p *process) close() {
	if p.Policy != nil {
		p.Close()
	}
	if p.recorder != nil {
		_ = p.recorder.Close() // whatever stopped it was told
	}
	if p.record != nil {
		if err := p.record.Close(); err != nil {
			p.Logger.Warn("the end of the observer's record could not be written", "error", err)
		}
	}
	if p.state != nil {
		if err := p.state.Close(); err != nil {
			p.Logger.Warn("the state was not closed as it should be", "error", err)
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
	listener, address, err := p.site.Listen(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // unless it served, and is closed
	p.introduce(address.String())
	p.callbacks = &broker.Callbacks{Address: address.String(), Name: "NEGOTIATOR", Logger: p.Logger, Now: time.Now}
	p.site.Reverse = p.callbacks.Reverse
	p.Logger.Info("starting", "pid", os.Getpid(), "uid", os.Getuid(), "policy", s.Policy, "order", order, "estimates",
		s.EstimateSettings().Summary(false, 0), "observe", s.Observe, "state", cmp.Or(p.folder(), "none"))
	for _, warning := range p.site.Config.Warnings() {
		p.Logger.Warn(warning)
	}
	if err = p.prepare(ctx); err != nil {
		return err
	}
	rule, err := profile.ParseRule(s.Placement)
	if err != nil {
		return cli.Bad(err)
	}
	p.limits, p.present, p.again = accountant.NewLimits(p.lookup), p.site, make(chan os.Signal, 1)
	changes := make(chan negotiator.Change)
	p.daemon = p.newDaemon(address.String(), rule, changes)
	return p.serve(ctx, listener, address, signals, changes)
}

// introduce says who we are and where, before anything that takes time: until then HTCondor's tools
// look for the negotiator that was here before.
func (p *process) introduce(address string) {
	if p.file != nil {
		for _, line := range daemon.Banner(os.Getpid(), address) {
			p.Logger.Info(line)
		}
	}
	p.writeAddress(address)
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
	p.collector = &client.Collector{Security: p.secure, Addresses: addresses, Locate: func() (cedar.Address, error) {
		return daemon.LocateCollector(p.Source.HTCondor())
	}}
	p.Resources, p.Labels = append(slices.Clone(s.Resources), observe.Claims),
		append(s.Schema().Labels, observe.Labels()...)
	if err = p.learnFrom(); err != nil {
		return err
	}
	if err = p.Start(ctx, s); err == nil {
		err = p.openRecorder()
	}
	return cli.Bad(err)
}

// newDaemon makes the daemon, which takes changes of the policy from the channel.
func (p *process) newDaemon(address string, rule profile.Rule, changes <-chan negotiator.Change) *daemon.Daemon {
	s := p.site.Settings
	p.hidden = access.NewAliases(access.Names(s.HTTPNames))
	schema := s.Schema()
	schema.Resources = p.Resources
	return daemon.New(daemon.Options{
		Sending: &p.sending, Aliases: p.hidden,
		Name: p.site.Name(p.options.Name), Host: p.site.Host(), Address: address,
		Negotiator: negotiator.Config{
			Schema: schema, Placement: rule, Order: p.Order, Policy: p.Deciders.Main, Fallback: p.Deciders.Fallback,
			Planning: p.Settings.Planning(), Estimates: p.Estimates,
			Trust:           estimate.Trust(s.EstimateTrust),
			DefaultEstimate: seconds(s.DefaultEstimate), StartSlack: seconds(s.StartSlack), Refused: p.Refused,
			Changes: changes, World: negotiator.World{Zone: p.options.Zone}, Recorder: p.recording(),
		},
		Policy:    func() (string, string) { return p.InCharge() },
		About:     func() (string, string) { return p.About(aboutWidth), p.Process() },
		InForce:   func() negotiator.Change { return p.Change() },
		Chooser:   func() *auto.Chooser { return p.Chooser },
		NewPool:   func() daemon.Pool { return p.newPool(schema) },
		Collector: p.collector, Answers: daemon.Answers(p.secure), Standards: daemon.AskStandards(p.secure), Plans: daemon.AskPlans(p.secure), Master: p.site.Master(p.secure),
		Sessions:  func() int { return p.secure.Sessions() + p.server.Sessions() },
		Callbacks: p.callbacks.Counts,
		Parent:    p.site.Inherited.Parent,
		State:     p.state, Accountant: p.accountant, Observe: s.Observe, Once: p.options.Once, Record: p.record,
		Tuning: tuning(s, p.site.Config), Logger: p.Logger,
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
	again := p.again
	port, commands := p.port(func() {
		select {
		case signals <- syscall.SIGHUP:
		default: // a signal waits already
		}
	})
	if p.site.Settings.HTTP != "" && !p.options.Once {
		wait, failed := p.serveHTTP(ctx, commands)
		if failed != nil {
			return failed
		}
		defer wait()
	}
	helpers.Go(func() { p.Reload(ctx, again, changes) })
	helpers.Go(func() { p.reconfigure(ctx, signals, again) })
	helpers.Go(func() {
		if failed := port.Serve(ctx, listener); failed != nil {
			p.Logger.Error("the command port is closed", "error", failed)
		}
	})
	p.Logger.Info("listening", "address", address)
	err := p.daemon.Run(ctx)
	if err == nil && p.options.Once {
		return p.plan()
	}
	return err
}

// plan prints the plan that was made once.
func (p *process) plan() error {
	plan, err := p.daemon.Forecast()
	if err != nil {
		return err
	}
	return p.options.Plan(plan.Jobs)
}

func seconds(d time.Duration) backfill.Time { return backfill.Time(d / time.Second) }
