package main

import (
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/report"
)

// jitter says how the keys of the order are moved at random.
func (c *runCommand) jitter() condorsim.Jitter {
	return condorsim.Jitter{Keys: c.JitterKeys, Seed: c.Seed}
}

// checkJitter returns an error if the flag is no share of a key.
func checkJitter(j condorsim.Jitter) error {
	if err := j.Validate(); err != nil {
		return fmt.Errorf("--jitter-keys=%w", err)
	}
	return nil
}

// jittered says what the jitter was under a policy and an order, "" if that was chosen on the way; nil if
// there was none. It warns if none can be.
func (c *runCommand) jittered(policy backfill.PolicySpec, order string, logger hclog.Logger) *report.Jitter {
	policy.IgnoresOrder = policy.IgnoresOrder && !c.Reorder
	switch {
	case c.jitter().Moves(policy, order):
		return &report.Jitter{Keys: c.JitterKeys, Seed: c.Seed}
	case c.JitterKeys > 0:
		logger.Warn("--jitter-keys changes nothing: the policy ignores the order, or it has no keys of which a share "+
			"could be added, as fcfs and fairshare", "policy", policy.Name, "order", order)
	}
	return nil
}
