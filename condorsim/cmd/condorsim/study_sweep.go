package main

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/sweep"
	"github.com/condor-backfill/condor-backfill/configs"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/plugins/choose"
	"github.com/condor-backfill/condor-backfill/plugins/version"
)

// scales reports whether estimates are scaled.
func (c *studyCommand) scales() bool { return c.ScaleEstimates != 0 && c.ScaleEstimates != 1 }

// The names of the study's traces: the pool as it is, and with each change.
const (
	asItIs     = "as-it-is"
	withMore   = "with"
	withFewer  = "without"
	withScaled = "scaled"
	together   = "together"
)

// sweepOf returns the study as a sweep: its traces are the pool as it is, with each change, and with all
// of them. The options are those of each policy.
func (c *studyCommand) sweepOf(w *condorsim.Workload, options []map[string]string) *sweep.File {
	unless := func(usual, text string) string {
		if text == usual {
			return ""
		}
		return text
	}
	base := sweep.Trace{Name: asItIs, Pool: c.poolFile(), Source: sweep.Source{
		File: c.Workload, CPUs: c.Cpus, Memory: c.Memory, GPUs: c.Gpus, Clean: unless("papers", c.Clean),
		ProcsField: unless("allocated", c.ProcsField), Overrun: unless("raise", c.Overrun), Max: c.Jobs, From: c.From,
		Until: c.Until, EstimateAttr: strings.Join(c.EstimateAttr, ","), Dependencies: unless("honour", c.Dependencies),
		Zone: c.Zone,
	}, History: c.History, HistoryShare: c.HistoryShare}
	f := &sweep.File{Name: "study", PerUser: true, Traces: []sweep.Trace{base}}
	all := base
	all.Name = together
	add := func(wanted bool, name string, change func(*sweep.Trace)) {
		if wanted {
			alone := base
			alone.Name = name
			change(&alone)
			change(&all)
			f.Traces = append(f.Traces, alone)
		}
	}
	add(len(c.With) > 0, withMore, func(t *sweep.Trace) { t.With = c.With })
	add(len(c.Without) > 0, withFewer, func(t *sweep.Trace) { t.Without = c.Without })
	add(c.scales(), withScaled, func(t *sweep.Trace) { t.ScaleEstimates = c.ScaleEstimates })
	if changes := len(f.Traces) - 1; changes > 1 {
		f.Traces = append(f.Traces, all)
	}
	if withStarts(w) > 0 {
		f.Schedulers = append(f.Schedulers, sweep.Scheduler{Policy: condorsim.HistoryPolicy})
	}
	for i, policy := range c.Policies {
		one := sweep.Scheduler{
			Label: filepath.Base(policy), Policy: policy, Options: options[i], Order: c.Order, Placement: c.Placement,
			Estimates: sweep.Estimates{
				Order: c.EstimatesOrder, Backfill: c.EstimatesBackfill, Running: c.EstimatesRunning,
				Options: c.EstimatesOpt, Trust: unless(string(estimate.TrustRecord), c.EstimateTrust),
			},
		}
		if c.Estimates != "" {
			one.All = []string{c.Estimates}
		}
		if c.Order == negotiator.FairShare {
			one.HalfLife, one.Factors = int64(c.halfLife()), c.PriorityFactor
		}
		f.Schedulers = append(f.Schedulers, one)
	}
	return f
}

// poolFile returns the name of the pool as sweeps have it: built-in ones are in a folder.
func (c *studyCommand) poolFile() string {
	if _, err := os.Stat(c.Pool); c.Pool == "" || err == nil {
		return c.Pool
	}
	found, _ := fs.Glob(configs.Files(), path.Join("pools", c.Pool+".*")) // it was read, so it is there
	return append(found, c.Pool)[0]
}

