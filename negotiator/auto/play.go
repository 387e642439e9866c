package auto

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Future is what the candidates are played on: the pool as it stands, and whoever is expected.
type Future struct {
	Outlook *negotiator.Outlook
	// Arrivals are submitted at their submit times; the outlook expects them.
	Arrivals []*backfill.Job
	// Rounds bounds each play; 0: no bound.
	Rounds int

	runs map[backfill.JobID]backfill.Time // for how long jobs are taken to run
}

// mostRounds bounds a play: it takes some seconds at most.
const mostRounds = 100_000

// runTime returns how long a job is taken to run.
func (f Future) runTime(j *backfill.Job) backfill.Time {
	if t, known := f.runs[j.ID]; known {
		return t
	}
	return j.Estimate
}

// Play plays each of the candidates ahead and returns their measures. They do not depend on the
// number of workers.
func Play(ctx context.Context, f Future, candidates []Candidate, workers int) ([]Measures, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	found := make([]Measures, len(candidates))
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
				if found[i], err = f.play(ctx, &candidates[i]); err != nil {
					fail(fmt.Errorf("play %s ahead: %w", candidates[i].Name, err))
					return
				}
			}
		})
	}
	working.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return found, nil
}

// play plays one candidate ahead.
func (f Future) play(ctx context.Context, c *Candidate) (m Measures, err error) {
	policy, err := c.Policy.Again(ctx)
	if err != nil {
		return m, err
	}
	fallback, err := c.Fallback.Again(ctx)
	if err != nil {
		return m, err
	}
	start := f.Outlook.StartWith(func(j *backfill.Job, _ backfill.Time) backfill.Time { return f.runTime(j) })
	start.Arrivals = slices.Clone(f.Arrivals)
	start = f.Outlook.Taking(start, c.guarantees())
	waiting := start.State.FirstWaiting(start.State.Waiting())
	rules := ahead.Rules{Order: f.Outlook.Order(c.Order), Policy: policy, Fallback: fallback}
	play, err := rules.Play(start)
	if err != nil {
		return m, err
	}
	starts := make(map[backfill.JobID]backfill.Time, len(waiting)+len(f.Arrivals))
	held, last := 0, f.Outlook.Now()
	err = play.Until(ctx, ahead.Bounds{Rounds: f.Rounds}, func(d *backfill.Decision) bool {
		for i := range d.Started {
			starts[d.Started[i].Job.ID] = d.Now
		}
		held, last = held+len(d.Held), d.Now
		return len(starts)+held >= len(waiting)+len(f.Arrivals)
	})
	if err != nil {
		return m, err
	}
	var seen tally
	for _, jobs := range [][]*backfill.Job{waiting, f.Arrivals} {
		for _, j := range jobs {
			at, started := starts[j.ID]
			if !started {
				at = max(last, j.Submit)
			}
			seen.add(j, at, f.runTime(j))
		}
	}
	return seen.measures(f.Outlook.Now()), nil
}
