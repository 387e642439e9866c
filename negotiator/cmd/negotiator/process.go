package main

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
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

// openState opens what outlives the process, and the accounting in it. Without a
// folder of its own it does not. Who observes has another folder: the one at work
// locks its own.
func (p *process) openState() (err error) {
	folder := p.site.Settings.State
	if folder == "" {
		if folder, err = os.MkdirTemp("", "negotiator-"); err != nil {
			return err
		}
		p.passing = folder
	} else if p.site.Settings.Observe {
		folder += "-observe"
	}
	if p.state, err = daemon.OpenState(folder, p.logger); err != nil {
		return err
	}
	settings, err := p.accounting(p.site.Config)
	if err != nil {
		return cli.Bad(err)
	}
	if p.accountant, err = accountant.Open(p.state.DB, settings); err != nil {
		return err
	}
	order := negotiator.OrderBy(func(j *backfill.Job, now backfill.Time) (float64, bool) { return (*p.key.Load())(j, now) })
	p.fairShare = &order
	return nil
}

// learnFrom has the estimators begin with what is known beforehand: from a file, then
// from what negotiators before this one saw.
func (p *process) learnFrom() error {
	kept, err := p.state.Learned()
	if err != nil {
		return err
	}
	until := backfill.Time(time.Now().Unix())
	for e := range kept.All() { // the file's come before, or these would seem as new
		until = e.At
		break
	}
	ended, err := p.past(p.site.Settings, until)
	if err != nil {
		return cli.Bad(err)
	}
	p.history = estimate.NewHistory(0)
	for _, e := range ended {
		p.history.Add(e)
	}
	for e := range kept.All() {
		p.history.Add(e)
	}
	if p.history.Len() > 0 {
		p.logger.Info("run times are known", "jobs", p.history.Len(), "since_former_starts", kept.Len())
	}
	return nil
}

// accounting is what HTCondor's configuration says of the accounting.
func (p *process) accounting(c *condorconfig.Config) (accountant.Settings, error) {
	settings, err := accountant.ParseSettings(c.Lookup)
	if err != nil {
		return settings, err
	}
	settings.NegotiatorName = p.site.Name(p.command.Name)
	for _, warning := range settings.Warnings {
		p.logger.Warn(warning)
	}
	return settings, nil
}

// newPool is the pool as these settings see it.
func (p *process) newPool(collector *client.Collector, secure *security.Client, schema negotiator.Schema) daemon.Pool {
	s := p.site.Settings
	settings := htcondor.Settings{
		Collector: collector, Security: secure, Schema: schema,
		SlotConstraint: p.site.Config.Text("NEGOTIATOR_SLOT_CONSTRAINT"), JobConstraint: p.site.Config.Text("NEGOTIATOR_JOB_CONSTRAINT"),
		Observe: s.Observe, Interval: time.Duration(s.Interval), MinInterval: time.Second, StartSlack: seconds(s.StartSlack), DefaultEstimate: seconds(s.DefaultEstimate), Logger: p.logger,
	}
	settings.Accounting = htcondor.Accounting{Accountant: p.accountant, Limits: accountant.NewLimits(p.lookup)}
	if text, ok := strings.CutPrefix(s.Order, "expr:"); ok {
		if e, err := classad.ParseExpr(text); err == nil { // it was checked before
			settings.Extra = append(settings.Extra, e)
		}
	}
	pool := htcondor.New(settings)
	key := pool.FairShare().Of(nil, nil)
	p.key.Store(&key)
	return pool
}

// lookup is a knob as it is configured now.
func (p *process) lookup(knob string) (string, bool) {
	if c := p.command.htcondor.Load(); c != nil {
		return c.Lookup(knob)
	}
	return "", false
}

// port is the command port.
func (p *process) port(reconfigure func()) *server.Port {
	p.who.Store(p.site.Config.Permissions())
	commands := &server.Negotiator{
		Reschedule: p.daemon.Wakeup, Ad: p.daemon.Ad, Plans: p.daemon.Plans, Accountant: p.accountant, Reconfig: reconfigure,
		Off: func(server.Stop) { p.daemon.Off() },
	}
	return &server.Port{Security: p.site.Server(&p.who), Handlers: commands.Handlers(), Logger: p.logger.Named("port")}
}

// writeAddress leaves the command port's address where HTCondor's tools look for
// it.
func (p *process) writeAddress(address string) {
	if p.site.Inherited.Parent == 0 {
		return
	}
	path := p.site.Config.Text("NEGOTIATOR_ADDRESS_FILE")
	text := fmt.Sprintf("%s\n%s\n%s\n", address, security.Version, daemon.Platform)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.logger.Warn("the command port's address could not be written down", "error", err)
	}
}

// reconfigure reads HTCondor's configuration anew whenever it is told to, and has
// the policy taken up anew.
func (p *process) reconfigure(ctx context.Context, told <-chan os.Signal, again chan<- os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-told:
		}
		if err := p.reread(ctx); err != nil {
			p.logger.Error("nothing is changed: HTCondor's configuration cannot be taken up", "error", err)
			continue
		}
		p.daemon.Configured()
		select {
		case again <- syscall.SIGHUP:
		case <-ctx.Done():
			return
		}
	}
}

// reread takes up what can change of HTCondor's configuration.
func (p *process) reread(ctx context.Context) error {
	if p.command.htcondor.Load() == nil {
		return nil
	}
	next, err := condorconfig.Read(ctx, condorconfig.Source{LocalName: p.command.LocalName})
	if err == nil {
		err = next.Check()
	}
	if err != nil {
		return err
	}
	p.command.htcondor.Store(next)
	p.who.Store(next.Permissions())
	for _, warning := range next.Unknown() {
		p.logger.Warn(warning)
	}
	if p.file != nil {
		size, errSize := next.Bytes("MAX_NEGOTIATOR_LOG")
		keep, errKeep := next.Int("MAX_NUM_NEGOTIATOR_LOG")
		if err = errors.Join(errSize, errKeep); err == nil {
			err = p.file.Reopen(size, int(keep))
		}
	}
	settings, wrong := p.accounting(next)
	if wrong == nil {
		wrong = p.accountant.Configure(settings)
	}
	return errors.Join(err, wrong)
}
