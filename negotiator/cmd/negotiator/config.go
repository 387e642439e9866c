package main

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// configCommands are the commands about configuration files.
type configCommands struct {
	Check configCheck `cmd:"" help:"Say whether a configuration file is right."`
}

// configCheck is negotiator config check.
type configCheck struct {
	File string `arg:"" optional:"" help:"YAML file; without one, HTCondor's configuration on this machine."`
}

// Help is shown below the flags.
func (*configCheck) Help() string {
	return `It does all that a start would: it reads the pool and the workload, and starts and ends the plugin.
For a real pool it reads HTCondor's configuration, and speaks to no daemon.

` + condorconfig.Help()
}

// Run does all that a start would, and then ends the policy.
func (c *configCheck) Run(ctx context.Context) error {
	flags := &poolFlags{Config: c.File}
	onReal, err := flags.onRealPool()
	if err != nil {
		return cli.Bad(err)
	}
	what := c.File
	if onReal || c.File == "" {
		if what == "" {
			what = "HTCondor's configuration"
		}
		err = flags.checkReal(ctx)
	} else {
		var p *prepared
		if p, err = flags.prepare(ctx, "warn"); err == nil {
			p.policy.Close()
		}
	}
	if err != nil {
		return cli.Bad(err)
	}
	_, err = os.Stdout.WriteString(what + ": ok\n")
	return err
}

// checkReal checks the configuration for a real pool, and starts and ends the policy.
func (c *poolFlags) checkReal(ctx context.Context) error {
	local := config.LocalPool
	site, err := condorconfig.Read(ctx, condorconfig.Source{})
	switch {
	case err == nil:
		c.htcondor.Store(site)
		err = site.Check()
	case errors.Is(err, condorconfig.ErrNone) && c.Config != "": // it may stand alone
		site, err = condorconfig.Parse("", ""), nil
	}
	if err != nil {
		return err
	}
	if c.Config == "" {
		c.Pool = &local
	}
	s, err := c.settings()
	if err != nil {
		return err
	}
	o := &activator{
		flags: c, logger: cli.Logger("negotiator", cmp.Or(s.LogLevel, "warn"), os.Stderr),
		resources: append(s.Resources, observe.Claims),
	}
	o.fairShare = new(negotiator.Order)
	for _, warning := range site.Warnings() {
		o.logger.Warn(warning)
	}
	present := daemon.Site{Config: site, Settings: s}
	_, errClient := present.Client()
	_, errServer := present.Server(nil)
	_, errAccounts := accountant.ParseSettings(site.Lookup)
	var errCollectors error
	if c.htcondor.Load() != nil {
		_, errCollectors = present.Collectors()
	}
	if err = errors.Join(errClient, errServer, errAccounts, errCollectors); err != nil {
		return err
	}
	if o.active, err = o.startPolicy(ctx, s); err == nil {
		o.policy.Close()
	}
	return err
}
