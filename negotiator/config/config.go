// Package config is the negotiator's configuration file: YAML, strictly
// decoded, so that a misspelt key is an error with its line and not a setting
// that silently does nothing.
package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/strictyaml"
)

// Config is what a configuration file may say. [Default] is what counts where
// it says nothing; flags of the command line come after it.
type Config struct {
	// Policy is a policy's name or a plugin's path; Options are its settings.
	Policy  string            `yaml:"policy"`
	Options map[string]string `yaml:"policy_options"`
	// Fallback is the linked-in policy that decides where Policy cannot; "":
	// conservative where guarantees are given, else easy.
	Fallback string `yaml:"fallback"`
	// Order is the queue's priority function, Placement the choice of slots.
	Order     string `yaml:"order"`
	Placement string `yaml:"placement"`
	// Pool is "simulated" (the embedded one), a file of slot ads, htcondor://HOST:PORT
	// or [LocalPool]; Workload is a file of job ads, "" the embedded one.
	Pool     string `yaml:"pool"`
	Workload string `yaml:"workload"`
	// Speed is how many simulated seconds pass in one, or "max".
	Speed      string `yaml:"speed"`
	Estimators `yaml:",inline"`
	// EstimateAttributes are the job attributes that may hold the run time in seconds,
	// the first counts; DefaultEstimate is for jobs that have none of them.
	EstimateAttributes []string `yaml:"estimate_attributes"`
	DefaultEstimate    Duration `yaml:"default_estimate"`
	Plugins            Plugins  `yaml:"plugins"`
	// Resources are what jobs request and slots have, cpus first.
	Resources []string `yaml:"resources"`
	Real      `yaml:",inline"`
	// LogLevel is trace, debug, info, warn, error or off; "" is for the command
	// to choose.
	LogLevel string `yaml:"log_level"`
}

// Default is the configuration of a negotiator that was told nothing.
func Default() Config {
	return Config{
		Policy: "ibb", Order: "fcfs", Placement: profile.ByRank.String(),
		Pool: "simulated", Speed: "40",
		Estimators:         Estimators{Estimates: requested},
		EstimateAttributes: negotiator.DefaultSchema().Estimates,
		DefaultEstimate:    Duration(time.Duration(negotiator.DefaultEstimate) * time.Second),
		Resources:          negotiator.DefaultSchema().Resources,
		Real:               defaultReal,
		Plugins: Plugins{Running: Running{
			StartTimeout: Duration(10 * time.Second), Deadline: Duration(10 * time.Second), MTLS: "auto", Restarts: 5,
		}},
	}
}

// Load reads a file over the defaults. Errors name file, line and column.
func Load(path string) (Config, error) { return LoadOver(Default(), path) }

// LoadOver reads a file over a configuration.
func LoadOver(c Config, path string) (Config, error) {
	content, err := os.ReadFile(path)
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

// UnmarshalYAML reads a duration; what is wrong is told with its place.
func (d *Duration) UnmarshalYAML(node ast.Node) error {
	parsed, err := time.ParseDuration(plain(node))
	if err != nil {
		return &yaml.SyntaxError{Message: node.String() + " is no length of time such as 10s or 24h", Token: node.GetToken()}
	}
	*d = Duration(parsed)
	return nil
}

func (d Duration) String() string { return time.Duration(d).String() }

// fault is a setting that cannot be.
type fault struct {
	path []string // of the setting in the file, such as plugins, mtls
	err  error
}

func (f fault) Error() string { return strings.Join(f.path, ".") + ": " + f.err.Error() }
func (f fault) Unwrap() error { return f.err }

// Key is the setting's name, for those who configure it elsewhere than in a file.
func (f fault) Key() string { return strings.Join(f.path, "_") }

// locate shows the place of the fault in the file, if the setting stands there.
func (f fault) locate(file *ast.File) error {
	node, err := find(file, f.path...)
	if err != nil {
		return f
	}
	return shown(&yaml.SyntaxError{Message: f.Error(), Token: node.GetToken()})
}

// shown is an error with the lines around its place.
func shown(err error) error {
	return errors.New(strings.TrimRight(yaml.FormatError(err, false, true), "\n"))
}

// find is the value of a setting.
func find(file *ast.File, keys ...string) (ast.Node, error) {
	path := (&yaml.PathBuilder{}).Root()
	for _, key := range keys {
		path = path.Child(key)
	}
	return path.Build().FilterFile(file)
}

// Locate says of an error that came of a setting, such as plugins, mtls, where a
// file sets it, if it does.
func Locate(path string, wrong error, key ...string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return wrong
	}
	file, err := strictyaml.Parse(content)
	if err != nil {
		return wrong
	}
	return fmt.Errorf("%s: %w", path, fault{key, wrong}.locate(file))
}

// Validate names every setting that cannot be, with its value and the rule.
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
	_, err := negotiator.OrderNamed(c.Order)
	if !c.OnRealPool() || c.Order != FairShare {
		check("order", err)
	}
	_, err = c.Collector()
	check("pool", err)
	_, err = profile.ParseRule(c.Placement)
	check("placement", err)
	_, err = ParseSpeed(c.Speed)
	check("speed", err)
	second := Duration(time.Second)
	must("policy", c.Policy != "", `""`, "must be a policy's name or a plugin's path")
	must("estimate_attributes", !slices.Contains(c.EstimateAttributes, ""), fmt.Sprintf("%q", c.EstimateAttributes), "must be names of attributes")
	must("default_estimate", c.DefaultEstimate >= second && c.DefaultEstimate%second == 0, c.DefaultEstimate, "must be at least 1s, in whole seconds")
	levels := []string{"", "trace", "debug", "info", "warn", "error", "off"}
	must("log_level", slices.Contains(levels, c.LogLevel), c.LogLevel, "must be one of"+strings.Join(levels, " "))
	if c.Fallback != "" {
		_, err = policies.Named(c.Fallback)
		check("fallback", err)
	}
	must("resources", len(c.Resources) > 0 && strings.EqualFold(c.Resources[0], "cpus") && !slices.Contains(c.Resources, ""), fmt.Sprintf("%q", c.Resources), "must be names of resources, cpus first")
	return slices.Concat(all, c.Estimators.faults(), c.Real.faults(), c.Plugins.faults())
}

// Schema is how ads are read under this configuration.
func (c Config) Schema() negotiator.Schema {
	s := negotiator.DefaultSchema()
	s.Resources, s.Estimates, s.Labels = c.Resources, c.EstimateAttributes, c.labels()
	return s
}
