package active

import (
	"io"
	"os"
	"reflect"
	"strings"
	"syscall"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

// estimators makes the estimators that the settings name, for a policy that gives guarantees or
// not. If nothing about them has changed, it returns the active ones, with what they have learned;
// new ones learn the same when they become active.
func (a *Activator) estimators(s config.Config, guarantees bool) (*estimate.Set, error) {
	settings := s.EstimateSettings()
	// the files may have changed
	files := strings.Contains(settings.All+settings.Order+settings.Backfill+settings.Running, "file:")
	if past := a.Policy; past != nil && !files && past.Guarantees == guarantees &&
		reflect.DeepEqual(past.Settings.EstimateSettings(), settings) {
		return past.Estimates, nil
	}
	history := a.History
	a.History = nil // the new estimators own it
	set, err := estimate.New(settings, history, guarantees, !s.OnRealPool(), unpacked)
	if err == nil {
		if unread := estimate.CheckOptions(settings.Options, settings); unread != nil {
			a.Logger.Warn("an option of the estimators is without effect until others are chosen", "why", unread)
		}
		return set, nil
	}
	key, wrong := s.BlameEstimates(err)
	if a.Source.File == "" || a.Source.Given(key) {
		return nil, err
	}
	return nil, a.Source.Locate(wrong, key)
}

// open opens a file, without waiting for somebody to write to a pipe.
func open(name string) (*os.File, error) { return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) }

// unpacked opens a file that may be compressed.
func unpacked(name string) (io.ReadCloser, error) {
	return packed.Open(func(name string) (io.ReadCloser, error) { return open(name) }, name)
}

// ReadEnded reads the jobs of a history that have ended, of a file by its name. It shifts their times
// so that the last one ended just before the time until.
type ReadEnded func(file io.Reader, name string, until backfill.Time, s config.Config) ([]estimate.Ended, error)

// Past reads the jobs to learn from at the start, if the settings name a history.
func (a *Activator) Past(s config.Config, until backfill.Time, read ReadEnded) ([]estimate.Ended, error) {
	if s.History == "" {
		return nil, nil
	}
	byPolicy := !s.OnRealPool() && s.Estimates == "" && s.EstimatesOrder == "" // which may be one that learns
	if !byPolicy && !s.EstimateSettings().Learns() {
		a.Logger.Warn("no estimator that was chosen learns: the history is only for those that may take over",
			"history", s.History)
	}
	file, err := open(s.History)
	if err == nil {
		defer file.Close() //nolint:errcheck // only read
		var ended []estimate.Ended
		ended, err = read(file, s.History, until, s)
		if err == nil {
			return ended, nil
		}
	}
	return nil, a.Source.Locate(err, "history")
}
