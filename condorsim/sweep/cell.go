package sweep

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// simulate runs a cell, one simulation of the sweep; the sink gets the report of each cycle. A
// refused decision is an error, since the result would not be the policy's own. A panic is returned
// as an error, so that other cells go on.
func (p *Sweep) simulate(ctx context.Context, c *cell, w *condorsim.Workload,
	sink negotiator.Sink,
) (done results.Cell, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("internal error: %v\n%s", fault, debug.Stack())
		}
	}()
	if c.key.Policy == condorsim.HistoryPolicy {
		return p.happened(c, w)
	}
	rule, err := profile.ParseRule(c.scheduler.placement)
	if err != nil {
		return done, err
	}
	if c.key.SlotEnd != "" {
		if w = w.WithEnds(c.key.SlotEnd); w.AbsentEnds() != "" {
			c.input.doubt(condorsim.AbsentEndsText + ": " + w.AbsentEnds())
		}
	}
	deciders, err := p.settings.deciders(ctx, c.key.Policy, c.key.Options, w.Schema.Resources)
	if err != nil {
		return done, err
	}
	defer deciders.close()
	estimates, err := w.Estimators(c.input.settings(c.scheduler.estimates), deciders.spec().Guarantees,
		p.settings.Places.open)
	if err == nil {
		_, err = w.Matches(estimates)
	}
	if err != nil {
		return done, err
	}
	var refused error
	config := negotiator.Config{
		Placement: rule, Policy: deciders.Main, Fallback: deciders.Fallback, Estimates: estimates,
		Trust: estimate.Trust(c.key.Trust),
		Refused: func(r backfill.Refusal) {
			if refused == nil {
				refused = fmt.Errorf("at %s a decision was refused, so this would not be the policy's result: %w",
					w.Clock().Text(int64(r.Now)), r.Err)
			}
		},
	}
	sinks := []negotiator.Sink{sink}
	if chooser := deciders.chooser; chooser != nil {
		c.jitterPortfolio(chooser)
		chooser.TakeCharge(&config)
		chooser.Use(config.Planning, estimates)
		sinks = append(sinks, chooser)
	} else {
		if c.key.Order == negotiator.FairShare {
			c.input.tellOfUsers(w, c)
			if w, err = w.WithPriorities(c.scheduler.priorities); err != nil {
				return done, err
			}
		}
		if config.Order, err = w.OrderNamed(c.key.Order); err != nil {
			return done, err
		}
	}
	config.Order = c.jitter().Of(config.Order)
	r, err := p.run(ctx, w, config, sinks...)
	switch {
	case err != nil:
		return done, err
	case refused != nil:
		return done, refused
	case r.Unordered:
		return done, errors.New(negotiator.UnorderedText)
	}
	if p.history {
		r.OnlyRecorded()
	}
	done = p.finished(c, w, r)
	if deciders.chooser != nil {
		chosen := deciders.chooser.Summary()
		done.Metrics["choices"], done.Metrics["changes"] = float64(chosen.Choices), float64(chosen.Changes)
	}
	return done, nil
}

// run simulates, and finds fair start times or counts profile events if the sweep asks for them.
func (p *Sweep) run(ctx context.Context, w *condorsim.Workload, c negotiator.Config,
	sinks ...negotiator.Sink,
) (*condorsim.Result, error) {
	if p.fair.Strict || p.fair.Relaxed {
		return condorsim.RunFair(ctx, w, c, p.fair, sinks...)
	}
	if !p.countEvents {
		return condorsim.Run(ctx, w, c, nil, sinks...)
	}
	counter, err := condorsim.CountEvents(w, &c)
	if err != nil {
		return nil, err
	}
	r, err := condorsim.Run(ctx, w, c, nil, sinks...)
	if err != nil {
		return nil, err
	}
	return r, counter.Add(r)
}

// tellOfUsers warns, once, of jobs of no known user or of an accounting group, and of factors of users who have no job.
func (in *input) tellOfUsers(w *condorsim.Workload, c *cell) {
	if in.warn == nil {
		return
	}
	if _, told := in.users.LoadOrStore("", true); !told {
		w.WarnOfUsers(in.warn, "trace", in.Name)
	}
	if err := c.scheduler.priorities.CheckUsers(w); err != nil {
		if _, told := in.users.LoadOrStore(c.key.Scheduler, true); !told {
			in.warn(err.Error(), "trace", in.Name, "scheduler", c.key.Scheduler)
		}
	}
}
