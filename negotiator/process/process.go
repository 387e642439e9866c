package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/broker"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/witness"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
)

// ObserverSuffix is what an observer's folder has behind the name of the configured one.
const ObserverSuffix = "-observe"

// folder is where the state is kept. A negotiator that only observes has another folder, as one
// that makes matches locks its folder.
func (p *process) folder() string {
	folder := p.site.Settings.State
	if folder != "" && p.site.Settings.Observe {
		folder += ObserverSuffix
	}
	return folder
}

// openState opens the state, which outlives the process, and the accounting in it. If no folder is
// configured, it uses a temporary one.
func (p *process) openState(ctx context.Context) (err error) {
	folder := p.folder()
	if folder == "" {
		if folder, err = os.MkdirTemp("", "negotiator-"); err != nil {
			return err
		}
		p.temporary = folder
	}
	if p.state, err = daemon.OpenState(ctx, folder, p.Logger); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return cli.Bad(fmt.Errorf("BACKFILL_STATE (--state): %w", err))
	}
	if err = p.openRecord(folder); err != nil {
		return err
	}
	settings, err := p.accounting(p.site.Config)
	if err != nil {
		return cli.Bad(err)
	}
	if p.accountant, err = p.state.Accountant(settings); err != nil {
		return err
	}
	order := negotiator.OrderOfCycle(func(j *backfill.Job, at backfill.Moment) (float64, backfill.Moves) {
		return (*p.key.Load())(j, at)
	})
	p.FairShare = &order
	p.Users = &auto.Users{
		Of:       func(id backfill.JobID) string { return (*p.submitter.Load())(id) },
		Priority: p.accountant.Priority,
	}
	return nil
}

// openRecord opens the record of an observer in the state's folder, unless that is a temporary one, or
// one cycle is enough.
func (p *process) openRecord(folder string) (err error) {
	s := p.site.Settings
	if !s.Observe || s.ObserverRecord == 0 || p.temporary != "" || p.options.Once {
		return nil
	}
	p.record, err = witness.Open(folder, int64(s.ObserverRecord)<<20)
	return err
}

// learnFrom collects the ended jobs that the estimators learn from at the start: first those of the
// history file, then those of earlier negotiators.
func (p *process) learnFrom() error {
	kept, err := p.state.Learned()
	if err != nil {
		return err
	}
	until := backfill.Time(time.Now().Unix())
	for e := range kept.All() { // the jobs in the file end before the first of these
		until = e.At
		break
	}
	ended, err := p.Past(p.site.Settings, until, p.options.ReadEnded)
	if err != nil {
		return cli.Bad(err)
	}
	p.History = estimate.NewHistory(0)
	for _, e := range ended {
		p.History.Add(e)
	}
	for e := range kept.All() {
		p.History.Add(e)
	}
	if p.History.Len() > 0 {
		p.Logger.Info("run times are known", "jobs", p.History.Len(), "since_former_starts", kept.Len())
	}
	return nil
}

// accounting reads the accountant's settings from HTCondor's configuration.
func (p *process) accounting(c *condorconfig.Config) (accountant.Settings, error) {
	settings, err := accountant.ParseSettings(c.Lookup)
	if err != nil {
		return settings, err
	}
	settings.NegotiatorName = p.site.Name(p.options.Name)
	for _, warning := range settings.Warnings {
		p.Logger.Warn(warning)
	}
	return settings, nil
}

// newPool makes the real pool, whose ads the schema reads, and takes the fair-share order from it.
func (p *process) newPool(schema negotiator.Schema) daemon.Pool {
	s := p.site.Settings
	settings := htcondor.Settings{
		Name: p.site.Name(p.options.Name), Collector: p.collector, Security: p.secure, Schema: schema,
		Observe: s.Observe, Once: p.options.Once, StartSlack: seconds(s.StartSlack),
		DefaultEstimate: seconds(s.DefaultEstimate), Zone: p.options.Zone, Logger: p.Logger, Notes: p.note,
		CPU: daemon.CPU, Timed: daemon.Timed, Before: p.beforeLook,
		Accounting: track.Accounting{Accountant: p.accountant, Limits: p.limits},
	}
	if text, ok := strings.CutPrefix(s.Order, "expr:"); ok {
		if e, err := classad.ParseExpr(text); err == nil { // it was checked before
			settings.Extra = append(settings.Extra, e)
		}
	}
	pool := htcondor.New(settings)
	key := pool.FairShare().Of(nil, nil, 0, negotiator.World{})
	p.key.Store(&key)
	submitter := pool.Submitter
	p.submitter.Store(&submitter)
	return pool
}

// tuning returns the settings that can change while the daemon runs.
func tuning(s config.Config, c *condorconfig.Config) daemon.Tuning {
	t := daemon.Tuning{
		Tuning: htcondor.Tuning{Look: s.Look, Handover: s.Handover, Pace: s.Pace}, Telling: s.Telling, Own: s.Own,
	}
	if c != nil {
		t.UserMaps, _ = c.UserMaps() // it was checked before
	}
	return t
}

// lookup returns a knob of HTCondor's configuration as it is now.
func (p *process) lookup(knob string) (string, bool) {
	if c := p.Source.HTCondor(); c != nil {
		return c.Lookup(knob)
	}
	return "", false
}

