package main

import (
	"context"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/report"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// timed is a decider whose decisions are timed, as its host sees them.
type timed struct {
	backfill.Decider
	clock func() time.Time
	took  []time.Duration
}

// timed has the decisions of a run timed, if that is wanted: nil if not. With fair
// start times much else is going on beside them.
func (c *runCommand) timed(config *negotiator.Config) *timed {
	if !c.Timing || c.Fst != (fstFlag{}) {
		return nil
	}
	t := &timed{Decider: config.Policy, clock: time.Now}
	config.Policy = t
	return t
}

// Decide lets the decider decide and notes how long it took.
func (t *timed) Decide(ctx context.Context, c *backfill.Cycle) error {
	began := t.clock()
	err := t.Decider.Decide(ctx, c)
	t.took = append(t.took, t.clock().Sub(began))
	return err
}

// summary says how long a run took in all, and its decisions if they were timed.
func (t *timed) summary(wall time.Duration) *report.Timing {
	s := &report.Timing{WallSeconds: wall.Seconds()}
	if t != nil && len(t.took) > 0 {
		slices.Sort(t.took)
		rank := func(percent int) float64 { return t.took[(len(t.took)*percent+99)/100-1].Seconds() }
		s.Decisions, s.MedianSeconds, s.P99Seconds = len(t.took), rank(50), rank(99)
	}
	return s
}
