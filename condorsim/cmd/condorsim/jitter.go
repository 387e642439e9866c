package main

import (
	"fmt"
	"strconv"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/report"
	"github.com/condor-backfill/condor-backfill/condorsim/sweep"
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

// jittered says what the jitter was under a policy and an order, "" if that was chosen on the way;
// nil if there was none. It warns if none can be.
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

// jitterFlags are those of commands that run several simulations.
type jitterFlags struct {
	JitterKeys *float64 `placeholder:"X" help:"${sweep_jitter_keys}"`
	Seeds      *int     `placeholder:"N" help:"${sweep_seeds}"`
}

// mostSeeds bounds what is a sample of draws, and keeps lists short.
const mostSeeds = 1000

// check returns an error for what is no share and no number of seeds.
func (f *jitterFlags) check() error {
	if f.Seeds != nil && (*f.Seeds < 1 || *f.Seeds > mostSeeds) {
		return fmt.Errorf("--seeds=%d: must be from 1 to %d; an interval takes 4", *f.Seeds, mostSeeds)
	}
	if f.JitterKeys == nil {
		return nil
	}
	return checkJitter(condorsim.Jitter{Keys: *f.JitterKeys})
}

// apply puts what the flags say in the place of what the file of a sweep says.
func (f *jitterFlags) apply(file *sweep.File) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.JitterKeys != nil {
		file.JitterKeys = *f.JitterKeys
	}
	if f.Seeds != nil {
		file.Seeds = nil
		for seed := range *f.Seeds {
			file.Seeds = append(file.Seeds, uint64(seed)+1) //nolint:gosec // not negative
		}
	}
	return file.Check() // there may be too many cells now
}

// words are the flags as they are written.
func (f *jitterFlags) words() (words []string) {
	if f.JitterKeys != nil {
		words = append(words, "--jitter-keys", strconv.FormatFloat(*f.JitterKeys, 'g', -1, 64))
	}
	if f.Seeds != nil {
		words = append(words, "--seeds", strconv.Itoa(*f.Seeds))
	}
	return words
}
