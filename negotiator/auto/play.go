package auto

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// Future is what the candidates are played on: the pool as it stands, and whoever is expected.
type Future struct {
	Outlook *outlook.Outlook
	// Arrivals are submitted at their submit times; the outlook expects them.
	Arrivals []*backfill.Job
	// Head is for how long a candidate is played before the base goes on, and Horizon for how long in
	// all: a job that waits longer counts as if it started then. 0: to the end.
	Head, Horizon backfill.Time

	base              int                     // which of the candidates goes on
	sets              []backfill.CandidateSet // that come at once
	past              *Future                 // a period in hindsight, see LookBack; may be nil
	dropped           []string                // why others are not played
	share             float64                 // of a period: how long it is beside what was asked for
	gone              map[backfill.JobID]bool // jobs that leave at once
	now               backfill.Time           // of the cycle
	due               bool                    // a choice is; else there is nothing but the past
	priorities        *priorities             // nil: they do not count
	faults            []error                 // why candidates are left out
	waiting, restarts int
	runs              map[backfill.JobID]backfill.Time // for how long jobs are taken to run
	whose             map[backfill.JobID]string        // users, where they count
	grain             backfill.Time                    // ends of jobs fall on its multiples
}

// mostRounds bounds each part of a play: it takes some seconds at most.
const mostRounds = 100_000

// runTime returns how long a job is taken to run.
func (f *Future) runTime(j *backfill.Job) backfill.Time {
	if t, known := f.runs[j.ID]; known {
		return t
	}
	return j.Estimate
}

// Play plays each of the candidates ahead and returns their measures, and why some of them failed. A
// candidate fails if its policy does, or a decision of it is refused; it has no measures then. Only the
// base, on whom all plays depend, goes on with its fallback alone, and has those. The measures do not
// depend on the number of workers.
func Play(ctx context.Context, f Future, candidates []Candidate, workers int) ([]Measures, []error, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	found := make([]Measures, len(candidates))
	faults := make([]fault, len(candidates))
	next := make(chan int, len(candidates))
	for i := range candidates {
		next <- i
	}
	close(next)
	var working sync.WaitGroup
	for range max(1, min(workers, len(candidates))) {
		working.Go(func() {
			for i := range next {
				var err error
				faults[i] = fault{own: f.fault(i), base: f.fault(f.base)}
				if i != f.base && faults[i].own != nil {
					continue
				}
				if found[i], err = f.play(ctx, &candidates[i], &candidates[f.base], &faults[i]); err != nil {
					fail(fmt.Errorf("play %s ahead: %w", candidates[i].Name, err))
					return
				}
			}
		})
	}
	working.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, nil, err
	}
	failed := make([]error, len(candidates))
	for i := range faults {
		failed[i] = faults[i].own
		failed[f.base] = cmp.Or(failed[f.base], faults[i].base)
	}
	return found, failed, nil
}

// fault says why a candidate failed in a play, and why the base did that went on after it.
type fault struct{ own, base error }

// fault returns why a candidate is left out; nil: it is not.
func (f *Future) fault(i int) error {
	if i < len(f.faults) {
		return f.faults[i]
	}
	return nil
}

// play plays one candidate ahead, and then the base. Both may fail.
func (f *Future) play(ctx context.Context, c, base *Candidate, failed *fault) (m Measures, err error) {
	now := f.Outlook.Now()
	start := f.Outlook.StartWith(func(j *backfill.Job, _ backfill.Time) backfill.Time { return f.runTime(j) })
	start.End = f.coarse(start.End)
	start.Arrivals = f.Arrivals
	start = f.Outlook.Taking(start, c.guarantees())
	start.First.Candidates = f.sets
	f.leave(start)
	r := &run{Future: f, starts: map[backfill.JobID]backfill.Time{}, last: now}
	r.jobs = slices.Concat(start.State.FirstWaiting(start.State.Waiting()), f.Arrivals)
	r.jobs = slices.DeleteFunc(r.jobs, func(j *backfill.Job) bool { return f.gone[j.ID] })
	end := backfill.Time(0)
	if f.Horizon > 0 {
		end = now + f.Horizon
	}
	head := end
	if c != base && f.Head > 0 && (f.Head < f.Horizon || f.Horizon == 0) {
		head = now + f.Head
	}
	if err = r.under(ctx, c, start, head, c == base, &failed.own); err != nil || c != base && failed.own != nil {
		return m, err
	}
	if head != end && !r.over() {
		start.State = r.state
		start.Arrivals = slices.DeleteFunc(slices.Clone(f.Arrivals), func(j *backfill.Job) bool { return j.Submit <= r.last })
		start = f.Outlook.Taking(start, base.guarantees())
		if err = r.under(ctx, base, start, end, true, &failed.base); err != nil {
			return m, err
		}
	}
	return r.measures(max(r.last, end)), nil
}

