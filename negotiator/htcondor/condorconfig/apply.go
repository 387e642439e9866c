package condorconfig

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// Settings returns the negotiator's configuration on this pool: the defaults, overridden by the
// YAML file (BACKFILL_CONFIG if file is ""), overridden by the BACKFILL_ knobs.
func (c *Config) Settings(file string) (config.Config, error) {
	s := config.ForPool(config.LocalPool)
	if file == "" {
		file = c.Text("BACKFILL_CONFIG")
	}
	if file != "" {
		var err error
		if s, err = config.LoadOver(s, file); err != nil {
			return s, err
		}
	}
	if err := c.apply(&s); err != nil {
		return s, err
	}
	var errs []error
	if all, many := s.Validate().(interface{ Unwrap() []error }); many {
		for _, err := range all.Unwrap() {
			if f, known := err.(interface{ Key() string }); known {
				err = c.Blame(f.Key(), cmp.Or(errors.Unwrap(err), err))
			}
			errs = append(errs, err)
		}
	}
	return s, errors.Join(errs...)
}

// Blame puts the name of the setting that caused an error in front of the error: its knob if
// HTCondor's configuration sets the knob, else its key in the YAML file.
func (c *Config) Blame(key string, err error) error {
	knob := prefix + strings.ToUpper(key)
	if _, set := c.Lookup(knob); set {
		return fmt.Errorf("%s: %w", knob, err)
	}
	return fmt.Errorf("%s: %w", key, err)
}

// apply overrides a configuration with the knobs that are set.
func (c *Config) apply(s *config.Config) error {
	for name, target := range map[string]*string{
		"BACKFILL_POLICY": &s.Policy, "BACKFILL_FALLBACK": &s.Fallback, "BACKFILL_ORDER": &s.Order,
		"BACKFILL_PLACEMENT": &s.Placement, "BACKFILL_STATE": &s.State, "BACKFILL_HTTP": &s.HTTP,
		"BACKFILL_ESTIMATES": &s.Estimates, "BACKFILL_ESTIMATES_ORDER": &s.EstimatesOrder,
		"BACKFILL_ESTIMATES_BACKFILL": &s.EstimatesBackfill,
		"BACKFILL_ESTIMATES_RUNNING":  &s.EstimatesRunning, "BACKFILL_HISTORY": &s.History,
	} {
		if text, set := c.Lookup(name); set {
			*target = text
		}
	}
	for name, target := range map[string]*[]string{
		"BACKFILL_ESTIMATE_ATTRIBUTES": &s.EstimateAttributes, "BACKFILL_RESOURCES": &s.Resources,
		"BACKFILL_PLUGIN_DIRS": &s.Plugins.Dirs,
	} {
		if text, set := c.Lookup(name); set {
			*target = split(text)
		}
	}
	var errs []error
	for _, t := range []struct {
		name   string
		target *config.Duration
	}{
		{"NEGOTIATOR_INTERVAL", &s.Interval},
		{"BACKFILL_INTERVAL", &s.Interval},
		{"BACKFILL_CYCLE_DELAY", &s.CycleDelay},
		{"BACKFILL_START_SLACK", &s.StartSlack},
		{"BACKFILL_DEFAULT_ESTIMATE", &s.DefaultEstimate},
	} {
		if _, set := c.Lookup(t.name); set {
			d, err := c.Seconds(t.name)
			*t.target = config.Duration(d)
			errs = append(errs, err)
		}
	}
	for _, t := range []struct {
		name   string
		target *bool
	}{
		{"BACKFILL_OBSERVE", &s.Observe},
		{"BACKFILL_REORDER", &s.Reorder},
		{"BACKFILL_REASONS", &s.Reasons},
		{"BACKFILL_IN_PROCESS", &s.Plugins.InProcess},
	} {
		if _, set := c.Lookup(t.name); set {
			var err error
			*t.target, err = c.Bool(t.name)
			errs = append(errs, err)
		}
	}
	for name, target := range map[string]*map[string]string{
		"BACKFILL_POLICY_OPTIONS":    &s.Options,
		"BACKFILL_ESTIMATES_OPTIONS": &s.EstimatesOptions,
	} {
		if _, set := c.Lookup(name); set {
			var err error
			*target, err = c.Pairs(name)
			errs = append(errs, err)
		}
	}
	for name, target := range map[string]*int{
		"BACKFILL_PLAN_DEPTH": &s.PlanDepth, "BACKFILL_FUTURES": &s.Futures,
	} {
		if _, set := c.Lookup(name); set {
			n, err := c.Int(name)
			*target = int(n)
			errs = append(errs, err)
		}
	}
	if s.State == "" {
		s.State = c.Text("BACKFILL_STATE")
	}
	if s.Interval < config.Duration(time.Second) {
		errs = append(errs, &Error{"NEGOTIATOR_INTERVAL", s.Interval.String(), "at least 1"})
	}
	if s.CycleDelay < config.Duration(time.Second) {
		errs = append(errs, &Error{"BACKFILL_CYCLE_DELAY", s.CycleDelay.String(), "at least 1"})
	}
	return errors.Join(errs...)
}
