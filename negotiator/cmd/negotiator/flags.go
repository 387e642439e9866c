package main

import (
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
)

// poolFlags set what is scheduled and how. A flag that is not given leaves the setting as it is
// configured.
type poolFlags struct {
	Config string `placeholder:"FILE" help:"Configuration file (YAML); flags come after it."`

	Pool     *string `group:"Pool" placeholder:"FILE" help:"${set_pool}"`
	Workload *string `group:"Pool" placeholder:"FILE" help:"${set_workload}"`
	Speed    *string `group:"Pool" placeholder:"X" help:"${set_speed}"`
	// Dependencies says whether jobs wait for their preceding ones.
	Dependencies *string `group:"Pool" placeholder:"HOW" help:"${set_dependencies}"`

	Policy    *string           `group:"Policy" short:"p" placeholder:"NAME" help:"${set_policy}"`
	PolicyOpt map[string]string `group:"Policy" placeholder:"K=V" mapsep:"none" help:"${run_policy_opt}"`
	Order     *string           `group:"Policy" placeholder:"NAME" help:"${set_order}"`
	Placement *string           `group:"Policy" placeholder:"RULE" help:"${set_placement}"`
	PluginDir []string          `group:"Policy" placeholder:"DIR" help:"${run_plugin_dir}"`
	InProcess bool              `group:"Policy" help:"${set_plugins.in_process}"`

	PriorityHalflife *time.Duration    `group:"Policy" placeholder:"TIME" help:"${set_priority_halflife}"`
	PriorityFactor   map[string]string `group:"Policy" placeholder:"USER=F" mapsep:"none" help:"${set_priority_factors}"`

	estimateFlags
	realFlags
	servingFlags

	Record    *string `group:"Output" placeholder:"FILE" help:"${set_record}"`
	Anonymise bool    `group:"Output" help:"${set_record_anonymous}"`
	LogLevel  *string `group:"Output" placeholder:"LEVEL" help:"${set_log_level}"`
}

// estimateFlags set the run times that jobs are planned with.
type estimateFlags struct {
	Estimates         *string           `group:"Estimates" placeholder:"NAME" help:"${set_estimates}"`
	EstimatesOrder    *string           `group:"Estimates" placeholder:"NAME" help:"${set_estimates_order}"`
	EstimatesBackfill *string           `group:"Estimates" placeholder:"NAME" help:"${set_estimates_backfill}"`
	EstimatesRunning  *string           `group:"Estimates" placeholder:"NAME" help:"${set_estimates_running}"`
	EstimatesOpt      map[string]string `group:"Estimates" placeholder:"K=V" mapsep:"none" help:"${estimates_opt}"`
	History           *string           `group:"Estimates" placeholder:"FILE" help:"${set_history}"`
	EstimateAttr      []string          `group:"Estimates" placeholder:"EXPR" sep:"none" help:"${set_estimate_attributes}"`
}

// servingFlags say what is served over HTTP.
type servingFlags struct {
	HTTP            *string `group:"Page" name:"http" placeholder:"ADDR" help:"${set_http}"`
	HTTPToken       *string `group:"Page" name:"http-token" placeholder:"FILE" help:"${set_http_token}"`
	HTTPCertificate *string `group:"Page" name:"http-certificate" placeholder:"FILE" help:"${set_http_certificate}"`
	HTTPKey         *string `group:"Page" name:"http-key" placeholder:"FILE" help:"${set_http_key}"`
	HTTPNames       *string `group:"Page" name:"http-names" placeholder:"WHOSE" help:"${set_http_names}"`
}

// realFlags are settings for real pools.
type realFlags struct {
	Token   *string `group:"Real pool" placeholder:"FILE" help:"${set_token}"`
	State   *string `group:"Real pool" placeholder:"DIR" help:"${set_state}"`
	Observe bool    `group:"Real pool" help:"${set_observe}"`
}

// Help is shown below the flags.
func (*poolFlags) Help() string { return negotiator.OrderHelp() + "\n" + estimate.Help() }

// source is where the settings come from.
func (c *poolFlags) source() *source.Settings {
	return &source.Settings{File: c.Config, Pool: c.Pool, Flags: c}
}

// texts are the values of the flags that set one text, by the key of the setting; nil where a flag is
// not given.
func (c *poolFlags) texts() map[string]*string {
	return map[string]*string{
		"pool":               c.Pool,
		"workload":           c.Workload,
		"dependencies":       c.Dependencies,
		"speed":              c.Speed,
		"policy":             c.Policy,
		"order":              c.Order,
		"placement":          c.Placement,
		"estimates":          c.Estimates,
		"estimates_order":    c.EstimatesOrder,
		"estimates_backfill": c.EstimatesBackfill,
		"estimates_running":  c.EstimatesRunning,
		"history":            c.History,
		"record":             c.Record,
		"log_level":          c.LogLevel,
		"state":              c.State,
		"http":               c.HTTP,
		"http_token":         c.HTTPToken,
		"http_certificate":   c.HTTPCertificate,
		"http_key":           c.HTTPKey,
		"http_names":         c.HTTPNames,
		"token":              c.Token,
	}
}

// Over overrides settings with the flags.
func (c *poolFlags) Over(s *config.Config) {
	for key, value := range c.texts() {
		if value != nil {
			*config.Named(key).Target(s).(*string) = *value
		}
	}
	if c.PolicyOpt != nil {
		s.Options = c.PolicyOpt
	}
	if c.PriorityHalflife != nil {
		s.PriorityHalfLife = *c.PriorityHalflife
	}
	if c.PriorityFactor != nil {
		s.PriorityFactors = c.PriorityFactor
	}
	if c.EstimatesOpt != nil {
		s.EstimatesOptions = c.EstimatesOpt
	}
	if c.EstimateAttr != nil {
		s.EstimateAttributes = c.EstimateAttr
	}
	s.Observe = s.Observe || c.Observe
	s.RecordAnonymous = s.RecordAnonymous || c.Anonymise
	s.Plugins.Dirs = slices.Concat(c.PluginDir, s.Plugins.Dirs)
	s.Plugins.InProcess = s.Plugins.InProcess || c.InProcess
}

// Given reports whether a flag gives the setting that has this key in the configuration file.
func (c *poolFlags) Given(key string) bool {
	switch key {
	case "policy_options":
		return c.PolicyOpt != nil
	case "priority_halflife":
		return c.PriorityHalflife != nil
	case "priority_factors":
		return c.PriorityFactor != nil
	case "estimates_options":
		return c.EstimatesOpt != nil
	case "estimate_attributes":
		return c.EstimateAttr != nil
	}
	return c.texts()[key] != nil
}