// leave has those who are gone leave in a play's first round.
func (f *Future) leave(start ahead.Start) {
	first := start.First
	first.Events = slices.DeleteFunc(first.Events, func(e backfill.Event) bool { return e.Job != nil && f.gone[e.Job.ID] })
	for _, id := range slices.Sorted(maps.Keys(f.gone)) {
		if start.State.Job(id) != nil {
			first.Events = append(first.Events, backfill.Event{Kind: backfill.Removed, JobID: id})
		}
	}
}

// coarse wraps the ends of jobs, so that they fall on multiples of the grain, a little earlier: many
// jobs end at once then, and there are fewer rounds to play.
func (f *Future) coarse(end func(*backfill.Job, backfill.Time) backfill.Time,
) func(*backfill.Job, backfill.Time) backfill.Time {
	return func(j *backfill.Job, started backfill.Time) backfill.Time {
		at := end(j, started)
		if grid := at - at%max(1, f.grain); grid > max(started, f.Outlook.Now()) {
			return grid
		}
		return at
	}
}

// run is a play in progress.
type run struct {
	*Future
	jobs   []*backfill.Job // whose starts are looked for
	starts map[backfill.JobID]backfill.Time
	held   int
	last   backfill.Time // when the last round was
	state  *backfill.State
}

// over reports whether all jobs have started.
func (r *run) over() bool { return len(r.starts)+r.held >= len(r.jobs) }

// under plays on under a candidate until the given instant; 0: to the end. If the candidate fails, or
// has failed, the play ends, or goes on under its fallback.
func (r *run) under(ctx context.Context, c *Candidate, from ahead.Start, until backfill.Time, goesOn bool,
	failed *error,
) error {
	rules, done, err := c.rules(ctx, failed)
	if err != nil || !goesOn && *failed != nil {
		return err
	}
	defer done()
	order := c.Order
	if r.priorities != nil {
		order = order.Prioritized(r.priorities.of, backfill.Moves{})
	}
	rules.Order = r.Outlook.Order(order)
	play, err := rules.Play(from)
	if err != nil {
		return err
	}
	r.state = play.State()
	return play.Until(ctx, ahead.Bounds{Rounds: mostRounds, Until: until}, func(d *backfill.Decision) bool {
		for i := range d.Started {
			r.starts[d.Started[i].Job.ID] = d.Now
		}
		r.held, r.last = r.held+len(d.Held), d.Now
		return r.over() || !goesOn && *failed != nil
	})
}

// rules returns who decides in a play under the candidate, until it fails, and then its fallback, which
// decides from the start if it has failed; done is called after use.
func (c *Candidate) rules(ctx context.Context, failed *error) (rules ahead.Rules, done func(), err error) {
	if *failed == nil {
		if rules.Policy, rules.Fallback, done, err = c.twins.Of(ctx, c.Policy, c.Fallback); err == nil {
			rules.Policy = whole{rules.Policy, failed}
			rules.Refused = func(r backfill.Refusal) { *failed = cmp.Or(*failed, r.Err) }
			return rules, done, nil
		}
		if ctx.Err() != nil {
			return rules, nil, err
		}
		*failed = err
	}
	if rules.Policy, err = c.Fallback.Again(ctx); err == nil {
		rules.Fallback, err = c.Fallback.Again(ctx)
	}
	return rules, func() {}, err
}

// whole is a decider that is not asked any more once it has failed.
type whole struct {
	backfill.Decider
	failed *error
}

func (w whole) Decide(ctx context.Context, t *backfill.Transaction) error {
	if *w.failed != nil {
		return *w.failed
	}
	return w.Decider.Decide(ctx, t)
}

// measures returns the measures; a job that has not started counts as if it did at the end.
func (r *run) measures(end backfill.Time) Measures {
	var seen tally
	for _, j := range r.jobs {
		at, started := r.starts[j.ID]
		if !started {
			at = max(end, j.Submit)
		}
		weight := 1.0
		if r.priorities != nil {
			weight = 1 / r.priorities.of(j)
		}
		seen.add(j, at, r.runTime(j), weight)
	}
	return seen.measures(r.Outlook.Now())
}
