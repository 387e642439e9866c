package main

import (
	"context"
	"errors"
	"runtime"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/plugins/choose"
)

// checkAuto checks the flags that do not go with auto.
func (c *runCommand) checkAuto() error {
	switch {
	case c.Policy != auto.Name:
		return nil
	case c.Order != "":
		return errors.New("--order: auto chooses the order with the policy; name orders in --policy-opt portfolio")
	case c.Plugin:
		return errors.New("--plugin: auto runs what is linked in in this process; its portfolio may name plugins")
	case c.Fst != (fstFlag{}) || c.CountEvents:
		return errors.New("--fst, --count-events: these are found for one policy, and auto changes it")
	}
	return nil
}

// chooser returns what chooses the policy, for the workload's pool, if the user asks for auto, else nil.
// It logs each choice.
func (c *runCommand) chooser(ctx context.Context, w *condorsim.Workload, logger hclog.Logger) (*auto.Chooser, error) {
	if c.Policy != auto.Name {
		return nil, nil //nolint:nilnil // nil is a policy that stays
	}
	request := c.request(w, logger)
	request.Others = nil // it is no candidate of its own
	find := choose.Several(request)
	chooser, err := auto.New(c.PolicyOpt, runtime.GOMAXPROCS(0), func(policy string, options map[string]string,
	) (main, fallback backfill.Repeatable, end func(), err error) {
		chosen, err := find(ctx, policy, options)
		if err != nil {
			return nil, nil, nil, err
		}
		main, fallback, err = chosen.Repeatable()
		return main, fallback, chosen.Close, err
	})
	if err == nil {
		chooser.Chosen = func(made *auto.Choice) { made.Log(logger.Info, logger.Warn) }
		chooser.LookedBack = func(h *auto.Hindsight) { h.Log(logger.Info, logger.Warn) }
	}
	return chooser, err
}

// automatic returns the configuration of a pool that chooses its own policy.
func (c *runCommand) automatic(w *condorsim.Workload, rule profile.Rule, chooser *auto.Chooser,
	logger hclog.Logger,
) negotiator.Config {
	cli.Tell("running %d jobs of %s on %s, policy and order chosen on the way", len(w.Jobs), w.Name, machineText(w))
	config := negotiator.Config{
		Placement: rule, Planning: c.planning(), Trust: estimate.Trust(c.EstimateTrust),
		Refused: cli.LogRefusals(logger),
	}
	if c.JitterKeys > 0 {
		chooser.Scale(c.jitter().Factor)
	}
	chooser.TakeCharge(&config)
	return config
}

// chosenBy returns the description of what decides: the policy, or auto if that chooses it.
func chosenBy(chooser *auto.Chooser, policy backfill.PolicySpec) backfill.PolicySpec {
	if chooser == nil {
		return policy
	}
	return chooser.Spec()
}

// choosing adds the chooser, if there is one, to those that see each cycle.
func choosing(chooser *auto.Chooser, c negotiator.Config, sinks []negotiator.Sink) []negotiator.Sink {
	if chooser == nil {
		return sinks
	}
	chooser.Use(c.Planning, c.Estimates)
	return append(sinks, chooser)
}
