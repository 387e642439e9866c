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
	errs = append(errs, c.pace(s))
	if s.State == "" {
		s.State = c.Text("BACKFILL_STATE")
	}
	s.PreJobRank, s.PostJobRank = c.JobRank("NEGOTIATOR_PRE_JOB_RANK"), c.JobRank("NEGOTIATOR_POST_JOB_RANK")
	c.weigh(&s.Weights)
	s.MatchExprs, _ = c.MatchExprs()         // Check says what is wrong
	s.SiteAttributes, _ = c.siteAttributes() // Warnings says so
	return errors.Join(errs...)
}

// pace takes HTCondor's own knobs about the time between cycles, where the site has set them: the values
// that HTCondor has by default suit cycles that take minutes.
func (c *Config) pace(s *config.Config) (err error) {
	if !c.SetBySite(minInterval) {
		s.MinInterval = 0
	}
	if _, own := c.Lookup("BACKFILL_CYCLE_DELAY"); !own && s.CycleDelay == config.ForPool(config.LocalPool).CycleDelay &&
		c.SetBySite(cycleDelay) {
		s.CycleDelay, err = c.Seconds(cycleDelay)
		s.CycleDelay = max(s.CycleDelay, time.Second)
	}
	return err
}

const (
	cycleDelay  = "NEGOTIATOR_CYCLE_DELAY"
	minInterval = "NEGOTIATOR_MIN_INTERVAL"
)

// SetBySite reports whether the site has set a knob: what HTCondor has by default does not count.
func (c *Config) SetBySite(name string) bool {
	set, _ := c.Setting(name)
	return set.bySite()
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
