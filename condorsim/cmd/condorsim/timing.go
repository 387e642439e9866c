package main

import (
	"context"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/output/report"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// timed is a decider that measures how long each of its decisions takes.
type timed struct {
	backfill.Decider
	clock func() time.Time
	took  []time.Duration
}

// timed wraps the configured policy so that its decisions are timed; nil if not requested. With
// fair start times, or starts that are told, decisions are not timed, as other work runs at the same
// time.
func (c *runCommand) timed(config *negotiator.Config) *timed {
	if !c.Timing || c.Fst != (fstFlag{}) || c.Eta != 0 {
		return nil
	}
	t := &timed{Decider: config.Policy, clock: time.Now}
	config.Policy = t
	return t
}

// Decide times a decision.
func (t *timed) Decide(ctx context.Context, tx *backfill.Transaction) error {
	began := t.clock()
	err := t.Decider.Decide(ctx, tx)
	t.took = append(t.took, t.clock().Sub(began))
	return err
}

// summary returns how long the run took and, if decisions were timed, how long they took. t may be
// nil.
func (t *timed) summary(wall time.Duration) *report.Timing {
	s := &report.Timing{WallSeconds: wall.Seconds()}
	if t != nil && len(t.took) > 0 {
		slices.Sort(t.took)
		rank := func(percent int) float64 { return t.took[(len(t.took)*percent+99)/100-1].Seconds() }
		s.Decisions, s.MedianSeconds, s.P99Seconds = len(t.took), rank(50), rank(99)
	}
	return s
}
