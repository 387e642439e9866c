package main

import (
	"strconv"
	"time"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/record"
	"github.com/condor-backfill/condor-backfill/plugins/version"
)

// recording has the run be recorded, if that is requested; else it returns nil.
func (c *runCommand) recording(w *condorsim.Workload, config *negotiator.Config) (*record.Recorder, error) {
	if c.Record == "" {
		return nil, nil //nolint:nilnil // nil is a record that is not wanted
	}
	settings := map[string]string{"placement": c.Placement}
	for key, value := range map[string]string{
		"order": config.Policy.Spec().OrderUnless(c.Order), "estimates": c.Estimates, "estimates_order": c.EstimatesOrder,
		"estimates_backfill": c.EstimatesBackfill, "estimates_running": c.EstimatesRunning,
		"plan_depth": strconv.Itoa(c.PlanDepth), "plan_horizon": strconv.FormatInt(c.PlanHorizon, 10),
		"reorder": strconv.FormatBool(c.Reorder),
	} {
		if value != "" && value != "0" && value != "false" {
			settings[key] = value
		}
	}
	program, err := version.ID()
	if err != nil {
		return nil, err
	}
	slack := config.StartSlack
	if w.Scavengers != nil {
		slack = max(slack, w.Scavengers.Vacate) // as the run has it
	}
	recorder, err := record.New(record.Options{Path: c.Record, Anonymous: c.Anonymise, Replace: true, Wait: true, Clock: time.Now},
		func() record.About {
			return record.About{
				Program: "condorsim " + program, Pool: w.Name, UnixStart: w.UnixStart,
				StartSlack: slack, DefaultEstimate: config.DefaultEstimate, Settings: settings,
			}
		})
	if err == nil {
		config.Recorder = recorder
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
