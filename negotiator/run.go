package negotiator

import (
	"context"
	"errors"
	"io"
)

// Sink is told of every cycle, after its matches were handed to the pool.
type Sink interface {
	Cycle(*Report) error
}

// Run schedules a pool, cycle by cycle, until it has nothing more to say or the
// context ends. The sinks see each cycle, in their order; the first error
// of anyone ends the run. A change of the policy that is waiting is made just
// before a cycle; nothing waits for one.
func Run(ctx context.Context, n *Negotiator, pool Pool, sinks ...Sink) error {
	for {
		delta, err := pool.Fetch(ctx, n.NextWake())
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		changed := n.takeChange(delta.Now)
		report, err := n.RunCycle(ctx, delta)
		if err != nil {
			return err
		}
		report.Changed = changed
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
