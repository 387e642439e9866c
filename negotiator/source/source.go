package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
)

// Flags are the settings that the command line gives.
type Flags interface {
	// Over puts them into settings, in the place of what is configured.
	Over(s *config.Config)
	// Given reports whether a flag gives the setting with this key of the configuration file.
	Given(key string) bool
}

// Settings read the settings of a negotiator, each time anew. The methods may be called concurrently;
// the exported fields are set before.
type Settings struct {
	File  string  // configuration file (YAML); "": there is none
	Pool  *string // the pool that a flag names; nil: none does
	Flags Flags   // nil: there are none

	htcondor atomic.Pointer[condorconfig.Config]
}

// Use sets HTCondor's configuration; nil: there is none.
func (s *Settings) Use(site *condorconfig.Config) { s.htcondor.Store(site) }

// HTCondor is HTCondor's configuration, once there is one.
func (s *Settings) HTCondor() *condorconfig.Config { return s.htcondor.Load() }

// Read returns what is configured, overridden by the flags.
func (s *Settings) Read() (config.Config, error) {
	c, err := s.underFlags()
	if err != nil {
		return c, err
	}
	if s.Flags != nil {
		s.Flags.Over(&c)
	}
	if s.Pool != nil {
		c.Pool = *s.Pool
	}
	return c, s.nameFlags(c.Validate())
}

// OnRealPool reports whether the pool is a real one, by the flag or the file.
func (s *Settings) OnRealPool() (bool, error) {
	if s.Pool != nil {
		return config.ForPool(*s.Pool).OnRealPool(), nil
	}
	if s.File == "" {
		return false, nil
	}
	c, err := config.Load(s.File)
	return c.OnRealPool(), err
}

// underFlags returns the configuration that the flags override.
func (s *Settings) underFlags() (config.Config, error) {
	onReal, err := s.OnRealPool()
	switch site := s.HTCondor(); {
	case err != nil:
		return config.Config{}, err
	case onReal && site != nil:
		return site.Settings(s.File)
	case onReal && s.File != "":
		return config.LoadOver(config.ForPool(config.LocalPool), s.File)
	case onReal:
		return config.ForPool(config.LocalPool), nil
	case s.File != "":
		return config.Load(s.File)
	default:
		return config.Default(), nil
	}
}

// Given reports whether a flag gives the setting with this key.
func (s *Settings) Given(key string) bool {
	if key == "pool" {
		return s.Pool != nil
	}
	return s.Flags != nil && s.Flags.Given(key)
}

// Locate adds to an error the line of the configuration with the setting of this key, unless a flag
// gives the setting.
func (s *Settings) Locate(err error, key ...string) error {
	switch site := s.HTCondor(); {
	case s.Given(key[0]) || errors.Is(err, context.Canceled):
		return err
	case s.File != "":
		return config.Locate(s.File, err, key...)
	case site != nil:
		return site.Blame(strings.Join(key, "_"), err)
	default:
		return err
	}
}

// nameFlags puts the flag in front of each error about an estimator's setting that a flag gives.
func (s *Settings) nameFlags(err error) error {
	all, many := err.(interface{ Unwrap() []error })
	if !many {
		return err
	}
	var errs []error
	for _, err := range all.Unwrap() {
		fault, known := err.(interface{ Key() string })
		if known && strings.HasPrefix(fault.Key(), "estimates") && s.Given(fault.Key()) {
			flag := strings.NewReplacer("_options", "-opt", "_", "-").Replace(fault.Key())
			err = fmt.Errorf("--%s: %w", flag, cmp.Or(errors.Unwrap(err), err))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
