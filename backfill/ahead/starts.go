package ahead

import (
	"context"
	"sync/atomic"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Bounds end a play early. A zero bound is none.
type Bounds struct {
	// Rounds is how many rounds are decided at most.
	Rounds int
	// Until is the instant after which nothing is decided any more.
	Until backfill.Time
	// Jobs is of how many waiting jobs, the first in the queue, the starts are asked for.
	Jobs int
	// Played, if it is not nil, is raised by the number of rounds that were decided.
	Played *atomic.Int64
}

// first returns of how many of the waiting jobs the starts are asked for.
func (b Bounds) first(waiting int) int {
	if b.Jobs > 0 {
		return min(waiting, b.Jobs)
	}
	return waiting
}

// Beginning is when a job begins to run, and where.
type Beginning struct {
	At        backfill.Time
	Placement backfill.Placement
}

// Starts plays until every job that waits now, or arrives in the first round, has started, nothing
// happens any more, or a bound is reached. It returns the starts of these jobs; the others are
// missing. What was found before an error is returned with it.
func (p *Play) Starts(ctx context.Context, b Bounds) (map[backfill.JobID]Beginning, error) {
	asked := map[backfill.JobID]bool{}
	for _, j := range p.host.State.FirstWaiting(b.first(p.host.State.Waiting())) {
		asked[j.ID] = true
	}
	if p.first != nil {
		for _, e := range p.first.Events {
			if e.Kind == backfill.Submitted {
				asked[e.Job.ID] = true
			}
		}
	}
	found := make(map[backfill.JobID]Beginning, len(asked))
	err := p.Until(ctx, b, func(d *backfill.Decision) bool {
		for _, s := range d.Started {
			if asked[s.Job.ID] {
				found[s.Job.ID] = Beginning{p.beginning(&s, d.Now), s.Placement}
			}
		}
		return len(found) == len(asked)
	})
	return found, err
}

// Until plays until the callback, which sees each decision, says that it is enough, nothing happens
// any more, or a bound is reached.
func (p *Play) Until(ctx context.Context, b Bounds, enough func(*backfill.Decision) bool) error {
	n := 0
	if b.Played != nil {
		defer func() { b.Played.Add(int64(n)) }()
	}
	for ; (b.Rounds == 0 || n < b.Rounds) && (b.Until == 0 || p.Instant() <= b.Until); n++ {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		d, more, err := p.Next(ctx)
		if err != nil {
			return err
		}
		if !more || enough(&d) {
			return nil
		}
	}
	return nil
}
