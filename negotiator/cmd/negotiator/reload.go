package main

import (
	"cmp"
	"context"
	"maps"
	"os"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/report"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// reload takes the configuration up anew, and the policy's executable with it,
// whenever it is told to, until the context ends. All that takes time is done
// beside the cycles; what changes hands between two of them is ready.
func (p *prepared) reload(ctx context.Context, told <-chan os.Signal, changes chan<- negotiator.Change) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-told:
		}
		for p.handOver(ctx, told, changes) {
		}
	}
}

// handOver starts what the configuration names now, and ends what was in charge
// when the change is made. Again says that it was told to reload meanwhile, which
// is not kept waiting by a plugin that takes long to start.
func (p *prepared) handOver(ctx context.Context, told <-chan os.Signal, changes chan<- negotiator.Change) (again bool) {
	p.logger.Info("reloading")
	starting, stop := context.WithCancel(ctx)
	defer stop()
	var next *charge
	var err error
	ready := make(chan struct{})
	go func() {
		defer close(ready)
		next, err = p.successor(starting)
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
		p.logger.Error("nothing is changed: the configuration cannot be taken up", "error", err)
		return false
	}
	past := p.policy
	made := make(chan error, 1)
	change := negotiator.Change{
		Order: next.order, Policy: next.policy.Main, Fallback: next.policy.Fallback,
		Made: func(now backfill.Time, err error) {
			if err == nil {
				p.succeed(now, next)
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
		p.logger.Error("nothing is changed: the policy cannot take over", "error", err)
	case <-told:
		again = true
	case <-ctx.Done():
		p.logger.Warn("nothing is changed: the run ended before the next cycle", "policy", next.policy.Main.Spec().Name)
	}
	next.policy.Close()
	return again
}

// successor is what the configuration puts in charge now.
func (p *prepared) successor(ctx context.Context) (*charge, error) {
	s, err := p.flags.settings()
	if err != nil {
		return nil, err
	}
	s, ignored := s.During(p.settings)
	if len(ignored) > 0 {
		p.logger.Warn("only a new start changes these settings, they stay", "settings", strings.Join(ignored, ", "))
	}
	return p.appoint(ctx, s)
}

// succeed puts the next one in charge, between two cycles.
func (p *prepared) succeed(now backfill.Time, next *charge) {
	changed := strings.Join(next.settings.Differences(p.settings), ", ")
	is := report.Change{At: now, Policy: next.policy.Main.Spec().Name, Order: next.settings.Order, Options: next.settings.Options}
	was := report.Change{Policy: p.ran.Policy, Order: p.ran.Order, Options: p.ran.Options}
	if n := len(p.ran.Changes); n > 0 {
		was = p.ran.Changes[n-1]
	}
	if was.Policy != is.Policy || was.Order != is.Order || !maps.Equal(was.Options, is.Options) {
		p.ran.Changes = append(p.ran.Changes, is)
	}
	p.charge = next
	level := p.level()
	p.logger.SetLevel(min(level, p.logger.GetLevel())) // whichever lets the next line pass
	p.logger.Info("reloaded", "t", now, "policy", is.Policy, "changed", cmp.Or(changed, "nothing, but the policy was started anew"))
	p.logger.SetLevel(level)
}

// level is what is logged from.
func (p *prepared) level() hclog.Level {
	return hclog.LevelFromString(cmp.Or(p.settings.LogLevel, p.logLevel))
}
