package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"reflect"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/output/report"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// reload reads the configuration and starts its policy anew at each signal, until the context ends.
// It does so beside the cycles; a new policy is ready before it becomes active between two of them.
func (a *activator) reload(ctx context.Context, signals <-chan os.Signal, changes chan<- negotiator.Change) {
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
func (a *activator) reloadOnce(
	ctx context.Context, signals <-chan os.Signal, changes chan<- negotiator.Change,
) (again bool) {
	a.logger.Info("reloading")
	starting, stop := context.WithCancel(ctx)
	defer stop()
	var next *active
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
			next.policy.Close()
		}
		return again
	}
	if err != nil {
		a.logger.Error(stays+": what is configured cannot be taken up", "error", err)
		return false
	}
	past := a.policy
	made := make(chan error, 1)
	change := next.change()
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
		a.logger.Error(stays+": the policy cannot take over", "error", err)
	case <-signals:
		again = true
	case <-ctx.Done():
		name, _ := next.asked()
		a.logger.Warn(stays+": the run ended before the next cycle", "policy", name)
	}
	next.policy.Close()
	return again
}

// startConfigured starts the policy that the configuration names now. Settings that need a new
// start of the negotiator keep their values.
func (a *activator) startConfigured(ctx context.Context) (*active, error) {
	s, err := a.flags.settings()
	if err != nil {
		return nil, err
	}
	s, ignored := s.During(a.settings)
	if len(ignored) > 0 {
		a.logger.Warn("only a new start changes these settings, they stay", "settings", strings.Join(ignored, ", "))
	}
	if unread := s.UnreadLabels(a.labels); len(unread) > 0 {
		return nil, a.flags.locate(fmt.Errorf("of jobs, %s is not read: only a new start reads other attributes",
			strings.Join(unread, ", ")), a.flags.EstimatesOpt != nil, "estimates_options")
	}
	return a.startPolicy(ctx, s)
}

// activate makes the next policy the active one, between two cycles.
func (a *activator) activate(now backfill.Time, next *active) {
	changed := strings.Join(next.settings.Differences(a.settings), ", ")
	name, order := next.asked()
	is := report.Change{
		At: now, Policy: name, Order: order,
		Options: next.settings.Options, Estimates: summaryOf(next.settings.EstimateSettings(), next.guarantees, 0),
	}
	was := report.Change{
		Policy: a.ran.Policy, Order: a.ran.Order, Options: a.ran.Options,
		Estimates: summaryOf(a.settings.EstimateSettings(), a.guarantees, 0),
	}
	if n := len(a.ran.Changes); n > 0 {
		was = a.ran.Changes[n-1]
	}
	if was.Policy != is.Policy || was.Order != is.Order || !maps.Equal(was.Options, is.Options) ||
		!reflect.DeepEqual(was.Estimates, is.Estimates) {
		a.ran.Changes = append(a.ran.Changes, is)
	}
	a.active = next
	level := a.level()
	a.logger.SetLevel(min(level, a.logger.GetLevel())) // so that the next line passes, whichever level it is
	about := []any{
		"t", now, "policy", is.Policy, "changed",
		cmp.Or(changed, "nothing, but the policy was started anew"),
	}
	if was.Estimates != nil || is.Estimates != nil {
		about = append(about, "estimates", is.Estimates)
	}
	a.logger.Info("reloaded", about...)
	a.logger.SetLevel(level)
}

// logLifted logs how many promises the policy that took over has lifted.
type logLifted struct{ logger hclog.Logger }

func (l logLifted) Cycle(r *negotiator.Report) error {
	if lifted := r.Lifted(); lifted != "" {
		l.logger.Warn(lifted, "t", r.Delta.Now)
	}
	return nil
}

// level is the log level of the settings.
func (a *activator) level() hclog.Level {
	return hclog.LevelFromString(cmp.Or(a.settings.LogLevel, a.logLevel()))
}
