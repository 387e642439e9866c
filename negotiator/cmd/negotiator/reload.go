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
	"github.com/condor-backfill/condor-backfill/condorsim/report"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// reload takes the configuration up anew, and the policy's executable with it,
// whenever it is told to, until the context ends. All that takes time is done
// beside the cycles; what changes hands between two of them is ready.
func (o *office) reload(ctx context.Context, told <-chan os.Signal, changes chan<- negotiator.Change) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-told:
		}
		for o.handOver(ctx, told, changes) {
		}
	}
}

// stays begins what is said of a reload that failed: what else can change of a real pool's
// configuration is taken up before.
const stays = "policy, order, estimates and log level stay as they are"

// handOver starts what the configuration names now, and ends what was in charge
// when the change is made. Again says that it was told to reload meanwhile, which
// is not kept waiting by a plugin that takes long to start.
func (o *office) handOver(ctx context.Context, told <-chan os.Signal, changes chan<- negotiator.Change) (again bool) {
	o.logger.Info("reloading")
	starting, stop := context.WithCancel(ctx)
	defer stop()
	var next *charge
	var err error
	ready := make(chan struct{})
	go func() {
		defer close(ready)
		next, err = o.successor(starting)
	}()
	select {
	case <-ready:
	case <-told:
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
		o.logger.Error(stays+": what is configured cannot be taken up", "error", err)
		return false
	}
	past := o.policy
	made := make(chan error, 1)
	change := negotiator.Change{
		Order: next.order, Policy: next.policy.Main, Fallback: next.policy.Fallback, Estimates: next.estimates,
		Made: func(now backfill.Time, err error) {
			if err == nil {
				o.succeed(now, next)
			}
			made <- err
		},
	}
	select {
	case changes <- change:
		if err = <-made; err == nil {
			past.Close()
			return false
		}
		o.logger.Error(stays+": the policy cannot take over", "error", err)
	case <-told:
		again = true
	case <-ctx.Done():
		o.logger.Warn(stays+": the run ended before the next cycle", "policy", next.policy.Main.Spec().Name)
	}
	next.policy.Close()
	return again
}

// successor is what the configuration puts in charge now.
func (o *office) successor(ctx context.Context) (*charge, error) {
	s, err := o.flags.settings()
	if err != nil {
		return nil, err
	}
	s, ignored := s.During(o.settings)
	if len(ignored) > 0 {
		o.logger.Warn("only a new start changes these settings, they stay", "settings", strings.Join(ignored, ", "))
	}
	if unread := s.UnreadLabels(o.labels); len(unread) > 0 {
		return nil, o.flags.locate(fmt.Errorf("of jobs, %s is not read: only a new start reads other attributes", strings.Join(unread, ", ")), o.flags.EstimatesOpt != nil, "estimates_options")
	}
	return o.appoint(ctx, s)
}

// succeed puts the next one in charge, between two cycles.
func (o *office) succeed(now backfill.Time, next *charge) {
	changed := strings.Join(next.settings.Differences(o.settings), ", ")
	is := report.Change{At: now, Policy: next.policy.Main.Spec().Name, Order: next.settings.Order, Options: next.settings.Options, Estimates: said(next.settings.EstimateSettings(), next.guarantees, 0)}
	was := report.Change{Policy: o.ran.Policy, Order: o.ran.Order, Options: o.ran.Options, Estimates: said(o.settings.EstimateSettings(), o.guarantees, 0)}
	if n := len(o.ran.Changes); n > 0 {
		was = o.ran.Changes[n-1]
	}
	if was.Policy != is.Policy || was.Order != is.Order || !maps.Equal(was.Options, is.Options) || !reflect.DeepEqual(was.Estimates, is.Estimates) {
		o.ran.Changes = append(o.ran.Changes, is)
	}
	o.charge = next
	level := o.level()
	o.logger.SetLevel(min(level, o.logger.GetLevel())) // whichever lets the next line pass
	about := []any{"t", now, "policy", is.Policy, "changed", cmp.Or(changed, "nothing, but the policy was started anew")}
	if was.Estimates != nil || is.Estimates != nil {
		about = append(about, "estimates", is.Estimates)
	}
	o.logger.Info("reloaded", about...)
	o.logger.SetLevel(level)
}

// level is what is logged from.
func (o *office) level() hclog.Level {
	return hclog.LevelFromString(cmp.Or(o.settings.LogLevel, o.logLevel()))
}
