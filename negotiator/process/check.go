package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/active"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
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
	errHTTP := checkHTTP(ctx, &present)
	if err = errors.Join(errClient, errServer, errAccounts, errCollectors, errHTTP); err != nil {
		return err
	}
	if err = o.Start(ctx, s); err == nil {
		o.Close()
	}
	return err
}

// slotPatience limits the time to ask the collector for the slots.
const slotPatience = 20 * time.Second

// CheckSlots asks the collector of the pool that [Check] found right for the slots, and warns of what
// startds are configured to and what has no effect, or costs starts: a RANK, and where claims are lent
// a START that does not let them end. If the collector does not answer, that is the warning.
func CheckSlots(ctx context.Context, from *source.Settings, log io.Writer) error {
	s, err := from.Read()
	if err != nil {
		return err
	}
	present := daemon.Site{Config: from.HTCondor(), Settings: s}
	if err = present.ReadSecrets(); err != nil {
		return err
	}
	secure, errClient := present.Client()
	collectors, errCollectors := present.Collectors()
	if err = errors.Join(errClient, errCollectors); err != nil {
		return err
	}
	pool := &client.Collector{Security: secure, Addresses: collectors, Locate: func() (cedar.Address, error) {
		return daemon.LocateCollector(present.Config)
	}}
	ctx, cancel := context.WithTimeout(ctx, slotPatience)
	defer cancel()
	logger := cli.Logger("negotiator", cmp.Or(s.LogLevel, "warn"), log)
	for _, warning := range checkSlots(ctx, pool, s.Lease > 0) {
		logger.Warn(warning)
	}
	return nil
}

// checkSlots returns the warnings about the slots of a pool where claims are lent, or not.
func checkSlots(ctx context.Context, pool *client.Collector, lent bool) (warnings []string) {
	deaf := map[string]bool{}
	types := []client.AdType{{
		Name: "Machine", Projection: []string{"Machine", "Start"}, Requirements: `SlotType isnt "Dynamic"`,
	}}
	err := pool.Query(ctx, types, func(lines cedar.Lines) error {
		ad, wrong := classad.ParseOld(string(lines))
		if wrong != nil {
			return nil //nolint:nilerr // another warning is about ads that cannot be read
		}
		machine, _ := ad.Text("Machine")
		if start, set := ad.Lookup("Start"); !set || !condorconfig.HeedsLeases(start.String()) {
			deaf[machine] = true
		}
		return nil
	})
	if err != nil {
		return []string{"the collector does not tell how START of the slots is set: " + err.Error()}
	}
	if lent && len(deaf) > 0 {
		warnings = append(warnings, "START of "+machines(deaf)+" does not heed leases, so each of many short jobs there "+
			"waits for a match of its own, unless all of its user's jobs are alike: add this line to the configuration of these machines, after all others "+
			"about START, and run condor_reconfig there: "+condorconfig.StartLine+"; or set BACKFILL_LEASE_TIME = 0, if "+
			"that is how it should be")
	}
	return warnings
}

// machines says how many machines there are, and names the first.
func machines(all map[string]bool) string {
	first := slices.Sorted(maps.Keys(all))[0]
	if len(all) == 1 {
		return first
	}
	return fmt.Sprintf("%d machines, such as %s,", len(all), first)
}
