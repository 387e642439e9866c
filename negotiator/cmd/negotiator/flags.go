package main

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
)

// poolFlags set what is scheduled and how. A flag that is not given leaves the setting as it is
// configured.
type poolFlags struct {
	Config string `placeholder:"FILE" help:"Configuration file (YAML); flags come after it."`

	Pool     *string `group:"Pool" placeholder:"FILE" help:"${run_pool}"`
	Workload *string `group:"Pool" placeholder:"FILE" help:"${run_workload}"`
	Speed    *string `group:"Pool" placeholder:"X" help:"Simulated seconds in a second, or max."`

	Policy    *string           `group:"Policy" short:"p" placeholder:"NAME" help:"${run_policy}"`
	PolicyOpt map[string]string `group:"Policy" placeholder:"K=V" mapsep:"none" help:"${run_policy_opt}"`
	Order     *string           `group:"Policy" placeholder:"NAME" help:"${run_order}"`
	Placement *string           `group:"Policy" placeholder:"RULE" help:"How slots are chosen: rank, pack or spread."`
	PluginDir []string          `group:"Policy" placeholder:"DIR" help:"${run_plugin_dir}"`
	InProcess bool              `group:"Policy" help:"${run_in_process}"`

	estimateFlags
	realFlags

	LogLevel *string `group:"Output" placeholder:"LEVEL" help:"trace, debug, info, warn, error or off."`
}

// estimateFlags set the run times that jobs are planned with.
type estimateFlags struct {
	Estimates         *string           `group:"Estimates" placeholder:"NAME" help:"${estimates_all}"`
	EstimatesOrder    *string           `group:"Estimates" placeholder:"NAME" help:"Another one for the queue's order."`
	EstimatesBackfill *string           `group:"Estimates" placeholder:"NAME" help:"${estimates_backfill}"`
	EstimatesRunning  *string           `group:"Estimates" placeholder:"NAME" help:"${estimates_running}"`
	EstimatesOpt      map[string]string `group:"Estimates" placeholder:"K=V" mapsep:"none" help:"${estimates_opt}"`
	History           *string           `group:"Estimates" placeholder:"FILE" help:"${estimates_history}"`
	EstimateAttr      []string          `group:"Estimates" placeholder:"ATTR" help:"${estimates_estimate_attr}"`
}

// realFlags are settings for real pools.
type realFlags struct {
	Token   *string `group:"Real pool" placeholder:"FILE" help:"${real_token}"`
	State   *string `group:"Real pool" placeholder:"DIR" help:"Where guarantees and usage outlive the process."`
	HTTP    *string `group:"Real pool" name:"http" placeholder:"ADDR" help:"Tell metrics and start times at HOST:PORT."`
	Observe bool    `group:"Real pool" help:"${real_observe}"`
}

// Help is shown below the flags.
func (*poolFlags) Help() string { return negotiator.OrderHelp() + "\n" + estimate.Help() }

// source is where the settings come from.
func (c *poolFlags) source() *source.Settings {
	return &source.Settings{File: c.Config, Pool: c.Pool, Flags: c}
}

// strings are the flags that set one text, with the key of the setting and where it is.
func (c *poolFlags) strings(s *config.Config) []stringFlag {
	return []stringFlag{
		{"pool", c.Pool, &s.Pool},
		{"workload", c.Workload, &s.Workload},
		{"speed", c.Speed, &s.Speed},
		{"policy", c.Policy, &s.Policy},
		{"order", c.Order, &s.Order},
		{"placement", c.Placement, &s.Placement},
		{"estimates", c.Estimates, &s.Estimates},
		{"estimates_order", c.EstimatesOrder, &s.EstimatesOrder},
		{"estimates_backfill", c.EstimatesBackfill, &s.EstimatesBackfill},
		{"estimates_running", c.EstimatesRunning, &s.EstimatesRunning},
		{"history", c.History, &s.History},
		{"log_level", c.LogLevel, &s.LogLevel},
		{"state", c.State, &s.State},
		{"http", c.HTTP, &s.HTTP},
		{"token", c.Token, &s.Token},
	}
}

// stringFlag is a flag that sets one text; the value is nil if it is not given.
type stringFlag struct {
	key           string
	value, target *string
}

// Over overrides settings with the flags.
func (c *poolFlags) Over(s *config.Config) {
	for _, flag := range c.strings(s) {
		if flag.value != nil {
			*flag.target = *flag.value
		}
	}
	if c.PolicyOpt != nil {
		s.Options = c.PolicyOpt
	}
	if c.EstimatesOpt != nil {
		s.EstimatesOptions = c.EstimatesOpt
	}
	if c.EstimateAttr != nil {
		s.EstimateAttributes = c.EstimateAttr
	}
	s.Observe = s.Observe || c.Observe
	s.Plugins.Dirs = slices.Concat(c.PluginDir, s.Plugins.Dirs)
	s.Plugins.InProcess = s.Plugins.InProcess || c.InProcess
}

// Given reports whether a flag gives the setting that has this key in the configuration file.
func (c *poolFlags) Given(key string) bool {
	switch key {
	case "policy_options":
		return c.PolicyOpt != nil
	case "estimates_options":
		return c.EstimatesOpt != nil
	}
	return slices.ContainsFunc(c.strings(new(config.Config)), func(flag stringFlag) bool {
		return flag.key == key && flag.value != nil
	})
}
