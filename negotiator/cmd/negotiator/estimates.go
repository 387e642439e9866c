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
	"github.com/condor-backfill/condor-backfill/condorsim/past"
	"github.com/condor-backfill/condor-backfill/condorsim/report"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// estimateFlags say with which run times jobs are planned.
type estimateFlags struct {
	Estimates         *string           `group:"Estimates" placeholder:"NAME" help:"How long jobs are taken to run: requested, user, project, combined, selective, tsafrir or file:PATH; in simulations also accurate or mix:A."`
	EstimatesOrder    *string           `group:"Estimates" placeholder:"NAME" help:"Another one for the queue's order."`
	EstimatesBackfill *string           `group:"Estimates" placeholder:"NAME" help:"Another one for how long a waiting job is taken to run; not with policies that give guarantees."`
	EstimatesRunning  *string           `group:"Estimates" placeholder:"NAME" help:"Another one for when running jobs are taken to end; not with policies that give guarantees."`
	EstimatesOpt      map[string]string `group:"Estimates" placeholder:"K=V" mapsep:"none" help:"Option of the estimators, such as threshold=20; may be repeated."`
	History           *string           `group:"Estimates" placeholder:"FILE" help:"A trace or job ads to learn run times from beforehand."`
	EstimateAttr      []string          `group:"Estimates" placeholder:"ATTR" help:"Job attributes that may hold the run time in seconds, the first counts."`
}

// over puts what flags say over the settings.
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

// given tells whether a flag sets what the configuration file calls key.
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

// nameFlags has what is wrong with settings name the flags that it comes of.
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

// estimators are those of the settings, under a policy that gives guarantees or not.
// Those in charge stay where nothing is otherwise, with what they have learned; others
// learn that when they take over.
func (o *office) estimators(s config.Config, guarantees bool) (*estimate.Set, error) {
	settings := s.EstimateSettings()
	files := strings.Contains(settings.All+settings.Order+settings.Backfill+settings.Running, "file:") // may say something else now
	if past := o.charge; past != nil && !files && past.guarantees == guarantees && reflect.DeepEqual(past.settings.EstimateSettings(), settings) {
		return past.estimates, nil
	}
	history := o.history
	o.history = nil // it is theirs
	set, err := estimate.New(settings, history, guarantees, !s.OnRealPool(), func(name string) (io.ReadCloser, error) { return os.Open(name) })
	if err == nil {
		if unread := estimate.CheckOptions(settings.Options, settings); unread != nil {
			o.logger.Warn("an option of the estimators is without effect until others are chosen", "why", unread)
		}
		return set, nil
	}
	key, wrong := s.BlameEstimates(err)
	if o.flags.Config == "" || o.flags.given(key) {
		return nil, err
	}
	return nil, o.flags.locate(wrong, false, key)
}

// said are estimators as the summary has them, which knew so many jobs beforehand; nil:
// there is nothing to say.
func said(s estimate.Settings, guarantees bool, learned int) *report.Estimates {
	all := &report.Estimates{Options: s.Options, Learned: learned}
	all.Order, all.Backfill, all.Running, _ = s.Uses(guarantees) // they are checked
	if learned == 0 && all.String() == (*report.Estimates)(nil).String() {
		return nil
	}
	return all
}

// past reads the jobs to learn from beforehand, if there are any, as if the last of them
// had ended just before.
func (o *office) past(s config.Config, until backfill.Time) ([]estimate.Ended, error) {
	if s.History == "" {
		return nil, nil
	}
	if !s.EstimateSettings().Learns() {
		o.logger.Warn("no estimator that was chosen learns: the history is only for those that may take over", "history", s.History)
	}
	file, err := os.Open(s.History)
	if err == nil {
		defer file.Close() //nolint:errcheck // only read
		var ended []estimate.Ended
		ended, err = past.Read(file, s.History, past.Options{
			Until: until, EstimateAttributes: s.EstimateAttributes, DefaultEstimate: seconds(s.DefaultEstimate),
		})
		if err == nil {
			return ended, nil
		}
	}
	return nil, o.flags.locate(err, o.flags.History != nil, "history")
}

func secondsOf(t backfill.Time) *int64 {
	n := int64(t)
	return &n
}
