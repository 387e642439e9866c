package main

import (
	"cmp"
	"strconv"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/record"
	"github.com/condor-backfill/condor-backfill/plugins/version"
)

// recording has the run be recorded with what it is planned by, if that is requested; else it returns nil.
func (c *runCommand) recording(w *condorsim.Workload, run *negotiator.Config, estimates estimate.Settings,
) (*record.Recorder, error) {
	if c.Record == "" {
		return nil, nil //nolint:nilnil // nil is a record that is not wanted
	}
	settings := map[string]string{"placement": c.Placement}
	for key, value := range map[string]string{
		"order": run.Policy.Spec().OrderUnless(c.Order), "estimates_order": estimates.Order,
		"estimates_backfill": estimates.Backfill, "estimates_running": estimates.Running,
		// The policy's own estimator does not count where it is not in use, as with --fst.
		"estimates":         cmp.Or(estimates.All, "requested"),
		"estimates_options": config.KnobText(estimates.Options),
		"plan_depth":        strconv.Itoa(c.PlanDepth), "plan_horizon": strconv.FormatInt(c.PlanHorizon, 10),
		"reorder": strconv.FormatBool(c.Reorder),
	} {
		if value != "" && value != "0" && value != "false" {
			settings[key] = value
		}
	}
	if c.Order == negotiator.FairShare {
		settings["priority_halflife"] = strconv.FormatInt(int64(c.halfLife()), 10)
		if len(c.PriorityFactor) > 0 && !c.Anonymise { // it names users
			factors := map[string]string{}
			for user, factor := range c.PriorityFactor {
				factors[user] = strconv.FormatFloat(factor, 'g', -1, 64)
			}
			settings["priority_factors"] = config.KnobText(factors)
		}
	}
	program, err := version.ID()
	if err != nil {
		return nil, err
	}
	slack := run.StartSlack
	if w.Scavengers != nil {
		slack = max(slack, w.Scavengers.Vacate) // as the run has it
	}
	recorder, err := record.New(record.Options{Path: c.Record, Anonymous: c.Anonymise, Replace: true, Wait: true, Clock: time.Now},
		func() record.About {
			return record.About{
				Program: "condorsim " + program, Pool: w.Name, UnixStart: w.UnixStart,
				StartSlack: slack, DefaultEstimate: run.DefaultEstimate, Settings: settings,
			}
		})
	if err == nil {
		run.Recorder = recorder
	}
	return recorder, err
}

// ended ends a record, if there is one, and returns what has stopped it.
func ended(recorder *record.Recorder) error {
	if recorder == nil {
		return nil
	}
	return recorder.Close()
}
