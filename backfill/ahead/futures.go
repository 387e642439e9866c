package ahead

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Futures are several plays from one state, which differ in what the caller draws: run times,
// arrivals. Together they say how sure a start is.
type Futures struct {
	// Count is how many futures are played; 0: [DefaultFutures].
	Count int
	// Workers is how many are played at a time; 0: as many as there are processors. The result does
	// not depend on it.
	Workers int
	// Of are the jobs whose starts are asked for; nil: all that wait. A future ends once they have
	// started.
	Of []backfill.JobID
}

// DefaultFutures is how many futures are played by default.
const DefaultFutures = 32

// Range is when a job begins to run in several futures: in a tenth of them not later than Low, in
// half of them not later than Mid, and in nine of ten not later than High. Of n futures Low and High
// are at the ranks (n + 1) / 10 and 9 (n + 1) / 10, or between the two starts next to these: one more
// future like them starts the job within the range in eight of ten cases. Mid is one of the starts.
// A job that does not start in a future, which may have ended at its bounds, starts later there than
// in all others: at [backfill.Forever].
type Range struct{ Low, Mid, High backfill.Time }

// Ranges plays the futures. The callback start returns where future i begins; it is called by
// several goroutines at once. The callback rules is called once for each worker, one after the
// other, and returns rules for the worker alone, and a function that is called when it is done, or
// nil. A job that starts in no future is missing. The first error ends all plays.
func (f Futures) Ranges(ctx context.Context, rules func() (Rules, func(), error), start func(i int) Start, b Bounds,
) (map[backfill.JobID]Range, error) {
	if f.Count <= 0 {
		f.Count = DefaultFutures
	}
	if f.Workers <= 0 {
		f.Workers = runtime.GOMAXPROCS(0)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	found := make([]map[backfill.JobID]backfill.Time, f.Count) // by future
	var next atomic.Int64
	var working sync.WaitGroup
	for range min(f.Workers, f.Count) {
		ours, done, err := rules()
		if err != nil {
			fail(err)
			break
		}
		working.Go(func() {
			if done != nil {
				defer done()
			}
			for i := int(next.Add(1)) - 1; i < f.Count && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				var err error
				if found[i], err = f.starts(ctx, ours, start(i), b); err != nil {
					fail(err)
				}
			}
		})
	}
	working.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return ranges(found), nil
}

// starts plays one future, and returns when the jobs begin to run.
func (f Futures) starts(ctx context.Context, rules Rules, from Start, b Bounds,
) (map[backfill.JobID]backfill.Time, error) {
	asked := map[backfill.JobID]bool{}
	for _, id := range f.Of {
		asked[id] = true
	}
	if f.Of == nil {
		for _, j := range from.State.FirstWaiting(b.first(from.State.Waiting())) {
			asked[j.ID] = true
		}
	}
	found := make(map[backfill.JobID]backfill.Time, len(asked))
	if len(asked) == 0 {
		return found, nil
	}
	play, err := rules.Play(from)
	if err != nil {
		return nil, err
	}
	return found, play.Until(ctx, b, func(d *backfill.Decision) bool {
		for _, s := range d.Started {
			if asked[s.Job.ID] {
				found[s.Job.ID] = play.beginning(&s, d.Now)
			}
		}
		return len(found) == len(asked)
	})
}

// ranges returns the range of each job that starts in one of the futures.
func ranges(found []map[backfill.JobID]backfill.Time) map[backfill.JobID]Range {
	all := map[backfill.JobID][]backfill.Time{}
	for _, starts := range found {
		for id, at := range starts {
			all[id] = append(all[id], at)
		}
	}
	ranges := make(map[backfill.JobID]Range, len(all))
	for id, starts := range all {
		slices.Sort(starts)
		n := len(found)
		ranges[id] = Range{
			Low: tenths(1, starts, n), Mid: rank((n+1)/2, starts), High: tenths(9, starts, n),
		}
	}
	return ranges
}

// rank returns the i-th of the starts, from 1; what is not among them comes later than all.
func rank(i int, starts []backfill.Time) backfill.Time {
	if i > len(starts) {
		return backfill.Forever
	}
	return starts[i-1]
}

// tenths returns by when a job starts in so many of ten futures: between the two starts whose ranks
// are next to that share of n + 1. The starts are those in n futures, in their order.
func tenths(share int, starts []backfill.Time, n int) backfill.Time {
	i, part := (n+1)*share/10, backfill.Time((n+1)*share%10)
	below, above := rank(max(i, 1), starts), rank(min(i+1, n), starts)
	switch {
	case i < 1 || part == 0:
		return below
	case above == backfill.Forever:
		return above
	default:
		return below + (above-below)*part/10
	}
}
