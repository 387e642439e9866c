package negotiator

import (
	"context"
	"errors"
	"io"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Sink sees every cycle, after its matches were handed to the pool.
type Sink interface {
	Cycle(*Report) error
}

// Run schedules a pool, cycle by cycle, until Fetch returns [io.EOF] or the context ends. It fetches
// what changed, decides ([Decide]), hands the matches to the pool, if there are any, and shows the
// report to the sinks, in their order. The first error ends it.
func Run(ctx context.Context, n *Negotiator, pool Pool, sinks ...Sink) error {
	var delta Delta // one for all cycles, as it is large
	for {
		var err error
		delta, err = pool.Fetch(ctx, n.NextWake())
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		report, err := decide(ctx, n, &delta)
		if err != nil {
			return err
		}
		if len(report.Matches) > 0 {
			if err = pool.Act(ctx, report.Matches); err != nil {
				return err
			}
		}
		for _, s := range sinks {
			if err = s.Cycle(report); err != nil {
				return err
			}
		}
	}
}

// Decide runs one cycle of [Run] up to its report: it makes a waiting [Change] and schedules the
// delta. It never waits for a change. Whoever calls it acts on the report, and may write down
// beforehand what was decided.
func Decide(ctx context.Context, n *Negotiator, delta Delta) (*Report, error) {
	return decide(ctx, n, &delta)
}

func decide(ctx context.Context, n *Negotiator, delta *Delta) (*Report, error) {
	changed := n.takeChange(delta)
	report, err := n.runCycle(ctx, delta)
	if err != nil {
		return nil, err
	}
	report.Changed = changed
	return report, nil
}

// ChangeNext asks for a change that [Run] and [Decide] make before the next cycle that is not quiet (see
// [Report].Quiet), unless one comes through [Config.Changes] by then and can be made: that one is newer. It
// must be called between two cycles.
func (n *Negotiator) ChangeNext(c Change) { n.asked = &c }

// takeChange makes the change that is waiting, if there is one. It returns false if there is none
// or it failed.
func (n *Negotiator) takeChange(d *Delta) (made bool) {
	asked := n.asked
	n.asked = nil
	select {
	case c := <-n.changes:
		made = n.make(c, d.Now)
	default:
	}
	switch {
	case made || asked == nil:
	case n.willBeQuiet(d): // else scavengers would have a say in when another policy is asked
		n.asked = asked
	default:
		made = n.make(*asked, d.Now)
	}
	return made
}

// make makes a change before a cycle, and reports whether it could be made.
func (n *Negotiator) make(c Change, now backfill.Time) bool {
	err := n.Change(c)
	if c.Made != nil {
		c.Made(now, err)
	}
	if err == nil && n.recorder != nil {
		n.recorder.Changed(n)
	}
	return err == nil
}
