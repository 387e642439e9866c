package active

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Reload reads the configuration and starts its policy anew at each signal, until the context ends.
// It does so beside the cycles; a new policy is ready before it becomes active between two of them.
func (a *Activator) Reload(ctx context.Context, signals <-chan os.Signal, changes chan<- negotiator.Change) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		for a.reloadOnce(ctx, signals, changes) {
		}
	}
}

// stays begins the message about a reload that failed. It names what stays, as other settings of a
// real pool may have changed already.
const stays = "policy, order, estimates and log level stay as they are"

// reloadOnce starts the policy that the configuration names now, hands it over as a change, and
// ends the former one once the change is made. It gives up at the next signal, even while a plugin
// starts, and returns true: call it again.
func (a *Activator) reloadOnce(
	ctx context.Context, signals <-chan os.Signal, changes chan<- negotiator.Change,
) (again bool) {
	a.Logger.Info("reloading")
	starting, stop := context.WithCancel(ctx)
	defer stop()
	var next *Policy
	var err error
	ready := make(chan struct{})
	go func() {
		defer close(ready)
		next, err = a.startConfigured(starting)
	}()
	select {
	case <-ready:
	case <-signals:
		again = true
		stop()
		<-ready
	}
	if again || ctx.Err() != nil {
		if next != nil {
			next.Close()
		}
		return again
	}
	if err != nil {
		a.Logger.Error(stays+": what is configured cannot be taken up", "error", err)
		return false
	}
	past := a.Policy
	made := make(chan error, 1)
	change := next.Change()
	change.Made = func(now backfill.Time, err error) {
		if err == nil {
			a.activate(now, next)
		}
		made <- err
	}
	select {
	case changes <- change:
		if err = <-made; err == nil {
			past.Close()
			return false
		}
		a.Logger.Error(stays+": the policy cannot take over", "error", err)
	case <-signals:
		again = true
	case <-ctx.Done():
		name, _ := next.asked()
		a.Logger.Warn(stays+": the run ended before the next cycle", "policy", name)
	}
	next.Close()
	return again
}

// startConfigured starts the policy that the configuration names now. Settings that need a new
// start of the negotiator keep their values.
func (a *Activator) startConfigured(ctx context.Context) (*Policy, error) {
	s, err := a.Source.Read()
	if err != nil {
		return nil, err
	}
	s, ignored := s.During(a.Settings)
	if len(ignored) > 0 {
		a.Logger.Warn("only a new start changes these settings, they stay", "settings", strings.Join(ignored, ", "))
	}
	if unread := s.UnreadLabels(a.Labels); len(unread) > 0 {
		return nil, a.Source.Locate(fmt.Errorf("of jobs, %s is not read: only a new start reads other attributes",
			strings.Join(unread, ", ")), "estimates_options")
	}
	for _, label := range s.EstimateSettings().Labels() {
		if !slices.Contains(a.Labels, label) {
			a.Logger.Warn("a new start is needed for the estimators to know this of jobs", "label", label)
		}
	}
	return a.start(ctx, s)
}

// activate makes the next policy the active one, between two cycles.
func (a *Activator) activate(now backfill.Time, next *Policy) {
	changed := strings.Join(next.Settings.Differences(a.Settings), ", ")
	name, order := next.asked()
	current := InForce{
		At: now, Policy: name, Order: order,
		Options: next.Settings.Options, Estimates: next.Settings.EstimateSettings().Summary(next.Guarantees, 0),
	}
	former := a.ran[len(a.ran)-1]
	if len(a.ran) == 1 { // what they had learned does not count here
		former.Estimates = a.Settings.EstimateSettings().Summary(a.Guarantees, 0)
	}
	if former.Policy != current.Policy || former.Order != current.Order || !maps.Equal(former.Options, current.Options) ||
		!reflect.DeepEqual(former.Estimates, current.Estimates) {
		a.ran = append(a.ran, current)
	}
	a.Policy = next
	level := a.level()
	a.Logger.SetLevel(min(level, a.Logger.GetLevel())) // so that the next line passes, whichever level it is
	about := []any{
		"t", now, "policy", current.Policy, "changed",
		cmp.Or(changed, "nothing, but the policy was started anew"),
	}
	if former.Estimates != nil || current.Estimates != nil {
		about = append(about, "estimates", current.Estimates)
	}
	a.Logger.Info("reloaded", about...)
	a.Logger.SetLevel(level)
}

// LogLifted logs how many promises the policy that took over has lifted.
type LogLifted struct{ Logger hclog.Logger }

// Cycle logs it after the cycle in which the policy took over.
func (l LogLifted) Cycle(r *negotiator.Report) error {
	if lifted := r.Lifted(); lifted != "" {
		l.Logger.Warn(lifted, "t", r.Delta.Now)
	}
	return nil
}

// level is the log level of the settings.
func (a *Activator) level() hclog.Level {
	return hclog.LevelFromString(cmp.Or(a.Settings.LogLevel, a.LogLevel()))
}
