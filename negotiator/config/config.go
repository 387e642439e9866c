// Package config is the negotiator's configuration file: YAML, strictly decoded, so that a misspelt
// key is an error with its line and not a setting that silently does nothing.
package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/strictyaml"
)

// Config is the content of a configuration file. [Default] supplies what the file leaves out; flags
// of the command line override it.
type Config struct {
	// Policy is a policy's name or a plugin's path; Options are its settings.
	Policy  string            `yaml:"policy"`
	Options map[string]string `yaml:"policy_options"`
	// Fallback is the linked-in policy that decides when Policy fails; empty means conservative if
	// Policy gives guarantees, else easy.
	Fallback string `yaml:"fallback"`
	// Order is the queue's priority function; empty means the policy's own, on a real pool
	// [FairShare]. Placement is the choice of slots.
	Order     string `yaml:"order"`
	Placement string `yaml:"placement"`
	// PlanDepth is the most waiting jobs that a policy with guarantees promises a start; 0 means no
	// limit. Reorder lets it promise starts in the queue's order.
	PlanDepth int  `yaml:"plan_depth"`
	Reorder   bool `yaml:"reorder"`
	// Futures is in how many futures a start is looked for, to tell its range; 1: only in the one in
	// which all jobs run for as long as they are taken to.
	Futures int `yaml:"futures"`
	// Pool is "simulated" (the embedded pool), a file of slot ads, htcondor://HOST:PORT or
	// [LocalPool]. Workload is a file of job ads; empty means the embedded one.
	Pool     string `yaml:"pool"`
	Workload string `yaml:"workload"`
	// Speed is the number of simulated seconds per real second, or "max".
	Speed      string `yaml:"speed"`
	Estimators `yaml:",inline"`
	// EstimateAttributes are the job attributes that may hold the run time in seconds; the first
	// that is set counts. DefaultEstimate is for jobs that have none of them.
	EstimateAttributes []string `yaml:"estimate_attributes"`
	DefaultEstimate    Duration `yaml:"default_estimate"`
	Plugins            Plugins  `yaml:"plugins"`
	// Resources are what jobs request and slots have, cpus first.
	Resources []string `yaml:"resources"`
	Real      `yaml:",inline"`
	// LogLevel is trace, debug, info, warn, error or off; empty leaves it to the command.
	LogLevel string `yaml:"log_level"`
}

// MostFutures is the largest number of futures: more tell nothing new.
const MostFutures = 1000

// Default returns the configuration without any file or flag.
func Default() Config {
	return Config{
		Policy: "ibb", Placement: profile.ByRank.String(), Futures: ahead.DefaultFutures,
		Pool: "simulated", Speed: "40",
		Estimators:         Estimators{Estimates: requested},
		EstimateAttributes: negotiator.DefaultSchema().Estimates,
		DefaultEstimate:    Duration(time.Duration(negotiator.DefaultEstimate) * time.Second),
		Resources:          negotiator.DefaultSchema().Resources,
		Real:               defaultReal,
		Plugins: Plugins{Running: Running{
			StartTimeout: Duration(10 * time.Second), Deadline: Duration(10 * time.Second), MTLS: "auto", Restarts: 5,
			Processes: 512,
		}},
	}
}

// Load returns the defaults, overridden by a file. Errors name file, line and column.
func Load(path string) (Config, error) { return LoadOver(Default(), path) }

// LoadOver returns a configuration, overridden by a file. Errors name file, line and column.
func LoadOver(c Config, path string) (Config, error) {
	content, err := strictyaml.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("read the configuration: %w", err)
	}
	if err = c.decode(content); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func (c *Config) decode(content []byte) error {
	file, err := strictyaml.Parse(content)
	if err != nil {
		return shown(err)
	}
	if len(file.Docs) == 0 {
		return nil
	}
	if err = strictyaml.Decode(content, c); err == nil {
		err = c.Plugins.complete(file)
	}
	if err != nil {
		return shown(err)
	}
	var errs []error
	for _, f := range c.faults() {
		errs = append(errs, f.locate(file))
	}
	return errors.Join(errs...)
}

// Duration is a length of time in a configuration file, such as 10s or 24h.
type Duration time.Duration

// UnmarshalYAML reads a duration; errors name the place in the file.
func (d *Duration) UnmarshalYAML(node ast.Node) error {
	parsed, err := time.ParseDuration(plain(node))
	if err != nil {
		return &yaml.SyntaxError{
			Message: node.String() + " is no length of time such as 10s or 24h",
			Token:   node.GetToken(),
		}
	}
	*d = Duration(parsed)
	return nil
}

func (d Duration) String() string { return time.Duration(d).String() }

// fault is an invalid setting.
type fault struct {
	path []string // of the setting in the file, such as plugins, mtls
	err  error
}

func (f fault) Error() string { return strings.Join(f.path, ".") + ": " + f.err.Error() }
func (f fault) Unwrap() error { return f.err }

// Key returns the setting's path as one word, such as plugins_mtls; callers name it in errors.
func (f fault) Key() string { return strings.Join(f.path, "_") }