// port makes the command port, which calls the callback at condor_reconfig, and what answers there.
func (p *process) port(reconfigure func()) (*server.Port, *server.Negotiator) {
	p.permit(p.site.Config)
	commands := &server.Negotiator{
		Reschedule: p.daemon.Wakeup, Ad: p.daemon.Ad, Plans: p.daemon.Plans, WhatIf: p.daemon.WhatIf,
		Drain: p.daemon.Drain, Drains: p.daemon.Drains,
		Accountant: p.accountant,
		Resources:  p.daemon.Resources, Reconfig: reconfigure,
		Off: func(server.Stop) { p.daemon.Off() },
	}
	if p.Source.HTCondor() != nil {
		commands.Configuration = configuration{p.Source}
	}
	handlers := commands.Handlers()
	handlers[broker.ReverseConnect] = p.callbacks.Handler()
	return &server.Port{
		Security: p.server, Handlers: handlers, Logger: p.Logger.Named("port"), Sending: &p.sending,
	}, commands
}

// configuration is HTCondor's configuration as it is now, for the command port.
type configuration struct{ now *source.Settings }

func (c configuration) Setting(name string) (server.Setting, bool) {
	s, known := c.now.HTCondor().Setting(name)
	return server.Setting(s), known
}

func (c configuration) Names() []string { return c.now.HTCondor().Names() }

// permit sets who may give commands.
func (p *process) permit(c *condorconfig.Config) {
	who := daemon.Permissions(c)
	p.who.Store(who)
	for _, warning := range who.Warnings {
		p.Logger.Warn(warning)
	}
}

// writeAddress writes the command port's address to the file where HTCondor's tools look for it.
func (p *process) writeAddress(address string) {
	if p.site.Inherited.Parent == 0 {
		return
	}
	path := p.site.Config.Text("NEGOTIATOR_ADDRESS_FILE")
	text := fmt.Sprintf("%s\n%s\n%s\n", address, security.Version, daemon.Platform)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.Logger.Warn("the command port's address could not be written down", "error", err)
	}
}

// reconfigure reads HTCondor's configuration anew at each signal, and then requests a reload of the
// policy.
func (p *process) reconfigure(ctx context.Context, signals <-chan os.Signal, again chan<- os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		if err := p.reread(ctx); err != nil {
			p.Logger.Error("nothing is changed: HTCondor's configuration cannot be taken up", "error", err)
			continue
		}
		p.Logger.Info("the configuration is taken up; policy, order, estimates and log level follow")
		select {
		case again <- syscall.SIGHUP:
		case <-ctx.Done():
			return
		}
	}
}

// beforeLook reads HTCondor's configuration before each look at the pool, if that is how the site wants
// it, and takes it up if it has changed.
func (p *process) beforeLook(ctx context.Context) {
	present := p.Source.HTCondor()
	if present == nil {
		return
	}
	if before, err := present.Bool("NEGOTIATOR_READ_CONFIG_BEFORE_CYCLE"); err != nil || !before {
		return
	}
	next, err := condorconfig.Read(ctx, condorconfig.Source{LocalName: p.options.LocalName})
	if err == nil && condorconfig.Same(next, present) || ctx.Err() != nil {
		return
	}
	if err == nil {
		err = p.reread(ctx)
	}
	if err != nil {
		p.Logger.Error("nothing is changed: HTCondor's configuration cannot be taken up", "error", err)
		return
	}
	p.Logger.Info("the configuration has changed and is taken up; policy, order, estimates and log level follow")
	select {
	case p.again <- syscall.SIGHUP:
	default: // a reload waits already
	}
}

// reread reads HTCondor's configuration anew and applies all that can change, or nothing on an
// error. Without HTCondor's configuration it does so with the YAML file.
func (p *process) reread(ctx context.Context) error {
	p.rereading.Lock()
	defer p.rereading.Unlock()
	former := p.Source.HTCondor()
	if former == nil {
		s, err := p.Source.Read()
		if err == nil {
			p.daemon.Configure(tuning(s, nil))
		}
		return err
	}
	next, err := condorconfig.Read(ctx, condorconfig.Source{LocalName: p.options.LocalName})
	if err != nil {
		return err
	}
	p.Source.Use(next)
	if err = p.apply(next); err != nil {
		p.Source.Use(former)
		p.limits.Reread() // a limit may have been read meanwhile
	}
	return err
}

// apply checks a configuration, and then makes all parts of the process use it.
func (p *process) apply(next *condorconfig.Config) error {
	s, err := p.Source.Read()
	if err = errors.Join(err, next.Check()); err != nil {
		return err
	}
	s, _ = s.During(p.site.Settings) // startConfigured reports the rest
	site := daemon.Site{Config: next, Settings: s, Inherited: p.site.Inherited, Reverse: p.site.Reverse}
	accounting, err := p.accounting(next)
	if err == nil {
		err = site.ReadSecrets()
	}
	if err != nil {
		return err
	}
	client, errClient := site.Client()
	guard, errGuard := site.Server(&p.who)
	collectors, errCollectors := site.Collectors()
	if err = errors.Join(errClient, errGuard, errCollectors); err == nil {
		err = p.accountant.Configure(accounting)
	}
	if err != nil {
		return errors.Join(err, site.Forget())
	}
	p.secure.Succeed(client)
	p.server.Succeed(guard)
	p.permit(next)
	p.collector.Relocate(collectors)
	p.limits.Reread()
	p.reopenLogs(next)
	p.daemon.Configure(tuning(s, next))
	for _, warning := range next.Warnings() {
		p.Logger.Warn(warning)
	}
	if names := p.site.Differences(next); len(names) > 0 {
		p.Logger.Warn("only a new start changes these knobs, they stay", "knobs", strings.Join(names, ", "))
	}
	err = p.former.Forget() // a handshake may still use the present secrets
	p.former, p.present = p.present, site
	return err
}
