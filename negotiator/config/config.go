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

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Config is what a configuration file may say. [Default] is what counts where
// it says nothing; flags of the command line come after it.
type Config struct {
	// Policy is a policy's name or a plugin's path; Options are its settings.
	Policy  string            `yaml:"policy"`
	Options map[string]string `yaml:"policy_options"`
	// Order is the queue's priority function, Placement the choice of slots.
	Order     string `yaml:"order"`
	Placement string `yaml:"placement"`
	// Pool is "simulated" (the embedded one) or a file of slot ads, Workload a
	// file of job ads; "" is the embedded one.
	Pool     string `yaml:"pool"`
	Workload string `yaml:"workload"`
	// Speed is how many simulated seconds pass in one, or "max".
	Speed string `yaml:"speed"`
	// Estimates are the job attributes that may hold the run time in seconds,
	// the first counts; DefaultEstimate is for jobs that have none of them.
	Estimates       []string      `yaml:"estimates"`
	DefaultEstimate time.Duration `yaml:"default_estimate"`
	Plugins         Plugins       `yaml:"plugins"`
	// LogLevel is trace, debug, info, warn, error or off; "" is for the command
	// to choose.
	LogLevel string `yaml:"log_level"`
}

// Plugins is how policies in other processes are found and watched.
type Plugins struct {
	Dirs []string `yaml:"dirs"`
	// InProcess links the policy in, where that is possible.
	InProcess bool `yaml:"in_process"`
	// StartTimeout is how long a plugin may take to say hello, Deadline how long
	// to decide a cycle.
	StartTimeout time.Duration `yaml:"start_timeout"`
	Deadline     time.Duration `yaml:"deadline"`
	// MTLS is auto, or off for a plugin that cannot do it.
	MTLS string `yaml:"mtls"`
}

// Default is the configuration of a negotiator that was told nothing.
func Default() Config {
	return Config{
		Policy: "ibb", Order: "fcfs", Placement: profile.ByRank.String(),
		Pool: "simulated", Speed: "40",
		Estimates:       negotiator.DefaultSchema().Estimates,
		DefaultEstimate: time.Duration(negotiator.DefaultEstimate) * time.Second,
		Plugins:         Plugins{StartTimeout: 10 * time.Second, Deadline: 10 * time.Second, MTLS: "auto"},
	}
}

// Load reads a file over the defaults. Errors name file, line and column.
func Load(path string) (Config, error) {
	c := Default()
	text, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("read the configuration: %w", err)
	}
	if err = c.decode(text); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func (c *Config) decode(text []byte) error {
	if strings.TrimSpace(string(text)) == "" {
		return nil
	}
	if err := yaml.UnmarshalWithOptions(text, c, yaml.Strict()); err != nil {
		return errors.New(yaml.FormatError(err, false, true))
	}
	return c.Validate()
}

// Validate names every setting that cannot be, with its value and the rule.
func (c Config) Validate() error {
	var errs []error
	refuse := func(setting string, value any, rule string) {
		errs = append(errs, fmt.Errorf("%s: %v: %s", setting, value, rule))
	}
	if c.Policy == "" {
		refuse("policy", `""`, "must be a policy's name or a plugin's path")
	}
	if _, err := backfill.OrderNamed(c.Order); err != nil {
		errs = append(errs, fmt.Errorf("order: %w", err))
	}
	if _, err := profile.ParseRule(c.Placement); err != nil {
		errs = append(errs, fmt.Errorf("placement: %w", err))
	}
	if _, err := ParseSpeed(c.Speed); err != nil {
		errs = append(errs, err)
	}
	if c.DefaultEstimate < time.Second {
		refuse("default_estimate", c.DefaultEstimate, "must be at least 1s")
	}
	if c.Plugins.StartTimeout <= 0 || c.Plugins.Deadline <= 0 {
		refuse("plugins", c.Plugins.StartTimeout, "start_timeout and deadline must be positive")
	}
	if c.Plugins.MTLS != "auto" && c.Plugins.MTLS != "off" {
		refuse("plugins.mtls", c.Plugins.MTLS, "must be auto or off")
	}
	if !slices.Contains([]string{"", "trace", "debug", "info", "warn", "error", "off"}, c.LogLevel) {
		refuse("log_level", c.LogLevel, "must be trace, debug, info, warn, error or off")
	}
	return errors.Join(errs...)
}

// CheckPolicy makes sure that a policy given by name is linked in and knows the
// options. Of a plugin, nothing can be said before it runs.
func (c Config) CheckPolicy() error {
	if strings.ContainsRune(c.Policy, os.PathSeparator) || len(c.Plugins.Dirs) > 0 {
		return nil
	}
	spec, err := policies.Named(c.Policy)
	if err != nil {
		return err
	}
	_, err = spec.Make(c.Options)
	return err
}

// Schema is how ads are read under this configuration.
func (c Config) Schema() negotiator.Schema {
	s := negotiator.DefaultSchema()
	s.Estimates = c.Estimates
	return s
}
