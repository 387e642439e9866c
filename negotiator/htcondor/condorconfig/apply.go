package condorconfig

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
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
	name := key
	if s := config.Named(key); s != nil {
		if knob, set := c.setBy(*s); set {
			name = knob
		}
	}
	return fmt.Errorf("%s: %w", name, err)
}

// setBy returns the knob that sets a setting: its own, or the one that its default refers to; false if
// none does.
func (c *Config) setBy(s config.Setting) (knob string, set bool) {
	for _, knob := range append([]string{s.Knob}, other.FindStringSubmatch(s.KnobDefault)...) {
		if _, set := c.Lookup(knob); set {
			return knob, true
		}
	}
	return "", false
}

// other matches a default that is the value of another knob.
var other = regexp.MustCompile(`^\$\((\w+)\)$`)

// apply overrides a configuration with the knobs that are set.
func (c *Config) apply(s *config.Config) error {
	var errs []error
	for _, k := range config.Settings() {
		if knob, set := c.setBy(k); set && k.Target != nil {
			errs = append(errs, c.read(knob, k, s))
		}
	}
	if s.State == "" {
		s.State = c.Text("BACKFILL_STATE")
	}
	s.PreJobRank, s.PostJobRank = c.JobRank("NEGOTIATOR_PRE_JOB_RANK"), c.JobRank("NEGOTIATOR_POST_JOB_RANK")
	s.ShutdownThreshold = c.ShutdownThreshold()
	weights, err := c.Weights()
	s.Weights, errs = weights, append(errs, err)
	s.MatchExprs, _ = c.MatchExprs() // Check says what is wrong
	return errors.Join(errs...)
}

// read sets a setting to the value of a knob.
func (c *Config) read(knob string, k config.Setting, s *config.Config) (err error) {
	switch target := k.Target(s).(type) {
	case *string:
		*target = c.Text(knob)
	case *[]string:
		*target = c.List(knob)
	case *map[string]string:
		*target, err = c.Pairs(knob)
	case *bool:
		*target, err = c.Bool(knob)
	case *int:
		n, wrong := c.Int(knob)
		*target, err = int(n), wrong
	case *time.Duration:
		if k.Kind == config.Seconds {
			*target, err = c.Seconds(knob)
		}
	default:
		err = fmt.Errorf("%s: no knob can be a %T", knob, target)
	}
	return err
}
