package sweep

import (
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
)

// key returns the key of a cell, but for the digest of its inputs.
func (p *Sweep) key(f *File, trace string, s scheduler, load float64, stated estimates, seed uint64) results.Key {
	spec := p.policies[s.policy]
	key := results.Key{
		Trace: trace, Scheduler: s.label, Policy: s.policy, Options: s.options, Order: spec.OrderUnless(s.order),
		Load: load, EstimateModel: stated.String(), Seed: seed, Estimates: estimatesKey(s.estimates), Trust: s.trust,
		SlotEnd: s.slotEnd,
	}
	if s.policy == auto.Name || s.policy == condorsim.HistoryPolicy {
		key.Order = "" // it is chosen, too, or nobody knows it
	}
	if jitter := (condorsim.Jitter{Keys: f.JitterKeys, Seed: seed}); jitter.Moves(spec, key.Order) {
		key.JitterKeys = jitter.Keys // else the cell is one without, also by its name
	}
	key.ID = cellID(trace, s.label, load, stated, key.JitterKeys, seed)
	return key
}

// estimatesOf returns the estimators of a scheduler: those of the file, or if it names none for the order,
// the policy's own. That is left out if fair start times are wanted and cannot be found with it.
func (p *Sweep) estimatesOf(f *File, s scheduler) estimate.Settings {
	spec := p.policies[s.policy]
	own := s.estimates.Under(spec, spec.OrderUnless(s.order))
	if s.policy == auto.Name {
		own = auto.Under(s.estimates)
	}
	if len(f.FST) > 0 && own.PredictsAgain() {
		own = s.estimates
	}
	return withOptions(own, own.Options)
}

// jitter says how the keys of the cell's order are moved.
func (c *cell) jitter() condorsim.Jitter {
	return condorsim.Jitter{Keys: c.key.JitterKeys, Seed: c.key.Seed}
}

// jitterPortfolio moves the keys of the orders of auto's portfolio.
func (c *cell) jitterPortfolio(chooser *auto.Chooser) {
	if c.key.JitterKeys > 0 {
		chooser.Scale(c.jitter().Factor)
	}
}
