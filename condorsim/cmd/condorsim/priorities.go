package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// priorityFlags say how the priorities of users are simulated, by which the order fairshare goes.
type priorityFlags struct {
	PriorityHalflife time.Duration      `group:"Policy" default:"24h" placeholder:"TIME" help:"${run_priority_halflife}"`
	PriorityFactor   map[string]float64 `group:"Policy" placeholder:"USER=F" mapsep:"none" help:"${run_priority_factor}"`
}

// halfLife is that of use.
func (f *priorityFlags) halfLife() backfill.Time {
	return backfill.Time(f.PriorityHalflife / time.Second)
}

// priorities are the flags as settings.
func (f *priorityFlags) priorities() condorsim.Priorities {
	return condorsim.Priorities{HalfLife: f.halfLife(), Factors: f.PriorityFactor}
}

// checkPriorities returns an error for flags that are out of bounds, or of no use under that order.
func (f *priorityFlags) checkPriorities(order string) error {
	usual := f.halfLife() == condorsim.DefaultHalfLife && f.PriorityFactor == nil
	switch {
	case f.halfLife() < 1:
		return fmt.Errorf("--priority-halflife=%v: must be at least 1 s", f.PriorityHalflife)
	case order != negotiator.FairShare && !usual:
		return errors.New("--priority-halflife and --priority-factor are of the order fairshare: add --order fairshare")
	}
	if err := f.priorities().Validate(); err != nil {
		return fmt.Errorf("--priority-halflife, --priority-factor: %w", err)
	}
	return nil
}

// account has the workload keep the account of users, and warns of jobs of no known user and of
// accounting groups that the pool has not.
func (f *priorityFlags) account(w *condorsim.Workload, logger hclog.Logger) (*condorsim.Workload, error) {
	if err := f.priorities().CheckUsers(w); err != nil {
		return nil, fmt.Errorf("--priority-factor: %w", err)
	}
	w.WarnOfUsers(logger.Warn)
	return w.WithPriorities(f.priorities())
}

// priorityWords returns these flags as words of a command line. Factors are left out: they are of
// users of whom a saved instance may have no job, which would be an error.
func (f *priorityFlags) priorityWords() (words []string) {
	if f.PriorityHalflife > 0 && f.halfLife() != condorsim.DefaultHalfLife {
		words = append(words, "--priority-halflife", f.PriorityHalflife.String())
	}
	return words
}