// plan makes the cells of the study's sweep.
func (c *studyCommand) plan(ctx context.Context, w *condorsim.Workload, logger hclog.Logger) (*sweep.Sweep, error) {
	options, err := c.options(ctx, w.Schema.Resources, logger)
	if err != nil {
		return nil, err
	}
	file := c.sweepOf(w, options)
	if err = c.apply(file); err != nil {
		return nil, err
	}
	version, err := version.ID()
	if err != nil {
		return nil, err
	}
	return sweep.Prepare(ctx, file, sweep.Settings{
		Places:   sweep.Places{Dirs: []string{"."}, BuiltIn: configs.Files(), TracePath: configs.TracePath},
		Policies: makePolicies(logger), Version: version, Command: c.command(),
	})
}

// options returns the options of each policy: those of --policy-opt that it has. It is an error if none
// has one.
func (c *studyCommand) options(ctx context.Context, resources []string, logger hclog.Logger,
) ([]map[string]string, error) {
	options := make([]map[string]string, len(c.Policies))
	unknown := maps.Clone(c.PolicyOpt)
	for i, policy := range c.Policies {
		if len(c.PolicyOpt) == 0 {
			break
		}
		spec, err := specOf(ctx, policy, resources, logger)
		if err != nil {
			return nil, err
		}
		options[i] = map[string]string{}
		for _, option := range spec.Options {
			if value, given := c.PolicyOpt[option.Name]; given {
				options[i][option.Name] = value
				delete(unknown, option.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		return nil, fmt.Errorf("--policy-opt %s: none of %s has such an option; negotiator policies lists them", name,
			strings.Join(c.Policies, ", "))
	}
	return options, nil
}

// specOf describes a policy, or what chooses one.
func specOf(ctx context.Context, policy string, resources []string, logger hclog.Logger) (backfill.PolicySpec, error) {
	if policy == auto.Name {
		return auto.Spec(), nil
	}
	spec, _, err := choose.Describe(ctx, pluginRequest(policy, nil, resources, logger))
	return spec, err
}

// command returns a command that repeats the study.
func (c *studyCommand) command() string {
	words := []string{"condorsim", "study"}
	flag := func(name string, values ...string) {
		for _, value := range values {
			if value != "" {
				words = append(words, "--"+name, cli.Quoted(value))
			}
		}
	}
	number := func(name string, value float64) {
		if value != 0 {
			flag(name, fmt.Sprint(value))
		}
	}
	flag("pool", c.Pool)
	flag("workload", c.Workload)
	flag("policies", strings.Join(c.Policies, ","))
	flag("order", c.Order)
	flag("with", c.With...)
	flag("without", c.Without...)
	number("scale-estimates", c.ScaleEstimates)
	flag("from", c.From)
	flag("until", c.Until)
	number("jobs", float64(c.Jobs))
	number("cpus", float64(c.Cpus))
	number("memory", float64(c.Memory))
	number("gpus", float64(c.Gpus))
	flag("estimate-attr", c.EstimateAttr...)
	flag("zone", c.Zone)
	for _, choice := range [][3]string{
		{"clean", c.Clean, "papers"},
		{"procs-field", c.ProcsField, "allocated"},
		{"overrun", c.Overrun, "raise"},
		{"dependencies", c.Dependencies, "honour"},
		{"placement", c.Placement, "rank"},
	} {
		if choice[1] != choice[2] {
			flag(choice[0], choice[1])
		}
	}
	keyed := func(name string, values map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			flag(name, key+"="+values[key])
		}
	}
	keyed("policy-opt", c.PolicyOpt)
	words = append(words, c.priorityWords()...)
	for _, user := range slices.Sorted(maps.Keys(c.PriorityFactor)) {
		flag("priority-factor", fmt.Sprintf("%s=%v", user, c.PriorityFactor[user]))
	}
	words = append(words, c.jitterFlags.words()...)
	words = append(words, c.estimateFlags.words()...)
	number("history-share", c.HistoryShare)
	flag("out", c.Out)
	flag("html", string(c.HTML))
	return strings.Join(words, " ")
}