// locate returns the fault with the place of its setting in the file, if the file has the setting.
func (f fault) locate(file *ast.File) error {
	node, err := find(file, f.path...)
	if err != nil {
		return f
	}
	return shown(&yaml.SyntaxError{Message: f.Error(), Token: node.GetToken()})
}

// shown formats an error with the lines around its place.
func shown(err error) error {
	return errors.New(strings.TrimRight(yaml.FormatError(err, false, true), "\n"))
}

// find returns the node of the setting at a path of keys; an error if the file does not have it.
func find(file *ast.File, keys ...string) (ast.Node, error) {
	path := (&yaml.PathBuilder{}).Root()
	for _, key := range keys {
		path = path.Child(key)
	}
	return path.Build().FilterFile(file)
}

// Locate adds to an error the configuration file's name and, if the file has the setting that
// caused the error, the place. key is the setting's path, such as plugins, mtls. If the file cannot
// be read, the error stays as it is.
func Locate(path string, wrong error, key ...string) error {
	content, err := strictyaml.ReadFile(path)
	if err != nil {
		return wrong
	}
	file, err := strictyaml.Parse(content)
	if err != nil {
		return wrong
	}
	return fmt.Errorf("%s: %w", path, fault{key, wrong}.locate(file))
}

// Validate returns an error that names every invalid setting, with its value and the rule.
func (c Config) Validate() error {
	var errs []error
	for _, f := range c.faults() {
		errs = append(errs, f)
	}
	return errors.Join(errs...)
}

func (c Config) faults() (all []fault) {
	check := func(path string, err error) {
		if err != nil {
			all = append(all, fault{[]string{path}, err})
		}
	}
	must := func(path string, ok bool, value any, rule string) {
		if !ok {
			check(path, fmt.Errorf("%v: %s", value, rule))
		}
	}
	if c.Order != "" && (!c.OnRealPool() || c.Order != FairShare) {
		_, err := negotiator.OrderNamed(c.Order)
		check("order", err)
	}
	_, err := c.Collector()
	check("pool", err)
	_, err = profile.ParseRule(c.Placement)
	check("placement", err)
	_, err = ParseSpeed(c.Speed)
	check("speed", err)
	must("futures", c.Futures >= 1 && c.Futures <= MostFutures, c.Futures,
		fmt.Sprintf("must be from 1, without ranges, to %d", MostFutures))
	must("plan_depth", c.PlanDepth >= 0, c.PlanDepth, "must be at least 1, or 0 for no limit")
	second := Duration(time.Second)
	must("policy", c.Policy != "", `""`, "must be a policy's name or a plugin's path")
	must("estimate_attributes", !slices.Contains(c.EstimateAttributes, ""), fmt.Sprintf("%q", c.EstimateAttributes),
		"must be names of attributes")
	must("default_estimate", c.DefaultEstimate >= second && c.DefaultEstimate%second == 0, c.DefaultEstimate,
		"must be at least 1s, in whole seconds")
	levels := []string{"", "trace", "debug", "info", "warn", "error", "off"}
	must("log_level", slices.Contains(levels, c.LogLevel), c.LogLevel, "must be one of"+strings.Join(levels, " "))
	if c.Fallback != "" {
		_, err = policies.Named(c.Fallback)
		check("fallback", err)
	}
	must("resources", len(c.Resources) > 0 && strings.EqualFold(c.Resources[0], "cpus") &&
		!slices.Contains(c.Resources, ""), fmt.Sprintf("%q", c.Resources), "must be names of resources, cpus first")
	return slices.Concat(all, c.Estimators.faults(), c.Real.faults(), c.Plugins.faults())
}

// OrderUnder returns the name of the order that the queue has under a policy: on a real pool
// [FairShare] unless another is chosen, as user priorities count there; else the policy's own.
func (c Config) OrderUnder(policy backfill.PolicySpec) string {
	if c.Order == "" && c.OnRealPool() {
		return FairShare
	}
	return policy.OrderUnless(c.Order)
}

// Planning returns how far a policy that gives guarantees plans.
func (c Config) Planning() backfill.Planning {
	return backfill.Planning{Depth: c.PlanDepth, Reorder: c.Reorder}
}

// Schema returns how ads are read under this configuration.
func (c Config) Schema() negotiator.Schema {
	s := negotiator.DefaultSchema()
	s.Resources, s.Estimates, s.Labels = c.Resources, c.EstimateAttributes, c.labels()
	return s
}

// minSpeed is the lowest speed: the simulated pool is a thousand times slower than a real one.
const minSpeed = 0.001

// ParseSpeed reads the number of simulated seconds per real second: a positive number, or "max",
// which is infinity.
func ParseSpeed(text string) (float64, error) {
	if text == "max" {
		return math.Inf(1), nil
	}
	speed, err := strconv.ParseFloat(text, 64)
	if err != nil || !(speed >= minSpeed) || math.IsInf(speed, 0) {
		return 0, fmt.Errorf("%q: must be max or a number of at least %v", text, minSpeed)
	}
	return speed, nil
}
