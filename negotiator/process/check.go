package process

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/active"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
)

// Check checks the configuration for a real pool, and starts and ends the policy. Without a file it
// checks that of this machine's HTCondor.
func Check(ctx context.Context, from *source.Settings, log io.Writer) error {
	site, err := condorconfig.Read(ctx, condorconfig.Source{})
	switch {
	case err == nil:
		from.Use(site)
		err = site.Check()
	case errors.Is(err, condorconfig.ErrNone) && from.File != "": // it may stand alone
		site, err = condorconfig.Parse("", ""), nil
	}
	if err != nil {
		return err
	}
	if from.File == "" {
		local := config.LocalPool
		from.Pool = &local
	}
	s, err := from.Read()
	if err != nil {
		return err
	}
	o := &active.Activator{
		Source: from, Logger: cli.Logger("negotiator", cmp.Or(s.LogLevel, "warn"), log),
		Resources: append(s.Resources, observe.Claims), FairShare: new(negotiator.Order),
	}
	for _, warning := range site.Warnings() {
		o.Logger.Warn(warning)
	}
	present := daemon.Site{Config: site, Settings: s}
	_, errClient := present.Client()
	_, errServer := present.Server(nil)
	_, errAccounts := accountant.ParseSettings(site.Lookup)
	var errCollectors error
	if from.HTCondor() != nil {
		_, errCollectors = present.Collectors()
	}
	if err = errors.Join(errClient, errServer, errAccounts, errCollectors); err != nil {
		return err
	}
	if err = o.Start(ctx, s); err == nil {
		o.Close()
	}
	return err
}
