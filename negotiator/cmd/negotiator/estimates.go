package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/output/report"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

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

// over overrides settings with the flags.
func (f *estimateFlags) over(s *config.Config) {
	for _, flag := range []struct{ value, target *string }{
		{f.Estimates, &s.Estimates},
		{f.EstimatesOrder, &s.EstimatesOrder},
		{f.EstimatesBackfill, &s.EstimatesBackfill},
		{f.EstimatesRunning, &s.EstimatesRunning},
		{f.History, &s.History},
	} {
		if flag.value != nil {
			*flag.target = *flag.value
		}
	}
	if f.EstimatesOpt != nil {
		s.EstimatesOptions = f.EstimatesOpt
	}
	if f.EstimateAttr != nil {
		s.EstimateAttributes = f.EstimateAttr
	}
}

// given reports whether a flag sets the setting that has this key in the configuration file.
func (f *estimateFlags) given(key string) bool {
	switch key {
	case "estimates_order":
		return f.EstimatesOrder != nil
	case "estimates_backfill":
		return f.EstimatesBackfill != nil
	case "estimates_running":
		return f.EstimatesRunning != nil
	case "estimates_options":
		return f.EstimatesOpt != nil
	default:
		return f.Estimates != nil
	}
}

// nameFlags puts the flag in front of each error about an estimator's setting that a flag sets.
func (f *estimateFlags) nameFlags(err error) error {
	all, many := err.(interface{ Unwrap() []error })
	if !many {
		return err
	}
	var errs []error
	for _, err := range all.Unwrap() {
		fault, known := err.(interface{ Key() string })
		if known && strings.HasPrefix(fault.Key(), "estimates") && f.given(fault.Key()) {
			flag := strings.NewReplacer("_options", "-opt", "_", "-").Replace(fault.Key())
			err = fmt.Errorf("--%s: %w", flag, cmp.Or(errors.Unwrap(err), err))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// estimators makes the estimators that the settings name, for a policy that gives guarantees or
// not. If nothing about them has changed, it returns the active ones, with what they have learned;
// new ones learn the same when they become active.
func (a *activator) estimators(s config.Config, guarantees bool) (*estimate.Set, error) {
	settings := s.EstimateSettings()
	// the files may have changed
	files := strings.Contains(settings.All+settings.Order+settings.Backfill+settings.Running, "file:")
	if past := a.active; past != nil && !files && past.guarantees == guarantees &&
		reflect.DeepEqual(past.settings.EstimateSettings(), settings) {
		return past.estimates, nil
	}
	history := a.history
	a.history = nil // the new estimators own it
	set, err := estimate.New(settings, history, guarantees, !s.OnRealPool(),
		func(name string) (io.ReadCloser, error) { return os.Open(name) })
	if err == nil {
		if unread := estimate.CheckOptions(settings.Options, settings); unread != nil {
			a.logger.Warn("an option of the estimators is without effect until others are chosen", "why", unread)
		}
		return set, nil
	}
	key, wrong := s.BlameEstimates(err)
	if a.flags.Config == "" || a.flags.given(key) {
		return nil, err
	}
	return nil, a.flags.locate(wrong, false, key)
}

// summaryOf describes estimators for the summary; learned is the number of jobs that they knew at
// the start. It returns nil for the default estimators if they knew no jobs.
func summaryOf(s estimate.Settings, guarantees bool, learned int) *report.Estimates {
	all := &report.Estimates{Options: s.Options, Learned: learned}
	all.Order, all.Backfill, all.Running, _ = s.Uses(guarantees) // they are checked
	if learned == 0 && all.String() == (*report.Estimates)(nil).String() {
		return nil
	}
	return all
}

// past reads the jobs to learn from at the start, if the settings name a history. It shifts their
// times so that the last one ended just before the time until.
func (a *activator) past(s config.Config, until backfill.Time) ([]estimate.Ended, error) {
	if s.History == "" {
		return nil, nil
	}
	if !s.EstimateSettings().Learns() {
		a.logger.Warn("no estimator that was chosen learns: the history is only for those that may take over",
			"history", s.History)
	}
	file, err := os.Open(s.History)
	if err == nil {
		defer file.Close() //nolint:errcheck // only read
		var ended []estimate.Ended
		ended, err = formats.ReadEnded(file, s.History, formats.EndedOptions{
			Until: until, EstimateAttributes: s.EstimateAttributes, DefaultEstimate: seconds(s.DefaultEstimate),
		})
		if err == nil {
			return ended, nil
		}
	}
	return nil, a.flags.locate(err, a.flags.History != nil, "history")
}

func secondsOf(t backfill.Time) *int64 {
	n := int64(t)
	return &n
}
